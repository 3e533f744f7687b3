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
    std::uint64_t choosing = 0;
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

}  // namespace

int publish_gpu_fact(const mca_base_component_t* owner, std::uint64_t choosing) noexcept {
    key = owner;
    Fact fact{topo::this_node(), have_driver() ? 1U : 0U, choosing};
    int outcome = OMPI_SUCCESS;
    OPAL_MODEX_SEND(outcome, OPAL_PMIX_GLOBAL, owner, &fact, sizeof fact);
    return outcome;
}

CommFacts facts_of(ompi_communicator_t* comm) {
    CommFacts facts;
    std::vector<topo::NodeId> known;
    std::uint64_t choosing = 0;
    for (int rank = 0; rank < ompi_comm_size(comm); ++rank) {
        const ompi_proc_t* process = ompi_comm_peer_lookup(comm, rank);
        Fact fact;
        if (key == nullptr || process == nullptr || !fact_of(process, fact)) {
            return {};
        }
        facts.any_driver = facts.any_driver || fact.driver != 0;
        const auto found = std::find(known.begin(), known.end(), fact.node);
        facts.nodes.push_back(static_cast<int>(found - known.begin()));
        if (found == known.end()) {
            known.push_back(fact.node);
        }
        choosing = rank == 0 ? fact.choosing : choosing;
        if (facts.chooses_otherwise < 0 && fact.choosing != choosing) {
            facts.chooses_otherwise = rank;
        }
    }
    return facts;
}

}  // namespace beeline::plugin
