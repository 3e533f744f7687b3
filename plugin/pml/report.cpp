// SPDX-License-Identifier: BSD-3-Clause
// Messages and bytes by path, as MPI_T variables and as the table at MPI_Finalize.
#include <cinttypes>
#include <cstdio>

#include "plugin/pml/module.hpp"

namespace beeline::plugin::pml {
namespace {

const engine::Counters& counters() noexcept {
    return engine().counters();
}

template <std::uint64_t (*Read)(std::size_t)>
int read(const mca_base_pvar_t* variable, void* value, void*) noexcept {
    const auto index = reinterpret_cast<std::size_t>(variable->ctx);
    if (running == nullptr) {  // a tool asks before MPI_Init or after MPI_Finalize
        *static_cast<unsigned long long*>(value) = 0;
        return OMPI_SUCCESS;
    }
    const engine::Engine::Guard guard(engine());
    *static_cast<unsigned long long*>(value) = Read(index);
    return OMPI_SUCCESS;
}

std::uint64_t messages(std::size_t path) {
    return counters().messages[path];
}
std::uint64_t bytes(std::size_t path) {
    return counters().bytes[path];
}

template <std::uint64_t (*Read)(std::size_t)>
void register_counter(const char* what, std::size_t path) noexcept {
    const char* name_of_path = protocol::to_string(static_cast<protocol::Path>(path));
    char name[64];
    char help[128];
    std::snprintf(name, sizeof name, "%s_%s", what, name_of_path);
    std::snprintf(help, sizeof help, "%s sent by the path %s", what, name_of_path);
    mca_base_component_pvar_register(
        self(), name, help, OPAL_INFO_LVL_4, MPI_T_PVAR_CLASS_COUNTER,
        MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, nullptr, MCA_BASE_VAR_BIND_NO_OBJECT,
        static_cast<mca_base_pvar_flag_t>(MCA_BASE_PVAR_FLAG_READONLY |
                                          MCA_BASE_PVAR_FLAG_CONTINUOUS),
        read<Read>, nullptr, nullptr, reinterpret_cast<void*>(path));
}

}  // namespace

void register_counters() {
    for (std::size_t path = 1; path < protocol::kPaths; ++path) {
        register_counter<messages>("messages", path);
        register_counter<bytes>("bytes", path);
    }
}

void print_report() {
    const engine::Counters& counted = counters();
    const unsigned rank = OPAL_PROC_MY_NAME.vpid;
    std::fprintf(stderr, "pml/beeline rank %u: %-10s %12s %18s\n", rank, "path", "messages",
                 "bytes");
    for (std::size_t path = 1; path < protocol::kPaths; ++path) {
        if (counted.messages[path] != 0) {
            std::fprintf(stderr, "pml/beeline rank %u: %-10s %12" PRIu64 " %18" PRIu64 "\n", rank,
                         protocol::to_string(static_cast<protocol::Path>(path)),
                         counted.messages[path], counted.bytes[path]);
        }
    }
    for (std::size_t reason = 0; reason < protocol::kReasons; ++reason) {
        if (counted.fallbacks[reason] != 0) {
            std::fprintf(stderr,
                         "pml/beeline rank %u: %" PRIu64 " messages not on the best path: %s\n",
                         rank, counted.fallbacks[reason],
                         protocol::to_string(static_cast<protocol::Reason>(reason)));
        }
    }
    const mover::cuda_ipc::ImportCache& imports = engine().imports();
    if (imports.hits() + imports.misses() != 0) {
        std::fprintf(stderr,
                     "pml/beeline rank %u: CUDA IPC handles: %zu open, %" PRIu64 " opened, %" PRIu64
                     " found open\n",
                     rank, imports.open_handles(), imports.misses(), imports.hits());
    }
}

}  // namespace beeline::plugin::pml
