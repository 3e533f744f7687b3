// SPDX-License-Identifier: BSD-3-Clause
// Makes schedules: takes a rank's ops in order and finds out itself what each must wait for.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "coll/plan/request.hpp"
#include "coll/plan/schedule.hpp"

namespace beeline::coll::plan {

/// Ops that read a chunk wait for the last that wrote it; ops that write it wait for whatever read
/// it since, or for the last that wrote it. Time and memory grow with the runs of chunks touched.
/// Functions that take no chunks emit nothing.
class Emitter {
 public:
    /// A schedule for `request` by `algorithm`; `frame_blocks` for vectors only (blocks follow from
    /// the request otherwise).
    Emitter(const Request& request, const char* algorithm, int frame_blocks = 1, int slices = 1);

    Place input(std::uint32_t chunk = 0) const noexcept { return {Buffer::kInput, chunk}; }
    Place output(std::uint32_t chunk = 0) const noexcept { return {Buffer::kOutput, chunk}; }
    /// Chunk `chunk` of copy `copy` of the frame; the schedule gets as many copies as are used.
    Place mirror(std::uint32_t copy, std::uint32_t chunk = 0) noexcept;
    /// Slot `index`, for data as long as chunk `like` of the frame; the schedule gets as many slots
    /// as are used.
    Place slot(std::uint32_t index, std::uint32_t like) noexcept;
    /// Where this rank's contribution to chunk `chunk` of the vector is at the start.
    Place own(std::uint32_t chunk = 0) const noexcept {
        return {schedule_.in_place ? Buffer::kOutput : Buffer::kInput, chunk};
    }

    void send(int peer, Place source, std::uint32_t count = 1, int channel = 0);
    void receive(int peer, Place target, std::uint32_t count = 1, int channel = 0);
    /// Nothing when source and target are the same.
    void copy(Place target, Place source, std::uint32_t count = 1);
    /// target = left (op) right.
    void reduce(Place target, Place left, Place right, std::uint32_t count = 1);
    /// An empty message, after everything received so far.
    void signal(int peer);
    /// The receive that a peer's signal is for.
    void await(int peer);

    /// The next op also waits for op `earlier` (kNone: for nothing more).
    void hold_for(std::int32_t earlier) { held_for_.push_back(earlier); }
    /// The op emitted last, or kNone.
    std::int32_t last() const noexcept {
        return static_cast<std::int32_t>(schedule_.ops.size()) - 1;
    }

    /// The ops that follow belong to this phase (hierarchical schedules).
    void phase(const char* name);

    std::uint32_t slices() const noexcept { return schedule_.slices; }
    Schedule& schedule() noexcept { return schedule_; }
    Schedule take() { return std::move(schedule_); }

 private:
    /// What happened last to a run of chunks [key, end).
    struct Run {
        std::uint32_t end = 0;
        std::int32_t written = kNone;
        std::vector<std::int32_t> read;
    };
    using Runs = std::map<std::uint32_t, Run>;

    bool single_blocks() const noexcept { return schedule_.cut == Cut::kScattered; }
    Runs::iterator cut_at(Runs& runs, std::uint32_t chunk);
    void reads(const Place& place, std::uint32_t count);
    void writes(const Place& place, std::uint32_t count);
    void need(std::int32_t op);
    void emit(Op op);
    void emit_by_blocks(Op op);
    template <class Change>
    void each_run(const Place& place, std::uint32_t count, Change&& change);

    Schedule schedule_;
    Runs runs_[kBuffers];
    std::vector<std::int32_t> needed_;
    std::vector<std::int32_t> awaited_;
    std::vector<std::int32_t> held_for_;
    std::uint8_t phase_ = 0;
};

}  // namespace beeline::coll::plan
