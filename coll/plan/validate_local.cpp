// SPDX-License-Identifier: BSD-3-Clause
// The part of the proof that needs one rank only: bounds, dependencies, and unordered overlaps.
#include "coll/plan/validate_local.hpp"

#include <array>

namespace beeline::coll::plan {
namespace {

struct Access {
    Place place;
    bool write = false;
};

/// The places `op` touches; `count` says how many entries are used.
struct Accesses {
    std::array<Access, 3> list;
    int count = 0;
    void add(const Place& place, bool write) {
        list[static_cast<std::size_t>(count++)] = {place, write};
    }
    std::span<const Access> span() const { return {list.data(), static_cast<std::size_t>(count)}; }
};

Accesses accesses(const Op& op) {
    Accesses result;
    switch (op.kind) {
        case OpKind::kSend:
            result.add(op.source, false);
            break;
        case OpKind::kReceive:
            result.add(op.target, true);
            break;
        case OpKind::kCopy:
            result.add(op.source, false);
            result.add(op.target, true);
            break;
        case OpKind::kReduce:
            result.add(op.source, false);
            result.add(op.second, false);
            result.add(op.target, true);
            break;
    }
    return result;
}

bool overlap(const Place& one, std::size_t one_count, const Place& two, std::size_t two_count) {
    return one.buffer == two.buffer && one.offset < two.offset + two_count &&
           two.offset < one.offset + one_count;
}

bool conflict(const Accesses& one, std::size_t one_count, const Accesses& two,
              std::size_t two_count) {
    for (const Access& a : one.span()) {
        for (const Access& b : two.span()) {
            if ((a.write || b.write) && overlap(a.place, one_count, b.place, two_count)) {
                return true;
            }
        }
    }
    return false;
}

std::string check_op(const Schedule& schedule, const Op& op, std::size_t index) {
    for (const Access& access : accesses(op).span()) {
        const std::size_t end = buffer_elements(schedule, access.place.buffer);
        if (access.place.offset > end || op.count > end - access.place.offset) {
            return "leaves its buffer";
        }
        if (access.write && access.place.buffer == Buffer::kInput) {
            return "writes the input";
        }
    }
    if (op.count == 0) {
        return "is empty";
    }
    if (op.kind == OpKind::kSend || op.kind == OpKind::kReceive) {
        if (op.peer < 0 || op.peer >= schedule.size || op.peer == schedule.rank) {
            return "has no such peer";
        }
    } else {
        const Place second = op.kind == OpKind::kReduce ? op.second : op.source;
        for (const Place& operand : {op.source, second}) {
            if (operand != op.target && overlap(operand, op.count, op.target, op.count)) {
                return "overlaps its operand partly";
            }
        }
    }
    for (const std::int32_t before : op.after) {
        if (before != kNone && (before < 0 || static_cast<std::size_t>(before) >= index)) {
            return "depends on an op that is not earlier";
        }
    }
    return {};
}

/// ordered[i] has bit j when op i starts after op j is complete.
class Order {
 public:
    explicit Order(std::size_t ops) : words_((ops + 63) / 64), bits_(ops * words_) {}
    void put_after(std::size_t later, std::size_t earlier) {
        for (std::size_t word = 0; word < words_; ++word) {
            bits_[later * words_ + word] |= bits_[earlier * words_ + word];
        }
        bits_[later * words_ + earlier / 64] |= std::uint64_t{1} << (earlier % 64);
    }
    bool is_after(std::size_t later, std::size_t earlier) const {
        return (bits_[later * words_ + earlier / 64] >> (earlier % 64) & 1) != 0;
    }

 private:
    std::size_t words_;
    std::vector<std::uint64_t> bits_;
};

}  // namespace

std::size_t buffer_elements(const Schedule& schedule, Buffer buffer) {
    switch (buffer) {
        case Buffer::kInput:
            return schedule.in_place ? 0 : schedule.count;
        case Buffer::kOutput:
            return schedule.count;
        case Buffer::kScratch:
            return schedule.scratch;
    }
    return 0;
}

std::string describe(const Schedule& schedule, std::size_t index, const std::string& what) {
    return "rank " + std::to_string(schedule.rank) + ", op " + std::to_string(index) + " (" +
           to_string(schedule.ops[index].kind) + ") " + what;
}

Verdict validate_local(const Schedule& schedule) {
    const std::vector<Op>& ops = schedule.ops;
    Order order(ops.size());
    std::vector<Accesses> touched;
    touched.reserve(ops.size());
    for (std::size_t later = 0; later < ops.size(); ++later) {
        const std::string problem = check_op(schedule, ops[later], later);
        if (!problem.empty()) {
            return {describe(schedule, later, problem)};
        }
        for (const std::int32_t before : ops[later].after) {
            if (before != kNone) {
                order.put_after(later, static_cast<std::size_t>(before));
            }
        }
        touched.push_back(accesses(ops[later]));
        for (std::size_t earlier = 0; earlier < later; ++earlier) {
            if (conflict(touched[later], ops[later].count, touched[earlier], ops[earlier].count) &&
                !order.is_after(later, earlier)) {
                return {describe(schedule, later,
                                 "touches memory of op " + std::to_string(earlier) +
                                     " without being ordered after it")};
            }
        }
    }
    return {};
}

}  // namespace beeline::coll::plan
