// SPDX-License-Identifier: BSD-3-Clause
// The part of the proof that needs one rank only: bounds, dependencies, and unordered overlaps.
#include <array>
#include <limits>

#include "coll/plan/validate.hpp"

namespace beeline::coll::plan {
namespace {

/// Bounds that keep every sum of counts below in range.
constexpr std::uint64_t kMostChunks = std::uint64_t{1} << 30;

struct Access {
    Place place;
    bool write = false;
};

/// The places `op` touches; `number` says how many entries are used.
struct Accesses {
    std::array<Access, 3> list;
    int number = 0;
    void add(const Place& place, bool write) {
        list[static_cast<std::size_t>(number++)] = {place, write};
    }
    std::span<const Access> span() const { return {list.data(), static_cast<std::size_t>(number)}; }
};

Accesses accesses(const Op& op) {
    Accesses result;
    if (op.kind == OpKind::kSend || op.kind == OpKind::kCopy || op.kind == OpKind::kReduce) {
        result.add(op.source, false);
    }
    if (op.kind == OpKind::kReduce || op.kind == OpKind::kReceiveReduce) {
        result.add(op.second, false);
    }
    if (op.kind != OpKind::kSend) {
        result.add(op.target, true);
    }
    return result;
}

bool overlap(const Place& one, const Place& two, std::uint32_t count) {
    return one.buffer == two.buffer && one.chunk < two.chunk + count &&
           two.chunk < one.chunk + count;
}

/// The chunks at `place` must be one run of memory whose length is known.
const char* check_run(const Schedule& schedule, const Place& place, std::uint32_t count) {
    if (place.chunk > schedule.chunks(place.buffer) ||
        count > schedule.chunks(place.buffer) - place.chunk) {
        return "leaves its buffer";
    }
    const std::uint32_t frame = schedule.frame_chunks();
    if (place.buffer == Buffer::kSlot) {
        if (place.like >= frame || count > frame - place.like) {
            return "is like no chunk of the frame";
        }
        if (count > 1 && !(schedule.cut == Cut::kEqual && schedule.slices == 1)) {
            return "spans slots of unequal chunks";
        }
    }
    if (place.buffer == Buffer::kMirror && count > 0 &&
        place.chunk / frame != (place.chunk + count - 1) / frame) {
        return "spans two mirrors";
    }
    if (schedule.cut == Cut::kScattered) {
        if (place.buffer == Buffer::kMirror) {
            return "mirrors blocks that lie anywhere";
        }
        const std::uint32_t slices = schedule.slices;
        if (count > 0 && place.chunk / slices != (place.chunk + count - 1) / slices) {
            return "spans blocks that lie anywhere";
        }
    }
    return nullptr;
}

const char* check_op(const Schedule& schedule, const Op& op, std::size_t index) {
    if (static_cast<int>(op.kind) >= kOpKinds) {
        return "has no such kind";
    }
    if (std::uint64_t{op.first_after} + op.afters > schedule.dependencies.size()) {
        return "has dependencies beyond the list";
    }
    for (const std::int32_t before : schedule.after(op)) {
        if (before < 0 || static_cast<std::size_t>(before) >= index) {
            return "depends on an op that is not earlier";
        }
    }
    if (is_message(op.kind)) {
        if (op.peer < 0 || op.peer >= schedule.size || op.peer == schedule.rank) {
            return "has no such peer";
        }
        if (op.channel < 0) {
            return "has no such channel";
        }
    }
    if (op.count == 0) {
        return op.kind == OpKind::kSend || op.kind == OpKind::kReceive ? nullptr : "is empty";
    }
    const Accesses touched = accesses(op);
    for (const Access& access : touched.span()) {
        if (static_cast<int>(access.place.buffer) >= kBuffers) {
            return "has no such buffer";
        }
        if (const char* problem = check_run(schedule, access.place, op.count)) {
            return problem;
        }
        if (access.write && access.place.buffer == Buffer::kInput) {
            return "writes the input";
        }
        if (op.kind != OpKind::kSend && !access.write && access.place != op.target &&
            overlap(access.place, op.target, op.count)) {
            return "overlaps its operand partly";
        }
    }
    return nullptr;
}

const char* check_shape(const Schedule& schedule) {
    if (schedule.size < 1 || schedule.rank < 0 || schedule.rank >= schedule.size ||
        schedule.root < 0 || schedule.root >= schedule.size) {
        return "has no such rank";
    }
    if (schedule.slices < 1 || schedule.frame_blocks < 1) {
        return "has no chunks";
    }
    if (static_cast<int>(schedule.collective) >= kCollectives ||
        static_cast<int>(schedule.cut) > static_cast<int>(Cut::kScattered)) {
        return "is for no such collective";
    }
    const std::uint64_t frame = std::uint64_t{schedule.frame_blocks} * schedule.slices;
    const std::uint64_t most[] = {frame, frame * schedule.mirrors, schedule.slots,
                                  std::uint64_t{schedule.input_blocks} * schedule.slices,
                                  std::uint64_t{schedule.output_blocks} * schedule.slices};
    for (const std::uint64_t chunks : most) {
        if (chunks > kMostChunks) {
            return "has too many chunks";
        }
    }
    if (schedule.ops.size() >= kMostChunks) {
        return "has too many ops";
    }
    return nullptr;
}

/// Follows a schedule in list order and finds accesses that nothing orders.
class Races {
 public:
    explicit Races(const Schedule& schedule)
        : schedule_(schedule), visited_(schedule.ops.size(), kNone) {
        std::size_t chunks = 0;
        for (int buffer = 0; buffer < kBuffers; ++buffer) {
            base_[buffer] = chunks;
            chunks += schedule.chunks(static_cast<Buffer>(buffer));
        }
        written_.assign(chunks, kNone);
        read_.assign(chunks, kNone);
    }

