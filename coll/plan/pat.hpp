// SPDX-License-Identifier: BSD-3-Clause
// The two halves of PAT, after S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter
// operations at scale", arXiv 2506.20252 (2025).
#pragma once

#include <algorithm>
#include <bit>

#include "coll/pattern/binomial.hpp"
#include "coll/pattern/pat.hpp"
#include "coll/plan/entries.hpp"
#include "coll/plan/steps.hpp"

namespace beeline::coll::plan {

/// How many blocks of a reduce-scatter are in work together. As many ranks or fewer take log2
/// steps; more take a group of blocks after the other, so that scratch is this many blocks and one
/// for each further power of two, however many ranks there are.
inline constexpr int kPatTogether = 64;

/// Far blocks first: the step of 2^k ranks moves the blocks that the longer steps brought. Block b
/// lies at blocks + b; own is there at the start.
inline void pat_allgather(Emitter& emit, const Request& request, Place blocks) {
    const auto block = [&](int offset) { return blocks + index(previous(request, offset)); };
    for (int level = pattern::log2_up(request.size) - 1; level >= 0; --level) {
        const int distance = 1 << level;
        for (int offset = 0; offset + distance < request.size; offset += 2 * distance) {
            emit.receive(previous(request, distance), block(offset + distance));
        }
        for (int offset = 0; offset + distance < request.size; offset += 2 * distance) {
            emit.send(next(request, distance), block(offset));
        }
    }
}

/// The time reversal: contributions to block b, at `own` + b, flow down its tree, near ones first;
/// the sum of the own block ends in `result`. Needs two ranks.
///
/// Groups of offsets are worked off from the highest down. No rank waits for what comes later in
/// this order, neither for a message nor for a place to be free: where messages from other groups
/// land is ready as soon as the one before on their level is used up, which is before they are
/// sent.
class PatReduceScatter {
 public:
    PatReduceScatter(Emitter& emit, const Request& request, Place own, Place result)
        : emit_(emit),
          request_(request),
          own_(own),
          result_(result),
          levels_(pattern::log2_up(request.size)),
          together_(std::min(kPatTogether, 1 << levels_)),
          inner_levels_(std::countr_zero(static_cast<unsigned>(together_))) {}

    void run() {
        const int last = (request_.size - 1) / together_ * together_;
        for (int level = inner_levels_; level < levels_; ++level) {
            const int step = 2 << level;
            int offset = last / step * step;
            while (!pattern::pat_has_child(request_.size, offset, level)) {
                offset -= step;
            }
            receive(offset, level);
        }
        for (int first = last; first >= 0; first -= together_) {
            group(first);
        }
    }

 private:
    Place landing(int offset, int level) {
        return emit_.slot(index(pattern::pat_slot(together_, offset, level)), block(offset));
    }
    std::uint32_t block(int offset) const noexcept { return index(previous(request_, offset)); }

    void receive(int offset, int level) {
        emit_.receive(next(request_, 1 << level), landing(offset, level));
    }

    void group(int first) {
        const int end = std::min(first + together_, request_.size);
        for (int level = 0; level < inner_levels_; ++level) {
            for (int offset = first; offset < end; offset += 2 << level) {
                if (pattern::pat_has_child(request_.size, offset, level)) {
                    receive(offset, level);
                }
            }
        }
        for (int level = 0; level < inner_levels_; ++level) {
            for (int offset = first + (1 << level); offset < end; offset += 2 << level) {
                pass_on(offset);
            }
        }
        pass_on(first);
        for (int level = inner_levels_; level < levels_; ++level) {
            if (pattern::pat_has_child(request_.size, first, level) && first >= 2 << level) {
                receive(first - (2 << level), level);
            }
        }
    }

    /// Sums the contributions to one block and sends the sum to the parent; or it is the result.
    void pass_on(int offset) {
        Place sum = own_ + block(offset);
        bool summed = false;
        for (int level = 0; level < levels_; ++level) {
            if (pattern::pat_has_child(request_.size, offset, level)) {
                const Place theirs = landing(offset, level);
                const Place target = offset == 0 ? result_ : summed ? sum : theirs;
                emit_.reduce(target, sum, theirs);
                sum = target;
                summed = true;
            }
        }
        if (offset > 0) {
            emit_.send(previous(request_, 1 << pattern::pat_level(offset)), sum);
        }
    }

    Emitter& emit_;
    const Request& request_;
    Place own_;
    Place result_;
    int levels_;
    int together_;
    int inner_levels_;
};

/// Steps of the reduce-scatter.
inline double pat_steps(int size) noexcept {
    const int levels = pattern::log2_up(size);
    const int groups = (size + kPatTogether - 1) / kPatTogether;
    const int inner = pattern::log2_up(std::min(size, kPatTogether));
    return groups * inner + levels - inner;
}

}  // namespace beeline::coll::plan
