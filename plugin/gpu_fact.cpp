// SPDX-License-Identifier: BSD-3-Clause
// One byte for each process in the modex: 1 when it has a CUDA driver.
#include "plugin/gpu_fact.hpp"

#include <dlfcn.h>
#include <unistd.h>

namespace beeline::plugin {
namespace {

// The component whose name keys the byte; set by publish_gpu_fact().
constinit const mca_base_component_t* key = nullptr;

/// True when the environment's library path leads to a driver, as for a software device.
bool driver_on_path() noexcept {
    const char* path = std::getenv("LD_LIBRARY_PATH");
    while (path != nullptr && *path != '\0') {
        const std::size_t length = std::strcspn(path, ":");
        char file[4096];
        std::snprintf(file, sizeof file, "%.*s/libcuda.so.1", static_cast<int>(length), path);
        if (length != 0 && access(file, R_OK) == 0) {
            return true;
        }
        path += length + (path[length] == ':' ? 1 : 0);
    }
    return false;
}

/// True when the process has loaded the driver, or may yet: a device node or a software driver is
/// there. Loads nothing.
bool have_driver() noexcept {
    if (void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD); library != nullptr) {
        dlclose(library);
        return true;
    }
    return access("/dev/nvidiactl", F_OK) == 0 || driver_on_path();
}

enum class Fact { kUnknown, kNone, kDriver };

Fact fact_of(const ompi_proc_t* process) noexcept {
    std::uint8_t* bytes = nullptr;
    std::size_t size = 0;
    int outcome = OMPI_SUCCESS;
    OPAL_MODEX_RECV(outcome, key, &process->super.proc_name, &bytes, &size);
    const Fact fact = outcome != OMPI_SUCCESS || size != 1 ? Fact::kUnknown
                      : bytes[0] != 0                      ? Fact::kDriver
                                                           : Fact::kNone;
    std::free(bytes);
    return fact;
}

/// False when some rank is unknown; `any` becomes true when one has a driver.
bool ask_group(ompi_group_t* group, bool& any) noexcept {
    for (int rank = 0; rank < group->grp_proc_count; ++rank) {
        const ompi_proc_t* process = ompi_group_peer_lookup(group, rank);
        const Fact fact = process == nullptr ? Fact::kUnknown : fact_of(process);
        if (fact == Fact::kUnknown) {
            return false;
        }
        any = any || fact == Fact::kDriver;
    }
    return true;
}

}  // namespace

int publish_gpu_fact(const mca_base_component_t* owner) noexcept {
    key = owner;
    std::uint8_t fact = have_driver() ? 1 : 0;
    int outcome = OMPI_SUCCESS;
    OPAL_MODEX_SEND(outcome, OPAL_PMIX_GLOBAL, owner, &fact, sizeof fact);
    return outcome;
}

bool comm_has_gpu(ompi_communicator_t* comm) {
    bool any = false;
    if (key == nullptr || !ask_group(comm->c_local_group, any)) {
        return false;
    }
    if (OMPI_COMM_IS_INTER(comm) && !ask_group(comm->c_remote_group, any)) {
        return false;
    }
    return any;
}

}  // namespace beeline::plugin
