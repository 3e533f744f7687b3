// SPDX-License-Identifier: BSD-3-Clause
// mca_pml_beeline: the component as Open MPI loads it, and the life of the engine.
#include "base/log.hpp"
#include "config/config.hpp"
#include "engine/background.hpp"
#include "plugin/guard.hpp"
#include "plugin/params.hpp"
#include "plugin/pml/module.hpp"
#include "plugin/pml/request.hpp"
#include "plugin/types.hpp"

extern "C" {
extern OMPI_MODULE_DECLSPEC mca_pml_base_component_t mca_pml_beeline_component;
}

namespace beeline::plugin::pml {

constinit engine::Engine* running = nullptr;

namespace {

constinit engine::Background* background = nullptr;  // null: progress in MPI calls only
// Remembered until the component is opened: ompi_info only registers, and must show the variables.
constinit bool refused = false;

void to_output(LogLevel, const char* line) {
    if (background != nullptr && background->is_current()) {
        std::fprintf(stderr, "beeline: %s\n", line);  // Open MPI's output is for its own threads
        return;
    }
    opal_output(0, "beeline: %s", line);
}

int progress() noexcept {
    const engine::Engine::Guard guard(*running);
    running->yields = opal_progress_yield_when_idle;  // as it is now: MPI_Init sets it at its end
    return running->progress();
}

int enable(bool on) {
    if (!on) {
        return OMPI_SUCCESS;
    }
    if (config::params().pml_async_progress) {
        if (auto started = engine::Background::start(*running)) {
            background = started.value().release();
        }
    }
    return prepare_requests();
}

// Communicator ids index a table; Open MPI hands out the smallest that are free.
constexpr std::uint32_t kMaxContext = (1U << 22) - 1;

constinit mca_pml_base_module_t module = {
    .pml_add_procs = guarded<&add_procs>,
    .pml_del_procs = guarded<&del_procs>,
    .pml_enable = guarded<&enable>,
    .pml_progress = nullptr,  // registered by ourselves
    .pml_add_comm = guarded<&add_comm>,
    .pml_del_comm = guarded<&del_comm>,
    .pml_irecv_init = guarded<&irecv_init>,
    .pml_irecv = guarded<&irecv>,
    .pml_recv = guarded<&recv>,
    .pml_isend_init = guarded<&isend_init>,
    .pml_isend = guarded<&isend>,
    .pml_send = guarded<&send>,
    .pml_iprobe = guarded<&iprobe>,
    .pml_probe = guarded<&probe>,
    .pml_start = guarded<&start>,
    .pml_improbe = guarded<&improbe>,
    .pml_mprobe = guarded<&mprobe>,
    .pml_imrecv = guarded<&imrecv>,
    .pml_mrecv = guarded<&mrecv>,
    .pml_dump = guarded<&dump>,
    .pml_ft_event = nullptr,
    .pml_max_contextid = kMaxContext,
    .pml_max_tag = INT32_MAX,
    .pml_flags = 0,
};

int register_component() {
    refused = register_params("pml", self()) != Status::kOk;
    register_counters();
    return OMPI_SUCCESS;
}

int open_component() {
    if (refused) {
        stop_refused("pml");
    }
    set_log_sink(to_output);
    set_log_level(static_cast<LogLevel>(config::params().pml_verbose));
    // Without --mca pml, Open MPI considers the names it was built with only: join them.
    opal_pointer_array_add(&mca_pml_base_pml, strdup("beeline"));
    return OMPI_SUCCESS;
}

int close_component() {
    set_log_sink(nullptr);
    return OMPI_SUCCESS;
}

mca_pml_base_module_t* init(int* priority, bool, bool threads) {
    if (start_engine(threads) != Status::kOk) {
        return nullptr;
    }
    *priority = config::params().pml_priority;
    return &module;
}

int finalize() {
    if (running != nullptr) {
        delete std::exchange(background, nullptr);
        if (config::params().pml_report) {
            print_report();
        }
        stop_engine();
    }
    return OMPI_SUCCESS;
}

}  // namespace

const mca_base_component_t* self() noexcept {
    return &mca_pml_beeline_component.pmlm_version;
}

Status start_engine(bool threads) {
    auto made = engine::Engine::create(config::params());
    if (!made) {
        return made.status();
    }
    (*made)->threads = threads || config::params().pml_async_progress;
    std::vector<std::byte> address = (*made)->address();
    int outcome = OMPI_SUCCESS;
    OPAL_MODEX_SEND(outcome, OPAL_PMIX_GLOBAL, self(), address.data(), address.size());
    if (outcome != OMPI_SUCCESS) {
        log(LogLevel::kError, "this process's address cannot be published (error %d)", outcome);
        return Status::kIo;
    }
    running = made.value().release();
    opal_progress_register(progress);
    return Status::kOk;
}

void stop_engine() {
    opal_progress_unregister(progress);
    running->release_device_resources();
    release_requests();
    release_alone();
    release_layouts();
    delete running;
    running = nullptr;
}

}  // namespace beeline::plugin::pml

// What is left out is meant to be zero.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
constinit mca_pml_base_component_t mca_pml_beeline_component = {
    .pmlm_version = {MCA_PML_BASE_VERSION_2_0_0, .mca_component_name = "beeline",
                     MCA_BASE_MAKE_VERSION(component, 0, 1, 0),
                     .mca_open_component =
                         beeline::plugin::guarded<&beeline::plugin::pml::open_component>,
                     .mca_close_component =
                         beeline::plugin::guarded<&beeline::plugin::pml::close_component>,
                     .mca_register_component_params =
                         beeline::plugin::guarded<&beeline::plugin::pml::register_component>},
    .pmlm_data = {MCA_BASE_METADATA_PARAM_NONE},
    .pmlm_init = beeline::plugin::guarded<&beeline::plugin::pml::init>,
    .pmlm_finalize = beeline::plugin::guarded<&beeline::plugin::pml::finalize>,
};
