// SPDX-License-Identifier: BSD-3-Clause
// A collective on any kind of memory: classify, choose a schedule, choose where to compute,
// execute.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "coll/exec/device_engine.hpp"
#include "coll/exec/host_driven.hpp"
#include "coll/exec/host_engine.hpp"
#include "coll/select/select.hpp"

namespace beeline::coll {

/// One rank's call. Buffers hold gapless elements, cut as plan::Schedule says; each may be host,
/// pinned, managed or device memory, whatever the other ranks pass. All must stay until the
/// operation is complete, but for the edges, which are read when it begins.
struct Call {
    plan::Collective collective = plan::Collective::kBarrier;
    int root = 0;
    bool in_place = false;    ///< of this rank; reduce_scatter: its input is the output buffer
    bool commutative = true;  ///< of the operation
    const void* input = nullptr;
    void* output = nullptr;
    plan::Cut cut = plan::Cut::kEqual;  ///< of collectives on blocks
    plan::Sizes sizes;
    std::size_t element = 1;  ///< bytes of an element of `sizes`
    kernel::Type type = kernel::Type::kU8;
    kernel::Op op = kernel::Op::kSum;
    std::span<const plan::Edge> sources;
    std::span<const plan::Edge> targets;
    /// What went wrong on this rank before, so that it has nothing to give: the call fails, here
    /// and on all ranks that depend on it, and nobody waits for ever. Buffers are not touched.
    Status failed = Status::kOk;
};

/// What was done, for reports.
struct Counters {
    std::uint64_t on_host = 0;    ///< operations that computed on the CPU
    std::uint64_t on_device = 0;  ///< operations that computed on a GPU
    std::uint64_t built = 0;      ///< schedules built, for there was none from an earlier call
};

class Context;

/// A collective under way.
class Operation {
 public:
    /// Does what can be done now, or waits for the end. True once complete.
    bool advance(exec::Patience patience) noexcept;
    /// How it went, once complete: the first failure of this rank.
    Status status() const noexcept { return status_; }

 private:
    friend class Context;

    Status prepare(const Call& call) noexcept;
    Status begin_round(Status failed) noexcept;
    Status bring_input() noexcept;
    void finish() noexcept;

    Call call_;
    const plan::Schedule* schedule_ = nullptr;
    std::uint64_t* users_ = nullptr;  ///< of the schedule
    exec::Transport* transport_ = nullptr;
    exec::ReduceEngine* engine_ = nullptr;
    std::size_t rounds_ = 1;
    std::size_t round_ = 0;
    bool busy_ = false;
    Status status_ = Status::kOk;
    exec::HostDriven executor_;
    exec::HostEngine host_;
    exec::DeviceEngine device_;
    exec::HostEngine host_room_;  ///< memory for an input or output of our own
    exec::DeviceEngine device_room_;
    /// Where the buffers and the scratch are: messages need not ask again.
    std::array<memory::Pointer, 4> places_;
    void* result_ = nullptr;  ///< where the caller wants what went to a room; or null
    std::size_t result_bytes_ = 0;
};

/// What a communicator keeps between calls: schedules, scratch, streams, kernels. Not thread-safe;
/// several operations may be under way at a time.
class Context {
 public:
    /// `node_of`: the node of each rank (see plan::Request), for hierarchical schedules.
    explicit Context(std::vector<int> node_of = {}) noexcept : node_of_(std::move(node_of)) {}

    const Counters& counters() const noexcept { return counters_; }
    std::span<const int> nodes() const noexcept { return node_of_; }

    /// Begins a call with the algorithm that `choice` names (never null), which all ranks must have
    /// chosen alike. `transport` must stay until the operation is complete, and carry no other
    /// operation's messages. The operation is the context's; give it back by release(). Null after
    /// logging when memory is refused.
    Operation* begin(const Call& call, const select::Choice& choice,
                     exec::Transport& transport) noexcept;

    /// Takes back an operation that is complete.
    void release(Operation* operation) noexcept;

    /// begin(), waits, release().
    Status run(const Call& call, const select::Choice& choice, exec::Transport& transport) noexcept;

 private:
    /// A schedule and what it was made for.
    struct Kept {
        const plan::Algorithm* algorithm = nullptr;
        int slices = 1;           ///< asked for
        std::uint64_t used = 0;   ///< when; 0: empty
        std::uint64_t users = 0;  ///< operations that run it
        plan::Schedule schedule;
    };
    static constexpr std::size_t kKept = 32;

    Kept& schedule(const plan::Request& request, const plan::Algorithm& algorithm);

    Counters counters_;
    std::vector<std::unique_ptr<Kept>> kept_;
    std::uint64_t clock_ = 0;
    std::vector<std::unique_ptr<Operation>> operations_;
    std::vector<int> node_of_;
};

}  // namespace beeline::coll
