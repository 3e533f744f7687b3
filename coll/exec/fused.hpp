// SPDX-License-Identifier: BSD-3-Clause
// Allreduce of short vectors by one kernel a call, for ranks of one node (see
// coll/kernel/fused.inc).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "coll/exec/fused_workspace.hpp"
#include "coll/exec/transport.hpp"
#include "coll/kernel/fused.hpp"
#include "coll/kernel/types.hpp"
#include "memory/pointer.hpp"

namespace beeline::coll::exec {

/// How the ranks of a communicator want their fused collectives, all alike.
struct FusedTerms {
    std::size_t workspace = 0;  ///< bytes of each rank's workspace
    int timeout = 0;            ///< seconds to wait for a peer; 0: for ever
    /// Asked for by parameter: also where ranks share a GPU, and where buffers are host memory.
    bool forced = false;
};

/// What a communicator keeps for them. Ranks call consider() for the same calls in the same order,
/// and so come to the same answers.
///
/// Which calls are fused may only depend on what all ranks know, but where the buffers are each
/// rank knows for itself. So, unless forced: the ranks tell each other once, in agree(); a rank
/// whose buffers are host memory takes part through a copy; and the flag that every word carries
/// says where the sender's buffers are, so that after a call all know whether any rank had device
/// memory. After one where none had, fused collectives rest for some calls, each time twice as
/// many.
class Fused {
 public:
    enum class Answer {
        kNo,     ///< not this call
        kYes,    ///< this call can be fused
        kAgree,  ///< all ranks call agree() now, then use what available() says
    };

    Fused() = default;
    Fused(const Fused&) = delete;
    Fused& operator=(const Fused&) = delete;
    ~Fused();

    /// To be asked for each allreduce that could be fused, by all ranks.
    Answer consider(const FusedTerms& terms, int size, kernel::Family family) noexcept;

    /// Makes workspaces and maps those of the others. All ranks come to the same outcome: every one
    /// can, or none does; and so for each family of kernels, which is loaded when it is first
    /// needed. `place` is where the buffers of this call are.
    void agree(Transport& transport, const memory::Pointer& place, kernel::Type type,
               kernel::Op op) noexcept;

    bool available(kernel::Family family) const noexcept {
        return state_ == State::kReady && loaded(family) == Loaded::kYes;
    }

    /// The longest vectors, in bytes.
    std::size_t most_one_shot() const noexcept;
    std::size_t most_two_shot() const noexcept;
    /// The longest of either kind on those terms, agreed or not.
    static std::size_t most(const FusedTerms& terms) noexcept;

    /// One call: `count` elements, at least one, `input` may be `output`.
    struct Call {
        const void* input = nullptr;
        void* output = nullptr;
        std::size_t count = 0;
        kernel::Type type = kernel::Type::kU8;
        kernel::Op op = kernel::Op::kSum;
        bool two_shot = false;
    };

    /// Starts a call: one launch. After a failure (logged) the peers are told, and all calls that
    /// follow fail.
    Status start(const Call& call) noexcept;

    /// Instead of start(), where this rank has no data for the call: the peers are told. Returns
    /// `why`.
    Status fail(Status why) noexcept { return state_ == State::kReady ? broken(why) : why; }

    /// kRetry while under way; else the outcome. A peer that does not come in time ends the call
    /// with kIo, after a line that names it.
    Status poll() noexcept;

    /// Calls served so far.
    std::uint64_t calls() const noexcept { return calls_; }

 private:
    enum class State : unsigned char { kUnknown, kReady, kNever, kBroken };
    using Clock = std::chrono::steady_clock;

    /// The kernels of a family, on all ranks.
    enum class Loaded : unsigned char { kUnknown, kYes, kNo };
    Loaded loaded(kernel::Family family) const noexcept {
        return loaded_[static_cast<std::size_t>(family)];
    }

    struct Offer;
    bool make_offer(const memory::Pointer& place, Offer& offer) noexcept;
    bool load(kernel::Type type, kernel::Op op) const noexcept;
    static bool all_can(Transport& transport, bool can) noexcept;
    void meet(Transport& transport, const memory::Pointer& place) noexcept;
    bool map_all(const Offer* offers) noexcept;
    void let_go(bool clean) noexcept;

    static std::size_t half_of(std::size_t workspace) noexcept;
    std::size_t half() const noexcept { return half_of(terms_.workspace); }
    void* staging() const noexcept;
    bool reaches(const memory::Pointer& place) const noexcept;
    Status launch(const Call& call, const void* input, void* output, bool device) noexcept;
    Status broken(Status status) noexcept;
    Status complete(std::uint64_t report) noexcept;
    Status look_closer() noexcept;
    void explain(std::uint32_t cause) const noexcept;

    State state_ = State::kUnknown;
    std::array<Loaded, kernel::kFamilies> loaded_{};
    FusedTerms terms_;
    int rank_ = 0;
    int size_ = 0;
    FusedWorkspace* workspace_ = nullptr;
    std::array<void*, kernel::kFusedRanks> mapped_{};

    std::uint32_t number_ = 0;    ///< of the call
    std::uint64_t asked_ = 0;     ///< calls considered
    std::uint64_t next_try_ = 1;  ///< the one to agree at
    std::uint64_t rest_ = 0;      ///< calls left to rest
    std::uint64_t next_rest_ = 1;
    std::uint64_t calls_ = 0;

    void* result_ = nullptr;  ///< where the caller wants what is in the staging area; or null
    memory::Pointer result_place_;
    std::size_t result_bytes_ = 0;
    unsigned polls_ = 0;
    bool two_shot_ = false;
    bool aborted_ = false;
    Clock::time_point started_;
    Clock::time_point next_look_;
};

/// At finalize: release_fused_imports() while peers may still use what we export; the rest once all
/// have called it.
void release_fused_imports() noexcept;
void release_fused() noexcept;

}  // namespace beeline::coll::exec
