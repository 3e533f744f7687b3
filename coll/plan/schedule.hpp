// SPDX-License-Identifier: BSD-3-Clause
// A collective as a value: what one rank does, on which parts of which buffers, and what must wait
// for what.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace beeline::coll::plan {

/// Buffers a schedule works on, all of the same element type. When a schedule is in place there is
/// no input: the output holds this rank's contribution at the start.
enum class Buffer : std::uint8_t { kInput, kOutput, kScratch };

enum class OpKind : std::uint8_t { kSend, kReceive, kCopy, kReduce };

constexpr const char* to_string(Buffer buffer) noexcept {
    switch (buffer) {
        case Buffer::kInput:
            return "input";
        case Buffer::kOutput:
            return "output";
        case Buffer::kScratch:
            return "scratch";
    }
    return "?";
}

constexpr const char* to_string(OpKind kind) noexcept {
    switch (kind) {
        case OpKind::kSend:
            return "send";
        case OpKind::kReceive:
            return "receive";
        case OpKind::kCopy:
            return "copy";
        case OpKind::kReduce:
            return "reduce";
    }
    return "?";
}

/// Where in a buffer, in elements.
struct Place {
    Buffer buffer = Buffer::kOutput;
    std::size_t offset = 0;
    bool operator==(const Place&) const = default;
};

/// No dependency.
constexpr std::int32_t kNone = -1;

/// One step of a rank. Fields that a kind does not name are unused.
///   send     source -> peer                       receive  peer -> target
///   copy     target = source                      reduce   target = source (op) second
/// In a reduce, `source` holds the contributions of the lower ranks. The target may be exactly one
/// of the operands, but must not overlap one partly.
struct Op {
    OpKind kind = OpKind::kCopy;
    int peer = kNone;
    int channel = 0;
    Place source;
    Place second;
    Place target;
    std::size_t count = 0;
    /// Earlier ops (indices) that must be complete before this one starts; unused entries are
    /// kNone.
    std::array<std::int32_t, 3> after = {kNone, kNone, kNone};
};

/// One rank's part of a collective.
///
/// Meaning: ops are started in list order, each when the ops it names in `after` are complete;
/// nothing else orders them. A send is complete when its source may be changed, a receive when its
/// target is filled. Messages between two ranks on one channel match in list order.
struct Schedule {
    const char* algorithm = "";
    int size = 1;
    int rank = 0;
    std::size_t count = 0;  ///< elements of the vector
    bool in_place = false;
    bool ordered =
        false;  ///< keeps the rank order of operands: right for non-commutative operations
    std::size_t scratch = 0;  ///< elements
    std::vector<Op> ops;
};

/// Adds `op` and returns its index.
inline std::int32_t append(Schedule& schedule, const Op& op) {
    schedule.ops.push_back(op);
    return static_cast<std::int32_t>(schedule.ops.size() - 1);
}

/// The schedule as text, one op a line, for people and for tests.
std::string print(const Schedule& schedule);

}  // namespace beeline::coll::plan
