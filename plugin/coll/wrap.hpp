// SPDX-License-Identifier: BSD-3-Clause
// The one function behind every entry point: pass the call on, or run it on host copies.
#pragma once

#include <tuple>

#include "cuda/driver.hpp"
#include "memory/always_host.hpp"
#include "plugin/coll/module.hpp"
#include "plugin/coll/parameters.hpp"
#include "plugin/coll/report.hpp"
#include "plugin/coll/request.hpp"
#include "plugin/coll/schedule_request.hpp"
#include "plugin/guard.hpp"

namespace beeline::plugin::coll {

/// `Function` and `Owner` are the members of Module that keep the previous module's.
template <class Signature, auto Function, auto Owner, Shape S, Form F, Entry E>
struct Wrap;

template <class... A, auto Function, auto Owner, Shape S, Form F, Entry E>
struct Wrap<int (*)(A...), Function, Owner, S, F, E> {
    using Arguments = std::tuple<A...>;
    static constexpr Scheduled kFamily = scheduled_of(E);
    static constexpr bool kHasData = S.receive.amount != Amount::kNothing;
    static constexpr std::size_t kModule = sizeof...(A) - 1;   // the last argument of each
    static constexpr std::size_t kRequest = sizeof...(A) - 2;  // of those that have one

    static int call(A... a) {
        Arguments arguments(a...);
        auto* module = reinterpret_cast<Module*>(std::get<kModule>(arguments));
        std::get<kModule>(arguments) = module->*Owner;
        if (module->inside.load(std::memory_order_relaxed)) {
            return std::apply(module->*Function, arguments);
        }
        Likeness likeness;
        const bool scheduled = may_be_scheduled(module, arguments, likeness);
        if (scheduled || may_be_on_device(arguments)) {
            const Buffers buffers = resolve<S>(std::as_const(arguments));
            int outcome = OMPI_SUCCESS;
            if ((scheduled && by_schedule(module, arguments, buffers, likeness, outcome)) ||
                (kHasData && staged(module, arguments, buffers, outcome))) {
                return outcome;
            }
        }
        count_call(E, Way::kPassed);
        return pass_on(module, arguments);
    }

 private:
    /// Collectives that the previous module calls on the way, all ranks alike, are its own affair.
    static int pass_on(Module* module, const Arguments& arguments) {
        module->inside.store(true, std::memory_order_relaxed);
        const int outcome = std::apply(module->*Function, arguments);
        module->inside.store(false, std::memory_order_relaxed);
        return outcome;
    }

    static ompi_communicator_t* comm_of(const Arguments& arguments) noexcept {
        if constexpr (S.comm >= 0) {
            return std::get<S.comm>(arguments);
        } else {
            return nullptr;
        }
    }

    static ompi_op_t* operation_of(const Arguments& arguments) noexcept {
        if constexpr (beeline::coll::plan::reduces(kFamily.collective)) {
            return std::get<S.send.type + 1>(arguments);  // in every call that has one
        } else {
            return nullptr;
        }
    }

    /// Each side is one count of one datatype.
    static constexpr bool kPlain = kHasData && kFamily.sizes_known &&
                                   (kFamily.cut == beeline::coll::plan::Cut::kEqual ||
                                    kFamily.cut == beeline::coll::plan::Cut::kEven);

    static int root_of(const Arguments& arguments) noexcept {
        if constexpr (S.root >= 0) {
            return std::get<S.root>(arguments);
        } else {
            return 0;
        }
    }

    /// Whether the arguments of a side count on this rank.
    template <Side One>
    static bool counts(const Arguments& arguments) noexcept {
        if constexpr (One.amount == Amount::kNothing) {
            return false;
        } else if constexpr (One.who == Who::kEveryone) {
            return true;
        } else {
            return is_significant(One.who, root_of(arguments), comm_of(arguments));
        }
    }

    /// Of all blocks of the side, or of one where all are alike.
    template <Side One>
    static std::size_t bytes_of(const Arguments& arguments) noexcept {
        const auto count = std::get<One.count>(arguments);
        std::size_t sum = 0;
        if constexpr (std::is_pointer_v<decltype(count)>) {
            const int blocks = count_peers(One.peers, comm_of(arguments));
            for (int block = 0; block < blocks; ++block) {
                sum += static_cast<std::size_t>(count[block]);
            }
        } else {
            sum = static_cast<std::size_t>(count);
        }
        return sum * std::get<One.type>(arguments)->super.size;
    }

