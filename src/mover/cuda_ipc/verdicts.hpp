// SPDX-License-Identifier: BSD-3-Clause
// What a process has found out about mapping another process's device memory: tried once, not again
// when it cannot work, and the reason kept for the report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <array>
#include <vector>

#include "cuda/driver.hpp"
#include "mover/cuda_ipc/shareable.hpp"

namespace beeline::mover::cuda_ipc {

using DeviceUuid = std::array<std::byte, 16>;

/// One way between two devices of two processes.
struct Pair {
    std::uint64_t peer = 0;
    DeviceUuid from{};  ///< the exporter's device
    int to = -1;        ///< ours, by ordinal
    HandleKind kind = HandleKind::kNone;
    bool operator==(const Pair&) const = default;
};

/// Says which pairs are refused. One caller at a time.
class Verdicts {
 public:
    struct Verdict {
        Pair pair;
        bool worked = false;
        bool refused = false;
        unsigned failures = 0;  ///< in a row
        CUresult reason = CUDA_SUCCESS;
        const char* step = "";  ///< what failed: a literal
    };

    /// True until the pair has been found not to work.
    bool allows(const Pair& pair) const noexcept;
    void succeeded(const Pair& pair) noexcept;
    /// `step` is a string literal. Errors that say something of the pair refuse it at once; others
    /// (memory freed meanwhile, no room) after a few in a row.
    void failed(const Pair& pair, const char* step, CUresult reason) noexcept;

    const std::vector<Verdict>& all() const noexcept { return all_; }

 private:
    Verdict& of(const Pair& pair) noexcept;
    std::vector<Verdict> all_;
};

/// The device's UUID; zero when the driver does not tell.
DeviceUuid uuid_of(const cuda::Driver& driver, int device) noexcept;

}  // namespace beeline::mover::cuda_ipc
