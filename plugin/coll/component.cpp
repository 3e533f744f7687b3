// SPDX-License-Identifier: BSD-3-Clause
// mca_coll_beeline: the component as Open MPI loads it.
#include "base/log.hpp"
#include "coll/select/schedule_files.hpp"
#include "coll/select/select.hpp"
#include "coll/select/tuning.hpp"
#include "config/config.hpp"
#include "coll/exec/device_home.hpp"
#include "plugin/coll/fused_call.hpp"
#include "plugin/coll/module.hpp"
#include "plugin/coll/report.hpp"
#include "plugin/coll/request.hpp"
#include "plugin/coll/schedule_request.hpp"
#include "plugin/coll/schedules.hpp"
#include "plugin/gpu_fact.hpp"
#include "plugin/guard.hpp"
#include "plugin/params.hpp"
#include "plugin/preload/handlers.hpp"
#include "plugin/types.hpp"

extern "C" {
extern OMPI_MODULE_DECLSPEC mca_coll_base_component_t mca_coll_beeline_component;
}

namespace beeline::plugin::coll {
namespace {

// Remembered until the component is opened: ompi_info only registers, and must show the variables.
constinit bool refused = false;

const mca_base_component_t* self() noexcept {
    return &mca_coll_beeline_component.collm_version;
}

/// Reads the tuning file that a parameter names. kInvalid, after an error, when it is refused.
Status load_tuning() {
    const config::Text& file = config::params().coll_tuning_file;
    if (file[0] == '\0') {
        return Status::kOk;
    }
    const std::string problem =
        beeline::coll::select::load(file.data(), beeline::coll::select::tuning());
    if (problem.empty()) {
        return Status::kOk;
    }
    log(LogLevel::kError, "parameter coll_beeline_tuning_file: %s", problem.c_str());
    return Status::kInvalid;
}

/// Reads the files of schedules that a parameter names. Files that are refused cost nothing but
/// themselves: one rank of the job says so for all, and any other whose files differ from its
/// (schedules.cpp).
void load_schedules() {
    auto& files = beeline::coll::select::ScheduleFiles::own();
    files.load(config::params().coll_schedule_file.data());
    files.offer(beeline::coll::select::tuning());
    if (OPAL_PROC_MY_NAME.vpid == 0) {
        warn_of_schedule_files();
    }
    register_loaded_counters(self());
}

/// Parameters may name what files were to bring. kInvalid, after an error, when one names nothing;
/// but where a file was refused it may have been that one's, and the job goes on.
Status check_names() {
    namespace select = beeline::coll::select;
    Status outcome = Status::kOk;
    for (int number = 0; number < beeline::coll::plan::kCollectives; ++number) {
        const auto collective = static_cast<beeline::coll::plan::Collective>(number);
        const std::string problem = select::refuse_word(
            collective, select::wanted(collective, config::params()), select::tuning());
        if (!problem.empty() && select::ScheduleFiles::own().problems().empty()) {
            log(LogLevel::kError, "%s", problem.c_str());
            outcome = Status::kInvalid;
        }
    }
    return outcome;
}

int register_component() {
    refused = register_params("coll", self()) != Status::kOk;
    register_counters(self());
    return OMPI_SUCCESS;
}

int open_component() {
    if (refused) {
        stop_refused("coll");
    }
    load_schedules();
    if (check_names() != Status::kOk || load_tuning() != Status::kOk) {
        stop_refused("coll");
    }
    return publish_gpu_fact(self(), beeline::coll::select::fingerprint(
                                        beeline::coll::select::tuning(), config::params()));
}

int close_component() {
    if (config::params().coll_report) {
        print_report();
    }
    detach_handlers();
    stop_schedule_requests();
    reap_requests();
    release_fused();
    beeline::coll::exec::DeviceHome::release_all();
    release_layouts();
    return OMPI_SUCCESS;
}

int init_query(bool, bool) {
    attach_handlers();
    return OMPI_SUCCESS;
}

mca_coll_base_module_t* comm_query(ompi_communicator_t*, int* priority) {
    *priority = config::params().coll_priority;
    return new_module();
}

}  // namespace
}  // namespace beeline::plugin::coll

// What is left out is meant to be zero.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
constinit mca_coll_base_component_t mca_coll_beeline_component = {
    .collm_version = {MCA_COLL_BASE_VERSION_2_0_0, .mca_component_name = "beeline",
                      MCA_BASE_MAKE_VERSION(component, 0, 1, 0),
                      .mca_open_component =
                          beeline::plugin::guarded<&beeline::plugin::coll::open_component>,
                      .mca_close_component =
                          beeline::plugin::guarded<&beeline::plugin::coll::close_component>,
                      .mca_register_component_params =
                          beeline::plugin::guarded<&beeline::plugin::coll::register_component>},
    .collm_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .collm_init_query = beeline::plugin::guarded<&beeline::plugin::coll::init_query>,
    .collm_comm_query = beeline::plugin::guarded<&beeline::plugin::coll::comm_query>,
};
