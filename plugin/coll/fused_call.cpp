// SPDX-License-Identifier: BSD-3-Clause
// Fused allreduce under MPI.
#include "plugin/coll/fused_call.hpp"

#include <algorithm>
#include <mutex>

#include "plugin/coll/transport.hpp"
#include "plugin/guard.hpp"

namespace beeline::plugin::coll {
namespace {

using beeline::coll::exec::Fused;
using beeline::coll::exec::FusedTerms;
using beeline::coll::plan::Collective;

/// MPI_Finalize deletes the attributes of MPI_COMM_SELF before its barrier: who closes what it has
/// mapped of others then, does so before any of them frees it.
int before_finalize(MPI_Comm, int, void*, void*) {
    beeline::coll::exec::release_fused_imports();
    return OMPI_SUCCESS;
}

void watch_finalize() {
    static std::once_flag once;
    std::call_once(once, [] {
        int key = MPI_KEYVAL_INVALID;
        if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, guarded<&before_finalize>, &key,
                                    nullptr) == MPI_SUCCESS) {
            PMPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
        }
    });
}

/// What fused algorithms can do for the call.
beeline::coll::select::FusedFacts ask_fused(Schedules& schedules, const beeline::coll::Call& call,
                                            ompi_communicator_t* comm) {
    beeline::coll::select::FusedFacts facts;
    if (call.collective != Collective::kAllreduce || call.sizes.count == 0 ||
        !schedules.one_node()) {
        return facts;
    }
    const int kernel = beeline::coll::kernel::kernel_index(call.type, call.op);
    if (kernel < 0) {
        return facts;
    }
    const auto family = beeline::coll::kernel::family_of(kernel);
    const config::Params& params = *schedules.settings().params;
    const std::string_view word = beeline::coll::select::wanted(Collective::kAllreduce, params);
    FusedTerms terms{params.coll_fused_workspace, params.coll_fused_timeout, word != "auto"};
    if (terms.forced && !word.starts_with("fused_")) {
        return facts;
    }
    Fused& fused = schedules.fused();
    const std::size_t bytes = call.sizes.count * call.element;
    if (bytes > Fused::most(terms)) {
        return facts;
    }
    Fused::Answer answer = fused.consider(terms, ompi_comm_size(comm), family);
    if (answer == Fused::Answer::kAgree) {
        watch_finalize();
        PmlTransport transport(comm, schedules.next_operation(false));
        memory::Pointer place = memory::classify(call.output);
        if (!place.on_device() && call.input != nullptr) {
            place = memory::classify(call.input);
        }
        fused.agree(transport, place, call.type, call.op);
        answer = fused.available(family) ? Fused::Answer::kYes : Fused::Answer::kNo;
    }
    if (answer == Fused::Answer::kYes) {
        facts = {true, fused.most_one_shot(), fused.most_two_shot()};
    }
    return facts;
}

}  // namespace

bool may_fuse(const Schedules& schedules) noexcept {
    const config::Params& params = *schedules.settings().params;
    return params.coll_fused ||
           beeline::coll::select::wanted(Collective::kAllreduce, params).starts_with("fused_");
}

void prefer_fused(Schedules& schedules, const beeline::coll::Call& call, ompi_communicator_t* comm,
                  const beeline::coll::select::Facts& facts,
                  beeline::coll::select::Choice& choice) {
    // Who takes part in the agreement must not depend on what only one rank was told.
    const config::Params& params = *schedules.settings().params;
    const std::string_view word = beeline::coll::select::wanted(Collective::kAllreduce, params);
    if (word == "auto" && !params.coll_fused) {
        return;
    }
    const beeline::coll::select::FusedFacts fused = ask_fused(schedules, call, comm);
    if (const auto* algorithm = beeline::coll::select::prefer_fused(word, fused, facts.request,
                                                                    facts.bytes, choice.algorithm);
        algorithm != nullptr) {
        choice = {};
        choice.algorithm = algorithm;
        choice.reason =
            word == "auto" ? "the cheapest by the cost model" : "asked for by parameter";
    }
}

Status start_fused(Schedules& schedules, const beeline::coll::Call& call, bool two_shot) {
    if (call.failed != Status::kOk) {
        return schedules.fused().fail(call.failed);
    }
    const void* input = call.in_place ? call.output : call.input;
    return schedules.fused().start(
        {input, call.output, call.sizes.count, call.type, call.op, two_shot});
}

Status wait_fused(Schedules& schedules) {
    constexpr unsigned kPollsPerProgress = 16;
    for (unsigned polls = 1;; ++polls) {
        if (const Status status = schedules.fused().poll(); status != Status::kRetry) {
            return status;
        }
        if (polls % kPollsPerProgress == 0) {
            opal_progress();
        }
    }
}

void release_fused() {
    beeline::coll::exec::release_fused();
}

}  // namespace beeline::plugin::coll
