// SPDX-License-Identifier: BSD-3-Clause
// Who a process is and on which node it runs: host names and ordinals lie, these do not.
#pragma once

#include <cstdint>

namespace beeline::topo {

/// Equal for two processes exactly when they can share memory through /proc: same boot of the same
/// kernel, same process-id namespace and same network namespace (a "node" as MPI launchers see it),
/// and the same rights: a process may open another's descriptors only if they have the same user,
/// user namespace and capabilities (or it has more: but then the other may not open its own).
struct NodeId {
    std::uint64_t boot = 0;
    std::uint64_t namespaces = 0;
    std::uint64_t rights = 0;
    bool operator==(const NodeId&) const = default;
};

/// A process for good: a process id alone is reused.
struct ProcessId {
    std::int64_t pid = 0;
    std::uint64_t start_time = 0;  ///< clock ticks since boot, from /proc/PID/stat
    bool operator==(const ProcessId&) const = default;
};

/// Of the calling process. All zero where /proc cannot be read; such a process shares no memory.
NodeId this_node() noexcept;
ProcessId this_process() noexcept;

/// The start time of any process; 0 when there is none with this id.
std::uint64_t start_time_of(std::int64_t pid) noexcept;

}  // namespace beeline::topo