    /// The earlier op that `index` races with, or kNone.
    std::int32_t follow(std::int32_t index) {
        const Op& op = schedule_.ops[static_cast<std::size_t>(index)];
        const Accesses touched = accesses(op);
        for (const Access& access : touched.span()) {
            for (std::uint32_t chunk = 0; chunk < op.count; ++chunk) {
                const std::int32_t other = meets(index, access, chunk);
                if (other != kNone) {
                    return other;
                }
            }
        }
        for (const Access& access : touched.span()) {
            for (std::uint32_t chunk = 0; chunk < op.count; ++chunk) {
                note(index, access, chunk);
            }
        }
        return kNone;
    }

 private:
    struct Reader {
        std::int32_t op = kNone;
        std::int32_t next = kNone;
    };

    std::size_t cell(const Access& access, std::uint32_t chunk) const {
        return base_[static_cast<int>(access.place.buffer)] + access.place.chunk + chunk;
    }

    std::int32_t meets(std::int32_t index, const Access& access, std::uint32_t chunk) {
        const std::size_t at = cell(access, chunk);
        if (written_[at] != kNone && !is_after(index, written_[at])) {
            return written_[at];
        }
        if (access.write) {
            for (std::int32_t link = read_[at]; link != kNone;
                 link = readers_[static_cast<std::size_t>(link)].next) {
                const std::int32_t reader = readers_[static_cast<std::size_t>(link)].op;
                if (!is_after(index, reader)) {
                    return reader;
                }
            }
        }
        return kNone;
    }

    void note(std::int32_t index, const Access& access, std::uint32_t chunk) {
        const std::size_t at = cell(access, chunk);
        if (access.write) {
            written_[at] = index;
            read_[at] = kNone;
        } else if (access.place.buffer != Buffer::kInput) {  // which nobody writes
            readers_.push_back({index, read_[at]});
            read_[at] = static_cast<std::int32_t>(readers_.size() - 1);
        }
    }

    /// Whether `later` starts after `earlier` is complete: a chain of dependencies leads back.
    bool is_after(std::int32_t later, std::int32_t earlier) {
        if (earlier == known_earlier_ && later == known_later_) {
            return true;
        }
        stack_.assign(1, later);
        ++round_;
        while (!stack_.empty()) {
            const std::int32_t at = stack_.back();
            stack_.pop_back();
            for (const std::int32_t before :
                 schedule_.after(schedule_.ops[static_cast<std::size_t>(at)])) {
                if (before == earlier) {
                    known_later_ = later;
                    known_earlier_ = earlier;
                    return true;
                }
                std::int32_t& seen = visited_[static_cast<std::size_t>(before)];
                if (before > earlier && seen != round_) {
                    seen = round_;
                    stack_.push_back(before);
                }
            }
        }
        return false;
    }

    const Schedule& schedule_;
    std::size_t base_[kBuffers] = {};
    std::vector<std::int32_t> written_;  ///< by cell: the last op that wrote it
    std::vector<std::int32_t> read_;     ///< by cell: the first of readers_ since
    std::vector<Reader> readers_;
    std::vector<std::int32_t> visited_;
    std::vector<std::int32_t> stack_;
    std::int32_t round_ = 0;
    std::int32_t known_later_ = kNone;
    std::int32_t known_earlier_ = kNone;
};

std::string describe(const Schedule& schedule, std::size_t index, const std::string& what) {
    return "rank " + std::to_string(schedule.rank) + ", op " + std::to_string(index) + ' ' + what;
}

}  // namespace

std::string validate_local(const Schedule& schedule) {
    if (const char* problem = check_shape(schedule)) {
        return "rank " + std::to_string(schedule.rank) + "'s schedule " + problem;
    }
    Races races(schedule);
    for (std::size_t index = 0; index < schedule.ops.size(); ++index) {
        if (const char* problem = check_op(schedule, schedule.ops[index], index)) {
            return describe(schedule, index, problem);
        }
        const std::int32_t other = races.follow(static_cast<std::int32_t>(index));
        if (other != kNone) {
            return describe(schedule, index,
                            "touches memory of op " + std::to_string(other) +
                                " without being ordered after it");
        }
    }
    return {};
}

}  // namespace beeline::coll::plan
