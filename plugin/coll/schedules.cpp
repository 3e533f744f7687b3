// SPDX-License-Identifier: BSD-3-Clause
// Whether schedules serve a communicator.
#include "plugin/coll/schedules.hpp"

#include <algorithm>
#include <string>

#include "base/log.hpp"
#include "plugin/coll/transport.hpp"
#include "plugin/gpu_fact.hpp"

namespace beeline::plugin::coll {
namespace {

bool pml_is_ours() noexcept {
    return std::strcmp(mca_pml_base_selected_component.pmlm_version.mca_component_name,
                       "beeline") == 0;
}

/// Choices are made by what all ranks have: their own settings if these are the same, else the
/// built-in ones.
beeline::coll::select::Settings settings_of(ompi_communicator_t* comm) {
    int first = 0;
    int other = 0;
    if (comm_chooses_alike(comm, first, other)) {
        return beeline::coll::select::own_settings();
    }
    log_once(
        LogLevel::kWarning, "coll.settings",
        "ranks %d and %d of communicator %s differ in coll_beeline_tuning_file, "
        "coll_beeline_memory or coll_beeline_*_algorithm: schedules are chosen by the built-in "
        "cost model where ranks differ",
        first, other, comm->c_name);
    return beeline::coll::select::built_in_settings();
}

}  // namespace

std::recursive_mutex& Schedules::lock() noexcept {
    static std::recursive_mutex mutex;
    return mutex;
}

std::uint32_t Schedules::next_operation(bool persistent) noexcept {
    // Either half repeats itself, long after whatever bore the number before is complete.
    constexpr std::uint32_t kHalf = PmlTransport::kOperations / 2;
    return persistent ? kHalf + persistent_operations_++ % kHalf : operations_++ % kHalf;
}

bool Schedules::serves(ompi_communicator_t* comm) {
    if (able_ == Able::kUnknown) {
        const bool able = !OMPI_COMM_IS_INTER(comm) && pml_is_ours() && comm_has_gpu(comm);
        if (able) {
            context_ = std::make_unique<beeline::coll::Context>();
            fused_ = std::make_unique<beeline::coll::exec::Fused>();
            std::vector<int> nodes = nodes_of(comm);
            one_node_ = !nodes.empty() &&
                        std::all_of(nodes.begin(), nodes.end(), [](int node) { return node == 0; });
            context_->set_nodes(std::move(nodes));
            choices_ = std::make_unique<beeline::coll::select::Choices>();
            settings_ = settings_of(comm);
        }
        able_ = able ? Able::kYes : Able::kNo;
    }
    return able_ == Able::kYes;
}

const beeline::coll::select::Choice& Schedules::choose(const beeline::coll::select::Facts& facts) {
    const beeline::coll::select::Choice& choice = choices_->choose(facts, settings_);
    if (choices_->fresh() && log_level() >= LogLevel::kInfo) {
        const std::string text = beeline::coll::select::explain(facts, settings_);
        log(LogLevel::kInfo, "%s of %.0f bytes on %d ranks:",
            beeline::coll::plan::to_string(facts.request.collective), facts.bytes,
            facts.request.size);
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = std::min(text.find('\n', at), text.size());
            log(LogLevel::kInfo, "  %.*s", static_cast<int>(end - at), text.data() + at);
            at = end + 1;
        }
    }
    return choice;
}

}  // namespace beeline::plugin::coll
