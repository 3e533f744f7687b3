// SPDX-License-Identifier: BSD-3-Clause
// The one function behind every entry point: pass the call on, or run it on host copies.
#pragma once

#include <tuple>

#include "plugin/coll/module.hpp"
#include "plugin/coll/report.hpp"
#include "plugin/coll/request.hpp"
#include "plugin/guard.hpp"

namespace beeline::plugin::coll {

/// `Function` and `Owner` are the members of Module that keep the previous module's.
template <class Signature, auto Function, auto Owner, Shape S, Form F, Entry E>
struct Wrap;

template <class... A, auto Function, auto Owner, Shape S, Form F, Entry E>
struct Wrap<int (*)(A...), Function, Owner, S, F, E> {
    using Arguments = std::tuple<A...>;
    static constexpr std::size_t kModule = sizeof...(A) - 1;   // the last argument of each
    static constexpr std::size_t kRequest = sizeof...(A) - 2;  // of those that have one

    static int call(A... a) {
        Arguments arguments(a...);
        auto* module = reinterpret_cast<Module*>(std::get<kModule>(arguments));
        std::get<kModule>(arguments) = module->*Owner;
        if constexpr (E == Entry::k_allreduce) {
            int outcome = OMPI_SUCCESS;
            if (module->allreduce_of_ours.serve(a..., outcome)) {
                return outcome;
            }
        }
        if constexpr (S.receive.amount != Amount::kNothing) {
            const Buffers buffers = resolve<S>(std::as_const(arguments));
            if (const Needs needs = find_device_buffers(buffers); needs.any()) {
                count_call(E, Way::kStaged);
                if constexpr (F == Form::kBlocking) {
                    return blocking(module, arguments, buffers, needs);
                } else {
                    return with_request(module, arguments, buffers, needs);
                }
            }
        }
        count_call(E, Way::kPassed);
        return std::apply(module->*Function, arguments);
    }

 private:
    static void point_at_copies(Arguments& arguments, const StagedCall& staged) noexcept {
        if constexpr (S.send.amount != Amount::kNothing) {
            if (staged.send().used()) {
                std::get<S.send.address>(arguments) = staged.send().address();
            }
        }
        if constexpr (S.receive.amount != Amount::kNothing) {
            if (staged.receive().used()) {
                std::get<S.receive.address>(arguments) = staged.receive().address();
            }
        }
    }

    static int blocking(Module* module, Arguments& arguments, const Buffers& buffers, Needs needs) {
        StagedCall staged;
        Status status = staged.prepare(to_string(E), buffers, needs);
        if (status == Status::kOk) {
            status = staged.fetch();
        }
        if (status != Status::kOk) {
            return to_ompi(status);
        }
        point_at_copies(arguments, staged);
        const int outcome = std::apply(module->*Function, arguments);
        return outcome != OMPI_SUCCESS ? outcome : to_ompi(staged.deliver());
    }

    static int with_request(Module* module, Arguments& arguments, const Buffers& buffers,
                            Needs needs) {
        constexpr bool kPersistent = F == Form::kPersistent;
        ompi_request_t** handle = std::get<kRequest>(arguments);
        StagedRequest* request = new_request(std::get<S.comm>(arguments), kPersistent);
        if (request == nullptr) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
        Status status = request->staged.prepare(to_string(E), buffers, needs);
        if (status == Status::kOk && !kPersistent) {
            status = request->staged.fetch();
        }
        if (status != Status::kOk) {
            drop_request(request);
            return to_ompi(status);
        }
        point_at_copies(arguments, request->staged);
        ompi_request_t* inner = nullptr;
        std::get<kRequest>(arguments) = &inner;
        if (const int outcome = std::apply(module->*Function, arguments); outcome != OMPI_SUCCESS) {
            drop_request(request);
            return outcome;
        }
        if constexpr (kPersistent) {
            adopt(request, inner);
        } else {
            follow(request, inner);
        }
        *handle = reinterpret_cast<ompi_request_t*>(request);
        return OMPI_SUCCESS;
    }
};

}  // namespace beeline::plugin::coll
