// SPDX-License-Identifier: BSD-3-Clause
// The machine types and operations that reductions know, and which pairs make sense.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace beeline::coll::kernel {

/// Element types. Integers, floating point (f80: x87's long double; f128: binary128; f16, bf16,
/// e4m3, e5m2: of two bytes and one), complex numbers, and pairs of a value and an index.
enum class Type : std::uint8_t {
#define BEELINE_TYPE(Name, name, T, type_class) k##Name,
#include "coll/kernel/types.def"
#undef BEELINE_TYPE
};

/// What a type is, which decides its operations.
enum class TypeClass : std::uint8_t { kSigned, kUnsigned, kLogical, kFloating, kComplex, kPair };

/// Every type, for loops over all.
inline constexpr std::array kAllTypes = {
#define BEELINE_TYPE(Name, name, T, type_class) Type::k##Name,
#include "coll/kernel/types.def"
#undef BEELINE_TYPE
};
inline constexpr std::size_t kTypes = kAllTypes.size();

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
    kMinloc,
    kMaxloc,
    kReplace,  ///< the left operand: what MPI_Accumulate brings
    kNoOp,     ///< the right operand: what is there already
};

/// Every operation that combines, for loops over all; kReplace and kNoOp are copies.
inline constexpr std::array kAllOps = {Op::kSum,  Op::kProd, Op::kMin,    Op::kMax,
                                       Op::kBand, Op::kBor,  Op::kBxor,   Op::kLand,
                                       Op::kLor,  Op::kLxor, Op::kMinloc, Op::kMaxloc};
inline constexpr std::size_t kOps = kAllOps.size();

constexpr bool is_copy(Op op) noexcept {
    return op == Op::kReplace || op == Op::kNoOp;
}

/// The most inputs that one launch or call combines.
inline constexpr std::size_t kMostInputs = 16;

constexpr TypeClass class_of(Type type) noexcept {
    constexpr std::array kClasses = {
#define BEELINE_TYPE(Name, name, T, type_class) TypeClass::type_class,
#include "coll/kernel/types.def"
#undef BEELINE_TYPE
    };
    return kClasses[static_cast<std::size_t>(type)];
}

/// Bytes from one element to the next, gaps included (as in C: a pair of double and int takes 16).
constexpr std::size_t size_of(Type type) noexcept {
    switch (type) {
        case Type::kI8:
        case Type::kU8:
        case Type::kBool:
        case Type::kE4m3:
        case Type::kE5m2:
            return 1;
        case Type::kI16:
        case Type::kU16:
        case Type::kF16:
        case Type::kBf16:
            return 2;
        case Type::kI32:
        case Type::kU32:
        case Type::kF32:
            return 4;
        case Type::kI64:
        case Type::kU64:
        case Type::kF64:
        case Type::kComplexF32:
        case Type::kF32I32:
        case Type::kI32I32:
        case Type::kI16I32:
        case Type::kF32F32:
            return 8;
        case Type::kComplexF64:
        case Type::kF64I32:
        case Type::kI64I32:
        case Type::kF64F64:
        case Type::kF80:
        case Type::kF128:
            return 16;
        case Type::kComplexF80:
        case Type::kF80I32:
            return 32;
    }
    return 0;
}

/// Types without arithmetic on a GPU are reduced on the CPU.
constexpr bool is_host_only(Type type) noexcept {
    return type >= Type::kF80;
}

constexpr bool is_integer(Type type) noexcept {
    return class_of(type) == TypeClass::kSigned || class_of(type) == TypeClass::kUnsigned;
}

/// Which operations a type has, as MPI says: bitwise ones are for integers, logical ones for
/// integers and truth values, locations for pairs; complex numbers have no order.
constexpr bool supported(Type type, Op op) noexcept {
    const TypeClass is = class_of(type);
    switch (op) {
        case Op::kSum:
        case Op::kProd:
            return is != TypeClass::kPair && is != TypeClass::kLogical;
        case Op::kMin:
        case Op::kMax:
            return is_integer(type) || is == TypeClass::kFloating;
        case Op::kBand:
        case Op::kBor:
        case Op::kBxor:
            return is_integer(type);
        case Op::kLand:
        case Op::kLor:
        case Op::kLxor:
            return is_integer(type) || is == TypeClass::kLogical;
        case Op::kMinloc:
        case Op::kMaxloc:
            return is == TypeClass::kPair;
        case Op::kReplace:
        case Op::kNoOp:
            return true;
    }
    return false;
}

/// The type's and the operation's short names: "f32", "sum".
const char* to_string(Type type) noexcept;
const char* to_string(Op op) noexcept;

/// Kernels of one family are compiled into one image, so that a program loads what it uses only.
enum class Family : std::uint8_t { kInteger, kLogical, kFloating, kSmall, kPair };
inline constexpr std::size_t kFamilies = 5;

/// Kernels are numbered 0 .. kKernels-1; -1 where there is none: the pair is not supported, the
/// type is for the host only, or the operation is a copy.
inline constexpr std::size_t kKernels = 90;
int kernel_index(Type type, Op op) noexcept;

/// The kernel that reduces this type with this operation, for example "reduce_sum_f32"; null when
/// there is none. Where the sign makes no difference, a signed type shares the unsigned one's
/// kernel, and truth values that of bytes. Parameters of every kernel: (Inputs inputs, unsigned n,
/// void* out, size_t elements), Inputs being kMostInputs addresses, of which the first n count.
const char* kernel_name(Type type, Op op) noexcept;

/// The image that has the kernel of this number.
Family family_of(int index) noexcept;

}  // namespace beeline::coll::kernel
