// SPDX-License-Identifier: BSD-3-Clause
// Executes one rank's schedule: the CPU starts every message, copy and reduction.
#pragma once

#include <cstddef>
#include <vector>

#include "coll/exec/engine.hpp"
#include "coll/exec/transport.hpp"
#include "coll/plan/layout.hpp"
#include "coll/plan/schedule.hpp"

namespace beeline::coll::exec {

/// Where a schedule's buffers are and what they hold.
struct Data {
    const void* input = nullptr;  ///< not read when the schedule is in place
    void* output = nullptr;
    plan::Sizes sizes;
    kernel::Type type = kernel::Type::kU8;
    kernel::Op op = kernel::Op::kSum;
};

/// Keeps its tables between runs, so that a repeated run allocates nothing. One run at a time.
class HostDriven {
 public:
    /// Runs `schedule` to its end. After a failure the messages still go out and come in, so that
    /// no peer waits for ever, but the result is undefined; the first failure is returned. When
    /// memory for the scratch or the tables is refused, or the schedule has fused ops (plan::split
    /// first), nothing is sent.
    Status run(const plan::Schedule& schedule, const Data& data, ReduceEngine& engine,
               Transport& transport) noexcept;

 private:
    struct Run;
    enum class State : unsigned char { kWaiting, kUnderWay, kComplete };

    void prepare(const plan::Op& op, Run& run) noexcept;
    void start(std::size_t index, Run& run) noexcept;
    void start_message(std::size_t index, Run& run) noexcept;
    void compute(const plan::Op& op, Run& run) noexcept;
    void wait_for_due(Run& run) noexcept;
    static void flush(Run& run) noexcept;

    std::vector<State> states_;
    std::vector<Handle> handles_;  ///< by op
    std::vector<Handle> due_;      ///< to be waited for together
};

}  // namespace beeline::coll::exec
