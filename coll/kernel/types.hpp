// SPDX-License-Identifier: BSD-3-Clause
// The machine types and operations that reductions know, and which pairs make sense.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace beeline::coll::kernel {

enum class Type : std::uint8_t { kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64, kF32, kF64 };
inline constexpr std::size_t kTypes = 10;

enum class Op : std::uint8_t {
    kSum,
    kProd,
    kMin,
    kMax,
    kBand,
    kBor,
    kBxor,
    kLand,
    kLor,
    kLxor,
};
inline constexpr std::size_t kOps = 10;

/// Every type and operation, for loops over all.
inline constexpr std::array<Type, kTypes> kAllTypes = {
    Type::kI8,  Type::kU8,  Type::kI16, Type::kU16, Type::kI32,
    Type::kU32, Type::kI64, Type::kU64, Type::kF32, Type::kF64};
inline constexpr std::array<Op, kOps> kAllOps = {Op::kSum,  Op::kProd, Op::kMin,  Op::kMax,
                                                 Op::kBand, Op::kBor,  Op::kBxor, Op::kLand,
                                                 Op::kLor,  Op::kLxor};

/// Bytes of one element.
constexpr std::size_t size_of(Type type) noexcept {
    switch (type) {
        case Type::kI8:
        case Type::kU8:
            return 1;
        case Type::kI16:
        case Type::kU16:
            return 2;
        case Type::kI32:
        case Type::kU32:
        case Type::kF32:
            return 4;
        case Type::kI64:
        case Type::kU64:
        case Type::kF64:
            return 8;
    }
    return 0;
}

constexpr bool is_floating(Type type) noexcept {
    return type == Type::kF32 || type == Type::kF64;
}

/// Bitwise and logical operations are for integers, as MPI says.
constexpr bool supported(Type type, Op op) noexcept {
    switch (op) {
        case Op::kSum:
        case Op::kProd:
        case Op::kMin:
        case Op::kMax:
            return true;
        case Op::kBand:
        case Op::kBor:
        case Op::kBxor:
        case Op::kLand:
        case Op::kLor:
        case Op::kLxor:
            return !is_floating(type);
    }
    return false;
}

/// The type's and the operation's short names: "f32", "sum".
const char* to_string(Type type) noexcept;
const char* to_string(Op op) noexcept;

/// The kernel that reduces this type with this operation, for example "reduce_sum_f32"; null when
/// not supported. Where the sign makes no difference, a signed type shares the unsigned one's
/// kernel. Parameters of every kernel: (const void* left, const void* right, void* out, size_t
/// elements).
const char* kernel_name(Type type, Op op) noexcept;

/// Kernels are numbered 0 .. kKernels-1; -1 when the pair is not supported.
inline constexpr std::size_t kKernels = 56;
int kernel_index(Type type, Op op) noexcept;

}  // namespace beeline::coll::kernel
