// SPDX-License-Identifier: BSD-3-Clause
// Executes one rank's schedule: the CPU starts every message, copy and reduction.
#pragma once

#include <cstddef>
#include <optional>
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
    std::size_t element = 1;  ///< bytes of one element of `sizes`
    /// What to reduce, and how; of elements of that type. Not read by schedules without reductions.
    kernel::Type type = kernel::Type::kU8;
    kernel::Op op = kernel::Op::kSum;
};

/// Whether to come back later or to wait.
enum class Patience { kReturn, kWait };

/// Keeps its tables between runs, so that a repeated run allocates nothing. One run at a time.
class HostDriven {
 public:
    /// Prepares a run; nothing is sent yet. All but `data` itself, whose tables count as well, must
    /// stay until the run is complete. `failed` is what went wrong on this rank before: the run is
    /// then a failed one from its start, and no buffer is touched; so it is when memory for the
    /// scratch is refused. kNoMemory when memory for the tables is refused, kUnsupported when the
    /// schedule has fused ops (plan::split first); there is then nothing to advance.
    Status begin(const plan::Schedule& schedule, const Data& data, ReduceEngine& engine,
                 Transport& transport, Status failed = Status::kOk) noexcept;

    /// Does what can be done now, or waits until all is done. True once the run is complete;
    /// status() then says how it went. After a failure the messages still go out, empty, and come
    /// in: no peer waits for ever, and each learns from a message that is too short that the result
    /// is undefined.
    bool advance(Patience patience) noexcept;

    /// Whether the run has scratch of the engine's.
    bool uses_scratch() const noexcept { return scratch_ != nullptr; }

    /// The first failure of the run.
    Status status() const noexcept { return status_; }

    /// begin(), then advance() to the end.
    Status run(const plan::Schedule& schedule, const Data& data, ReduceEngine& engine,
               Transport& transport) noexcept;

 private:
    enum class State : unsigned char { kWaiting, kUnderWay, kComplete };
    /// A place in memory.
    struct Piece {
        void* address = nullptr;
        std::size_t count = 0;  ///< elements
    };

    bool ready(const plan::Op& op, Patience patience) noexcept;
    bool complete(std::size_t index, Patience patience) noexcept;
    bool flushed(Patience patience) noexcept;
    void start(std::size_t begin, std::size_t end) noexcept;
    void start_message(std::size_t index) noexcept;
    std::size_t end_of_group(std::size_t index) const noexcept;
    bool ready(std::size_t begin, std::size_t end, Patience patience) noexcept;
    void compute(std::size_t begin, std::size_t end) noexcept;
    Piece find(const plan::Place& place, std::uint32_t chunks) const noexcept;
    void note(Status outcome) noexcept;

    const plan::Schedule* schedule_ = nullptr;
    Data data_;
    ReduceEngine* engine_ = nullptr;
    Transport* transport_ = nullptr;
    std::optional<plan::Layout> layout_;
    std::byte* scratch_ = nullptr;
    Status status_ = Status::kOk;
    std::size_t next_ = 0;       ///< the first op that hasn't started
    std::size_t oldest_ = 0;     ///< all ops before it are complete
    bool computed_ = false;      ///< the engine was given work since it was last seen idle
    std::int32_t flushed_ = -1;  ///< copies and reductions up to this op are done
    std::int32_t last_compute_ = -1;
    std::vector<State> states_;
    std::vector<Handle> handles_;  ///< by op
};

}  // namespace beeline::coll::exec
