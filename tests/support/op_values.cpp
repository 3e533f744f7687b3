// SPDX-License-Identifier: BSD-3-Clause
// Special values by type, and their pairs.
#include "tests/support/op_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace beeline::test {
namespace {

using coll::kernel::Type;

std::uint64_t next(std::uint64_t& state) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return state >> 31 ^ state << 11;
}

template <class T>
Bytes bytes_of(T value) {
    Bytes bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}
template <>
Bytes bytes_of(long double value) {
    Bytes bytes(sizeof value);
    std::memcpy(bytes.data(), &value, 10);
    return bytes;
}

template <class T>
std::vector<Bytes> floating(bool ordered) {
    using Limits = std::numeric_limits<T>;
    std::vector<Bytes> values;
    for (const T magnitude :
         {T(0), Limits::denorm_min(), Limits::min(), T(1), T(1.5), T(3), T(7) / 3, Limits::max(),
          Limits::infinity(), std::sqrt(Limits::max()) * 2}) {
        values.push_back(bytes_of(magnitude));
        values.push_back(bytes_of(-magnitude));
    }
    const T nan = Limits::quiet_NaN();
    values.push_back(bytes_of(nan));
    values.push_back(bytes_of(std::copysign(nan, T(-1))));
    if (ordered) {
        values.push_back(values.back());
        values.back()[0] ^= 0x55;  // another payload
    }
    return values;
}

/// Of 16 bytes, both halves alike.
std::vector<Bytes> words(std::size_t size) {
    std::vector<Bytes> values;
    const std::size_t width = std::min(size, sizeof(std::uint64_t));
    const std::uint64_t top = std::uint64_t{1} << (8 * width - 1);
    for (const std::uint64_t word :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{5},
          std::uint64_t{0x10}, std::uint64_t{0x100}, top, top - 1, top + 1, ~std::uint64_t{0},
          ~std::uint64_t{1}, std::uint64_t{0x5555555555555555U},
          std::uint64_t{0xaaaaaaaaaaaaaaaaU}}) {
        Bytes bytes(size);
        for (std::size_t at = 0; at < size; at += width) {
            std::memcpy(bytes.data() + at, &word, width);
        }
        values.push_back(bytes);
    }
    return values;
}

/// Every first with every second, the second at `offset`, in `size` bytes whose gaps tell where
/// they are from.
std::vector<Bytes> combine(const std::vector<Bytes>& firsts, const std::vector<Bytes>& seconds,
                           std::size_t offset, std::size_t size) {
    std::vector<Bytes> values;
    for (const Bytes& first : firsts) {
        for (const Bytes& second : seconds) {
            Bytes value(size, static_cast<unsigned char>(values.size()));
            std::copy(first.begin(), first.end(), value.begin());
            std::copy(second.begin(), second.end(),
                      value.begin() + static_cast<std::ptrdiff_t>(offset));
            values.push_back(std::move(value));
        }
    }
    return values;
}

std::vector<Bytes> indices() {
    return {bytes_of(std::int32_t{0}), bytes_of(std::int32_t{7}), bytes_of(std::int32_t{-1})};
}

std::vector<Bytes> special(Type type) {
    switch (type) {
        case Type::kF32:
            return floating<float>(true);
        case Type::kF64:
            return floating<double>(true);
        case Type::kF80:
            return floating<long double>(true);
        case Type::kComplexF32:
            return combine(floating<float>(false), floating<float>(false), 4, 8);
        case Type::kComplexF64:
            return combine(floating<double>(false), floating<double>(false), 8, 16);
        case Type::kComplexF80:
            return combine(floating<long double>(false), floating<long double>(false), 16, 32);
        case Type::kF32I32:
            return combine(floating<float>(true), indices(), 4, 8);
        case Type::kF64I32:
            return combine(floating<double>(true), indices(), 8, 16);
        case Type::kF80I32:
            return combine(floating<long double>(true), indices(), 16, 32);
        case Type::kI64I32:
            return combine(words(8), indices(), 8, 16);
        case Type::kI32I32:
            return combine(words(4), indices(), 4, 8);
        case Type::kI16I32:
            return combine(words(2), indices(), 4, 8);
        case Type::kF32F32:
            return combine(floating<float>(true), floating<float>(true), 4, 8);
        case Type::kF64F64:
            return combine(floating<double>(true), floating<double>(true), 8, 16);
        case Type::kBool:
            return {{0}, {1}};  // C leaves others undefined
        default:
            return words(coll::kernel::size_of(type));
    }
}

/// Whether any bits are a value whose treatment is defined.
bool any_bits(Type type) {
    return type != Type::kBool && !coll::kernel::is_host_only(type);
}

void append(Bytes& to, const Bytes& value) {
    to.insert(to.end(), value.begin(), value.end());
}

/// Every value of one or two bytes against each of `others`, on both sides.
void exhaust(std::size_t size, const std::vector<Bytes>& others, Bytes& left, Bytes& right) {
    for (std::uint32_t word = 0; word < 1U << 8 * size; ++word) {
        Bytes value(size);
        std::memcpy(value.data(), &word, size);
        for (const Bytes& other : others) {
            append(left, value);
            append(right, other);
            append(left, other);
            append(right, value);
        }
    }
}

}  // namespace

void operands(Type type, Bytes& left, Bytes& right) {
    const std::size_t size = coll::kernel::size_of(type);
    std::vector<Bytes> values = special(type);
    if (size == 1 && any_bits(type)) {
        values.clear();
        for (unsigned value = 0; value < 256; ++value) {
            values.push_back({static_cast<unsigned char>(value)});
        }
    }
    for (const Bytes& a : values) {
        for (const Bytes& b : values) {
            append(left, a);
            append(right, b);
        }
    }
    if (size == 2) {
        exhaust(size, values, left, right);
    }
    if (any_bits(type)) {
        std::uint64_t state = 0x1234;
        for (int i = 0; i < 20000; ++i) {
            Bytes a(size);
            for (unsigned char& byte : a) {
                byte = static_cast<unsigned char>(next(state) >> 13);
            }
            Bytes b = a;  // every fourth pair ties
            for (std::size_t k = 0; i % 4 != 0 && k < size; ++k) {
                b[k] = static_cast<unsigned char>(next(state) >> 13);
            }
            append(left, a);
            append(right, b);
        }
    }
}

}  // namespace beeline::test
