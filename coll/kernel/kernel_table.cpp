// SPDX-License-Identifier: BSD-3-Clause
// Names of types, operations and kernels.
#include <string_view>

#include "coll/kernel/functors.hpp"
#include "coll/kernel/types.hpp"

namespace beeline::coll::kernel {
namespace {

static_assert(kInputs == kMostInputs);

struct Entry {
    std::string_view op;
    std::string_view type;
    const char* name;
    Family family;
};

#define BEELINE_ENTRY_OF(family, op, type) {#op, #type, "reduce_" #op "_" #type, Family::family},
#define BEELINE_INTEGER(op, type, Functor, T) BEELINE_ENTRY_OF(kInteger, op, type)
#define BEELINE_LOGICAL(op, type, Functor, T) BEELINE_ENTRY_OF(kLogical, op, type)
#define BEELINE_FLOATING(op, type, Functor, T) BEELINE_ENTRY_OF(kFloating, op, type)
#define BEELINE_SMALL(op, type, Functor, T) BEELINE_ENTRY_OF(kSmall, op, type)
#define BEELINE_PAIR(op, type, Functor, T) BEELINE_ENTRY_OF(kPair, op, type)
constexpr Entry kEntries[] = {BEELINE_FAMILY_INTEGER(BEELINE_INTEGER) BEELINE_FAMILY_LOGICAL(
    BEELINE_LOGICAL) BEELINE_FAMILY_FLOATING(BEELINE_FLOATING) BEELINE_FAMILY_SMALL(BEELINE_SMALL)
                                  BEELINE_FAMILY_PAIR(BEELINE_PAIR)};
static_assert(sizeof kEntries / sizeof kEntries[0] == kKernels);

constexpr const char* kTypeNames[kTypes] = {
#define BEELINE_TYPE(Name, name, T, type_class) #name,
#include "coll/kernel/types.def"
#undef BEELINE_TYPE
};
constexpr const char* kOpNames[] = {"sum",  "prod", "min",  "max",    "band",   "bor",     "bxor",
                                    "land", "lor",  "lxor", "minloc", "maxloc", "replace", "no_op"};

/// The type whose kernel serves `type`.
constexpr Type shared(Type type, Op op) noexcept {
    if (type == Type::kBool) {
        return Type::kU8;
    }
    const bool sign_matters = op == Op::kMin || op == Op::kMax;
    return class_of(type) == TypeClass::kSigned && !sign_matters
               ? static_cast<Type>(static_cast<std::uint8_t>(type) | 1U)
               : type;
}
static_assert(shared(Type::kI32, Op::kSum) == Type::kU32);

constexpr int find(Type type, Op op) noexcept {
    if (!supported(type, op) || is_host_only(type)) {
        return -1;
    }
    for (std::size_t index = 0; index < kKernels; ++index) {
        if (kEntries[index].op == kOpNames[static_cast<std::size_t>(op)] &&
            kEntries[index].type == kTypeNames[static_cast<std::size_t>(shared(type, op))]) {
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
    return is_copy(op) ? -1 : kTable[static_cast<std::size_t>(type)][static_cast<std::size_t>(op)];
}

const char* kernel_name(Type type, Op op) noexcept {
    const int index = kernel_index(type, op);
    return index < 0 ? nullptr : kEntries[index].name;
}

Family family_of(int index) noexcept {
    return kEntries[index].family;
}

}  // namespace beeline::coll::kernel
