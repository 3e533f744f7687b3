// SPDX-License-Identifier: BSD-3-Clause
// Small whole numbers for sums, powers of two near one for products, and pairs that often tie.
#include "tests/world/elements.hpp"

#include <cstdint>
#include <cstring>

namespace beeline::world {
namespace {

using coll::kernel::Op;
using coll::kernel::Type;
using coll::kernel::TypeClass;

template <class T>
void put(void* at, std::size_t offset, T value) {
    std::memcpy(static_cast<char*>(at) + offset, &value, sizeof value);
}

std::size_t mix(std::size_t index, int rank) {
    return index * 7 + static_cast<std::size_t>(rank) * 13;
}

double floating_value(Op op, std::size_t mixed) {
    if (op == Op::kProd) {
        constexpr double kFactors[] = {1, 2, -1, 0.5};
        return kFactors[mixed % 4];
    }
    return static_cast<double>(mixed % 1009) - 500;
}

std::uint64_t integer_value(std::size_t index, int rank) {
    const std::uint64_t mixed =
        (index * 2654435761U + static_cast<std::uint64_t>(rank) * 40503U) * 0x9E3779B97F4A7C15U;
    return mixed % 5 == 0 ? 0 : mixed ^ mixed >> 31;
}

/// 0, 1, -1 (2 for a product's 0) in the format whose 1 and 2 are given.
std::uint16_t small_value(Op op, std::size_t mixed, std::uint16_t one, std::uint16_t two,
                          std::uint16_t sign) {
    switch (mixed % 3) {
        case 0:
            return op == Op::kProd ? two : std::uint16_t{0};
        case 1:
            return one;
        default:
            return static_cast<std::uint16_t>(one | sign);
    }
}

template <class T>
void put_complex(void* at, Op op, std::size_t mixed) {
    if (op == Op::kProd) {
        // Multiples of the powers of 1+2i: no part of any of them is zero.
        const T factor = static_cast<T>(floating_value(op, mixed));
        put(at, 0, factor);
        put(at, sizeof(T), 2 * factor);
        return;
    }
    put(at, 0, static_cast<T>(floating_value(op, mixed)));
    put(at, sizeof(T), static_cast<T>(floating_value(op, mixed * 5)));
}

template <class V, class I>
void put_pair(void* at, std::size_t index_offset, std::size_t mixed, int rank) {
    put(at, 0, static_cast<V>(static_cast<int>(mixed % 4) - 2));
    put(at, index_offset, static_cast<I>((rank * 5 + 3) % 8));
}

}  // namespace

void write_element(Type type, Op op, std::size_t index, int rank, void* at) {
    const std::size_t mixed = mix(index, rank);
    const std::uint64_t word = integer_value(index, rank);
    std::memset(at, 0, coll::kernel::size_of(type));
    switch (type) {
        case Type::kF32:
            return put(at, 0, static_cast<float>(floating_value(op, mixed)));
        case Type::kF64:
            return put(at, 0, floating_value(op, mixed));
        case Type::kF16:
            return put(at, 0, small_value(op, mixed, 0x3c00, 0x4000, 0x8000));
        case Type::kBf16:
            return put(at, 0, small_value(op, mixed, 0x3f80, 0x4000, 0x8000));
        case Type::kE4m3:
            return put(at, 0, static_cast<std::uint8_t>(small_value(op, mixed, 0x38, 0x40, 0x80)));
        case Type::kE5m2:
            return put(at, 0, static_cast<std::uint8_t>(small_value(op, mixed, 0x3c, 0x40, 0x80)));
        case Type::kBool:
            return put(at, 0, static_cast<std::uint8_t>(word & 1U));
        case Type::kComplexF32:
            return put_complex<float>(at, op, mixed);
        case Type::kComplexF64:
            return put_complex<double>(at, op, mixed);
        case Type::kF32I32:
            return put_pair<float, std::int32_t>(at, 4, mixed, rank);
        case Type::kF64I32:
            return put_pair<double, std::int32_t>(at, 8, mixed, rank);
        case Type::kI64I32:
            return put_pair<std::int64_t, std::int32_t>(at, 8, mixed, rank);
        case Type::kI32I32:
            return put_pair<std::int32_t, std::int32_t>(at, 4, mixed, rank);
        case Type::kI16I32:
            return put_pair<std::int16_t, std::int32_t>(at, 4, mixed, rank);
        case Type::kF32F32:
            return put_pair<float, float>(at, 4, mixed, rank);
        case Type::kF64F64:
            return put_pair<double, double>(at, 8, mixed, rank);
        case Type::kF80:
        case Type::kComplexF80:
        case Type::kF80I32: {
            const long double value = floating_value(op, mixed);
            std::memcpy(at, &value, 10);
            if (type == Type::kF80I32) {
                put(at, 16, std::int32_t{rank});
            } else if (type == Type::kComplexF80) {
                const long double twice = 2 * value;
                std::memcpy(static_cast<char*>(at) + 16, &twice, 10);
            }
            return;
        }
        case Type::kF128: {
            // The upper half of binary128 for 0, 1 and -1.
            constexpr std::uint64_t kOne = 0x3fff000000000000U;
            const std::uint64_t upper[] = {op == Op::kProd ? kOne : 0, kOne, kOne | 1ULL << 63};
            return put(at, 8, upper[mixed % 3]);
        }
        default:
            std::memcpy(at, &word, coll::kernel::size_of(type));
    }
}

}  // namespace beeline::world