    /// Where no rank knows all sizes, the choice does not depend on them.
    static Likeness likeness_of(const Module* module, const Arguments& arguments) noexcept {
        Likeness call;
        call.entry = E;
        call.word = beeline::coll::select::wanted_index(kFamily.collective,
                                                        *module->schedules.settings().params);
        call.root = root_of(arguments);
        if constexpr (S.in_place == InPlace::kSend) {
            call.in_place = std::get<S.send.address>(arguments) == MPI_IN_PLACE;
        } else if constexpr (S.in_place == InPlace::kReceive) {
            call.in_place = std::get<S.receive.address>(arguments) == MPI_IN_PLACE;
        }
        if constexpr (kFamily.sizes_known && kHasData) {
            if (counts<S.receive>(arguments) &&
                !(S.in_place == InPlace::kReceive && call.in_place)) {
                call.received = bytes_of<S.receive>(arguments);
            }
            if constexpr (S.send.amount != Amount::kNothing) {
                if (counts<S.send>(arguments) && !(S.in_place == InPlace::kSend && call.in_place)) {
                    call.sent = bytes_of<S.send>(arguments);
                }
            }
        }
        if (const ompi_op_t* op = operation_of(arguments); op != nullptr) {
            call.commutative = ompi_op_is_commute(const_cast<ompi_op_t*>(op));
        }
        return call;
    }

    static bool may_be_scheduled(Module* module, const Arguments& arguments, Likeness& likeness) {
        if constexpr (kFamily.served) {
            if (!module->schedules.serves(comm_of(arguments), kFamily.collective)) {
                return false;
            }
            follow_parameter(kFamily.collective);
            likeness = likeness_of(module, arguments);
            return !module->handed.holds(likeness);
        } else {
            return false;
        }
    }

    /// Whether an argument may be a buffer that only a device can reach.
    static bool may_be_on_device(const Arguments& arguments) noexcept {
        // Where no driver is loaded, no buffer can be a device's. A list of blocks may lead
        // anywhere.
        if (!kHasData || cuda::Driver::find() == nullptr) {
            return false;
        }
        if constexpr (kPlain) {
            return may_be_on_device<S.receive>(arguments) || may_be_on_device<S.send>(arguments);
        } else {
            return true;
        }
    }

    template <Side One>
    static bool may_be_on_device(const Arguments& arguments) noexcept {
        if constexpr (One.amount == Amount::kNothing) {
            return false;
        } else {
            const void* address = std::get<One.address>(arguments);
            return counts<One>(arguments) && address != MPI_IN_PLACE &&
                   !(ompi_datatype_is_predefined(std::get<One.type>(arguments)) &&
                     memory::always_host(address));
        }
    }

    /// False when the previous module can serve the call as it is.
    static bool staged(Module* module, Arguments& arguments, const Buffers& buffers, int& outcome) {
        const Needs needs = find_device_buffers(buffers);
        if (!needs.any()) {
            return false;
        }
        count_call(E, Way::kStaged);
        if constexpr (F == Form::kBlocking) {
            outcome = blocking(module, arguments, buffers, needs);
        } else {
            outcome = with_request(module, arguments, buffers, needs);
        }
        return true;
    }

    /// False when the previous module has to serve the call.
    static bool by_schedule(Module* module, Arguments& arguments, const Buffers& buffers,
                            const Likeness& likeness, int& outcome) {
        const int root = root_of(arguments);
        ompi_communicator_t* comm = comm_of(arguments);
        const auto prepare = [&](ScheduleCall& call) {
            const bool served = call.prepare(module->schedules, kFamily, buffers, root,
                                             operation_of(arguments), comm, F);
            if (served) {
                count_schedule(E, call.algorithm());
            } else if (call.handed_over()) {
                module->handed.remember(likeness);
            }
            return served;
        };
        if constexpr (F == Form::kBlocking) {
            if (!prepare(module->blocking)) {
                return false;
            }
            outcome = to_ompi(run(module->blocking));
            return true;
        } else {
            constexpr bool kPersistent = F == Form::kPersistent;
            ScheduleRequest* request = new_schedule_request(comm, kPersistent);
            if (request == nullptr) {
                outcome = OMPI_ERR_OUT_OF_RESOURCE;
                return true;
            }
            if (!prepare(request->call)) {
                drop_schedule_request(request);
                return false;
            }
            outcome = kPersistent ? OMPI_SUCCESS : start_schedule_request(request);
            if (outcome != OMPI_SUCCESS) {
                drop_schedule_request(request);
                return true;
            }
            *std::get<kRequest>(arguments) = reinterpret_cast<ompi_request_t*>(request);
            return true;
        }
    }

    static Status run(ScheduleCall& call) {
        if (const Status status = call.begin(); status != Status::kOk) {
            return status;
        }
        call.advance(beeline::coll::exec::Patience::kWait);
        return call.finish();
    }

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
        const int outcome = pass_on(module, arguments);
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
        if (const int outcome = pass_on(module, arguments); outcome != OMPI_SUCCESS) {
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
