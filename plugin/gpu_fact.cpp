// SPDX-License-Identifier: BSD-3-Clause
// One record for each process in the modex: whether it has a CUDA driver, and its node.
#include "plugin/gpu_fact.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>

#include "topo/identity.hpp"

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

/// As published, in the byte order of the machine: a job runs on one architecture.
struct Fact {
    topo::NodeId node;
    std::uint64_t driver = 0;  ///< 1: this process has one
};

bool fact_of(const ompi_proc_t* process, Fact& fact) noexcept {
    std::uint8_t* bytes = nullptr;
    std::size_t size = 0;
    int outcome = OMPI_SUCCESS;
    OPAL_MODEX_RECV(outcome, key, &process->super.proc_name, &bytes, &size);
    const bool known = outcome == OMPI_SUCCESS && size == sizeof fact;
    if (known) {
        std::memcpy(&fact, bytes, sizeof fact);
    }
    std::free(bytes);
    return known;
}

/// False when some rank is unknown; `any` becomes true when one has a driver.
bool ask_group(ompi_group_t* group, bool& any) noexcept {
    for (int rank = 0; rank < group->grp_proc_count; ++rank) {
        const ompi_proc_t* process = ompi_group_peer_lookup(group, rank);
        Fact fact;
        if (process == nullptr || !fact_of(process, fact)) {
            return false;
        }
        any = any || fact.driver != 0;
    }
    return true;
}

}  // namespace

int publish_gpu_fact(const mca_base_component_t* owner) noexcept {
    key = owner;
    Fact fact{topo::this_node(), have_driver() ? 1U : 0U};
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

std::vector<int> nodes_of(ompi_communicator_t* comm) {
    std::vector<topo::NodeId> known;
    std::vector<int> nodes;
    for (int rank = 0; rank < ompi_comm_size(comm); ++rank) {
        const ompi_proc_t* process = ompi_comm_peer_lookup(comm, rank);
        Fact fact;
        if (process == nullptr || !fact_of(process, fact)) {
            return {};
        }
        const auto found = std::find(known.begin(), known.end(), fact.node);
        nodes.push_back(static_cast<int>(found - known.begin()));
        if (found == known.end()) {
            known.push_back(fact.node);
        }
    }
    return nodes;
}

}  // namespace beeline::plugin
