// SPDX-License-Identifier: BSD-3-Clause
// Names of types, operations and kernels.
#include <string_view>

#include "coll/kernel/types.hpp"

#define BEELINE_DEVICE inline
#define BEELINE_INDEPENDENT
#include <cstring>
#include "coll/kernel/reduce.inc"

namespace beeline::coll::kernel {
namespace {

struct Entry {
    std::string_view op;
    std::string_view type;
    const char* name;
};

#define BEELINE_ENTRY(op, type, Functor, T) {#op, #type, "reduce_" #op "_" #type},
constexpr Entry kEntries[] = {BEELINE_REDUCE_KERNELS(BEELINE_ENTRY)};
#undef BEELINE_ENTRY
static_assert(sizeof kEntries / sizeof kEntries[0] == kKernels);

constexpr const char* kTypeNames[kTypes] = {"i8",  "u8",  "i16", "u16", "i32",
                                            "u32", "i64", "u64", "f32", "f64"};
constexpr const char* kOpNames[kOps] = {"sum", "prod", "min",  "max", "band",
                                        "bor", "bxor", "land", "lor", "lxor"};

constexpr Type unsigned_of(Type type) noexcept {
    const auto index = static_cast<std::uint8_t>(type);
    return is_floating(type) ? type : static_cast<Type>(index | 1U);
}
static_assert(unsigned_of(Type::kI32) == Type::kU32 && unsigned_of(Type::kU8) == Type::kU8);

constexpr int find(Type type, Op op) noexcept {
    if (!supported(type, op)) {
        return -1;
    }
    const bool sign_matters = op == Op::kMin || op == Op::kMax;
    const Type shared = sign_matters ? type : unsigned_of(type);
    for (std::size_t index = 0; index < kKernels; ++index) {
        if (kEntries[index].op == kOpNames[static_cast<std::size_t>(op)] &&
            kEntries[index].type == kTypeNames[static_cast<std::size_t>(shared)]) {
            return static_cast<int>(index);
        }
    }
    return -1;
}

using Table = std::array<std::array<std::int8_t, kOps>, kTypes>;
constexpr Table make_table() noexcept {
    Table table{};
    for (const Type type : kAllTypes) {
        for (const Op op : kAllOps) {
            table[static_cast<std::size_t>(type)][static_cast<std::size_t>(op)] =
                static_cast<std::int8_t>(find(type, op));
        }
    }
    return table;
}
constexpr Table kTable = make_table();

}  // namespace

const char* to_string(Type type) noexcept {
    return kTypeNames[static_cast<std::size_t>(type)];
}

const char* to_string(Op op) noexcept {
    return kOpNames[static_cast<std::size_t>(op)];
}

int kernel_index(Type type, Op op) noexcept {
    return kTable[static_cast<std::size_t>(type)][static_cast<std::size_t>(op)];
}

const char* kernel_name(Type type, Op op) noexcept {
    const int index = kernel_index(type, op);
    return index < 0 ? nullptr : kEntries[index].name;
}

}  // namespace beeline::coll::kernel
