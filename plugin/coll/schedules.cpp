// SPDX-License-Identifier: BSD-3-Clause
// Whether schedules serve a communicator.
#include "plugin/coll/schedules.hpp"

#include <algorithm>
#include <string>

#include "base/log.hpp"
#include "coll/select/schedule_files.hpp"
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
beeline::coll::select::Settings settings_of(ompi_communicator_t* comm, const CommFacts& facts) {
    if (facts.chooses_otherwise < 0) {
        return beeline::coll::select::own_settings();
    }
    if (ompi_comm_rank(comm) == 0) {
        log_once(LogLevel::kWarning, "coll.settings",
                 "ranks 0 and %d of communicator %s differ in coll_beeline_tuning_file, "
                 "coll_beeline_schedule_file, coll_beeline_memory, coll_beeline_reproducible, "
                 "coll_beeline_fused* or coll_beeline_*_algorithm: schedules are chosen by the "
                 "built-in cost model, among those built in, where ranks differ",
                 facts.chooses_otherwise, comm->c_name);
    }
    if (ompi_comm_rank(comm) == facts.chooses_otherwise) {
        warn_of_schedule_files();
    }
    return beeline::coll::select::built_in_settings();
}

}  // namespace

void warn_of_schedule_files() noexcept {
    static std::once_flag once;
    std::call_once(once, [] {
        for (const std::string& problem : beeline::coll::select::ScheduleFiles::own().problems()) {
            log(LogLevel::kWarning,
                "parameter coll_beeline_schedule_file: %s. The job goes on without this file",
                problem.c_str());
        }
    });
}

std::recursive_mutex& Schedules::lock() noexcept {
    static std::recursive_mutex mutex;
    return mutex;
}

std::uint32_t Schedules::next_operation(bool persistent) noexcept {
    // Either half repeats itself, long after whatever bore the number before is complete.
    constexpr std::uint32_t kHalf = PmlTransport::kOperations / 2;
    return persistent ? kHalf + persistent_operations_++ % kHalf : operations_++ % kHalf;
}

Schedules::Able Schedules::find_out(ompi_communicator_t* comm) {
    CommFacts facts;
    if (!OMPI_COMM_IS_INTER(comm) && pml_is_ours()) {
        facts = facts_of(comm);
    }
    if (facts.nodes.empty()) {
        return Able::kNo;
    }
    const bool given =
        config::params().coll_reproducible || config::params().coll_schedule_file[0] != '\0';
    if (!facts.any_driver && !given) {
        return Able::kNo;
    }
    settings_ = settings_of(comm, facts);
    settings_.no_gpu = !facts.any_driver;
    if (!facts.any_driver && !find_served()) {
        return Able::kNo;
    }
    choices_ = std::make_unique<beeline::coll::select::Choices>();
    fused_ = std::make_unique<beeline::coll::exec::Fused>();
    one_node_ =
        std::all_of(facts.nodes.begin(), facts.nodes.end(), [](int node) { return node == 0; });
    context_ = std::make_unique<beeline::coll::Context>(std::move(facts.nodes));
    return facts.any_driver ? Able::kYes : Able::kSome;
}

/// What schedules serve where nobody has a GPU: only what the user asked for. False: nothing.
bool Schedules::find_served() {
    for (std::size_t number = 0; number < served_.size(); ++number) {
        served_[number] =
            settings_.params->coll_reproducible &&
            beeline::coll::plan::reduces(static_cast<beeline::coll::plan::Collective>(number));
    }
    for (const beeline::coll::plan::Algorithm* loaded : settings_.tuning->loaded) {
        served_[static_cast<std::size_t>(loaded->collective)] = true;
    }
    return std::find(served_.begin(), served_.end(), true) != served_.end();
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
