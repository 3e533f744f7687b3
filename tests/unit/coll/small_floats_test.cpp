// SPDX-License-Identifier: BSD-3-Clause
// The small floating-point formats on the CPU against exact arithmetic: values by formula, results
// rounded by search among all numbers of the format.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "coll/kernel/reduce_host.hpp"

namespace beeline::coll::kernel {
namespace {

struct Format {
    Type type;
    unsigned exponent_bits;
    unsigned mantissa_bits;
    bool infinities;  ///< else the largest exponent is an ordinary one, but for one NaN
    bool saturates;
};

constexpr Format kFormats[] = {
    {Type::kF16, 5, 10, true, false},
    {Type::kBf16, 8, 7, true, false},
    {Type::kE4m3, 4, 3, false, true},
    {Type::kE5m2, 5, 2, true, true},
};

unsigned sign_bit(const Format& format) {
    return 1U << (format.exponent_bits + format.mantissa_bits);
}

double value_of(const Format& format, unsigned bits) {
    const unsigned mantissa_ones = (1U << format.mantissa_bits) - 1;
    const unsigned exponent_ones = (1U << format.exponent_bits) - 1;
    const unsigned mantissa = bits & mantissa_ones;
    const unsigned exponent = bits >> format.mantissa_bits & exponent_ones;
    const int bias = static_cast<int>(exponent_ones / 2);
    const double sign = (bits & sign_bit(format)) != 0 ? -1 : 1;
    if (exponent == exponent_ones && (format.infinities || mantissa == mantissa_ones)) {
        return format.infinities && mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                                                  : std::numeric_limits<double>::quiet_NaN();
    }
    const int power =
        static_cast<int>(std::max(exponent, 1U)) - bias - static_cast<int>(format.mantissa_bits);
    const unsigned whole = mantissa + (exponent != 0 ? mantissa_ones + 1 : 0);
    return sign * std::ldexp(static_cast<double>(whole), power);
}

/// All finite numbers of the format without sign; the index is the number's bits.
std::vector<double> magnitudes(const Format& format) {
    std::vector<double> values;
    for (unsigned bits = 0; std::isfinite(value_of(format, bits)); ++bits) {
        values.push_back(value_of(format, bits));
    }
    return values;
}

/// The bits of `exact` rounded to nearest, ties to even; 0 for NaN.
unsigned round_to(const Format& format, const std::vector<double>& numbers, double exact) {
    const unsigned sign = std::signbit(exact) ? sign_bit(format) : 0;
    const double magnitude = std::fabs(exact);
    const auto largest = static_cast<unsigned>(numbers.size() - 1);
    if (magnitude >= numbers.back()) {
        const double half_step = (numbers[largest] - numbers[largest - 1]) / 2;
        const bool too_large = magnitude >= numbers.back() + half_step;
        const bool infinite =
            std::isinf(magnitude) ? format.infinities : too_large && !format.saturates;
        return sign | (infinite ? largest + 1 : largest);
    }
    const auto above = std::upper_bound(numbers.begin(), numbers.end(), magnitude);
    const auto upper = static_cast<unsigned>(above - numbers.begin());
    const double to_lower = magnitude - numbers[upper - 1];
    const double to_upper = numbers[upper] - magnitude;
    const bool up = to_upper < to_lower || (to_upper == to_lower && upper % 2 == 0);
    return sign | (up ? upper : upper - 1);
}

unsigned reduce_one(const Format& format, Op op, unsigned left, unsigned right) {
    unsigned result = 0;
    reduce_host(format.type, op, &left, &right, &result, 1);
    return result;
}

void check(const Format& format, const std::vector<double>& numbers, unsigned left,
           unsigned right) {
    const double a = value_of(format, left);
    const double b = value_of(format, right);
    for (const Op op : {Op::kSum, Op::kProd}) {
        const unsigned result = reduce_one(format, op, left, right);
        const double exact = op == Op::kSum ? a + b : a * b;
        if (std::isnan(exact)) {
            ASSERT_TRUE(std::isnan(value_of(format, result)));
        } else {
            ASSERT_EQ(result, round_to(format, numbers, exact))
                << to_string(op) << " " << to_string(format.type) << " of " << a << " and " << b;
        }
    }
    ASSERT_EQ(reduce_one(format, Op::kMin, left, right), b < a ? right : left);
    ASSERT_EQ(reduce_one(format, Op::kMax, left, right), b > a ? right : left);
}

TEST(SmallFloats, EveryPairOfOneByte) {
    for (const Format& format : kFormats) {
        if (size_of(format.type) == 1) {
            const std::vector<double> numbers = magnitudes(format);
            for (unsigned left = 0; left < 256; ++left) {
                for (unsigned right = 0; right < 256; ++right) {
                    check(format, numbers, left, right);
                }
            }
        }
    }
}

// Each number against neighbours, zeros, halves, the largest and the smallest.
TEST(SmallFloats, EveryNumberOfTwoBytes) {
    for (const Format& format : kFormats) {
        if (size_of(format.type) == 2) {
            const std::vector<double> numbers = magnitudes(format);
            const auto largest = static_cast<unsigned>(numbers.size() - 1);
            for (unsigned left = 0; left < 1U << 16; ++left) {
                for (const unsigned right :
                     {0U, 0x8000U, 1U, 0x8003U, largest, largest + 1, largest + 2, 0x3c00U, 0x3f81U,
                      0xb800U, left, left ^ 0x8000U, (left + 1) & 0xffffU, left * 77 & 0xffffU}) {
                    check(format, numbers, left, right);
                }
            }
        }
    }
}

// Several inputs are added in float and rounded once: 256 + 1 + 1 is more than 256 in bfloat16.
TEST(SmallFloats, SeveralInputsRoundOnce) {
    const std::uint16_t large = 0x4380;  // 256
    const std::uint16_t one = 0x3f80;
    const void* inputs[] = {&large, &one, &one};
    std::uint16_t sum = 0;
    reduce_host_many(Type::kBf16, Op::kSum, inputs, &sum, 1);
    EXPECT_EQ(sum, 0x4381);  // 258
}

}  // namespace
}  // namespace beeline::coll::kernel
