// SPDX-License-Identifier: BSD-3-Clause
// The reductions on the CPU, at every alignment, and their corner cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "coll/kernel/image.hpp"
#include "coll/kernel/reduce_host.hpp"

namespace beeline::coll::kernel {
namespace {

template <class T>
T reduce_one(Type type, Op op, T left, T right) {
    T out{};
    reduce_host(type, op, &left, &right, &out, 1);
    return out;
}

TEST(Types, EachSupportedPairHasAKernelOfItsOwnName) {
    EXPECT_STREQ(kernel_name(Type::kF32, Op::kSum), "reduce_sum_f32");
    EXPECT_STREQ(kernel_name(Type::kI32, Op::kSum), "reduce_sum_u32");
    EXPECT_STREQ(kernel_name(Type::kI32, Op::kMin), "reduce_min_i32");
    EXPECT_EQ(kernel_name(Type::kF64, Op::kLand), nullptr);
    std::vector<bool> used(kKernels, false);
    for (const Type type : kAllTypes) {
        for (const Op op : kAllOps) {
            const int index = kernel_index(type, op);
            EXPECT_EQ(index >= 0, supported(type, op) && !is_host_only(type));
            if (index >= 0) {
                used[static_cast<std::size_t>(index)] = true;
            }
        }
    }
    EXPECT_EQ(std::count(used.begin(), used.end(), false), 0);
}

TEST(ReduceHost, IntegersWrap) {
    EXPECT_EQ(reduce_one<std::int32_t>(Type::kI32, Op::kSum, 0x7fffffff, 1), INT32_MIN);
    EXPECT_EQ(reduce_one<std::int64_t>(Type::kI64, Op::kProd, INT64_MAX, 2), -2);
    EXPECT_EQ(reduce_one<std::uint16_t>(Type::kU16, Op::kProd, 0xffff, 0xffff), 1);
    EXPECT_EQ(reduce_one<std::int8_t>(Type::kI8, Op::kSum, 127, 127), -2);
}

TEST(ReduceHost, SignsMatterToMinimumAndMaximum) {
    EXPECT_EQ(reduce_one<std::int16_t>(Type::kI16, Op::kMin, -1, 1), -1);
    EXPECT_EQ(reduce_one<std::uint16_t>(Type::kU16, Op::kMin, 0xffff, 1), 1);
    EXPECT_EQ(reduce_one<std::int64_t>(Type::kI64, Op::kMax, -1, 1), 1);
    EXPECT_EQ(reduce_one<std::uint64_t>(Type::kU64, Op::kMax, UINT64_MAX, 1), UINT64_MAX);
}

TEST(ReduceHost, LogicalResultsAreZeroOrOne) {
    EXPECT_EQ(reduce_one<std::uint8_t>(Type::kU8, Op::kLand, 2, 4), 1);
    EXPECT_EQ(reduce_one<std::uint8_t>(Type::kU8, Op::kLand, 2, 0), 0);
    EXPECT_EQ(reduce_one<std::int32_t>(Type::kI32, Op::kLor, 0, -5), 1);
    EXPECT_EQ(reduce_one<std::int32_t>(Type::kI32, Op::kLor, 0, 0), 0);
    EXPECT_EQ(reduce_one<std::int64_t>(Type::kI64, Op::kLxor, 3, 5), 0);
    EXPECT_EQ(reduce_one<std::int64_t>(Type::kI64, Op::kLxor, 3, 0), 1);
}

// The C operations of Open MPI compute `right > left ? right : left`: where the comparison is false
// for any reason, the lower rank's operand stays.
TEST(ReduceHost, NotANumberAndZerosGoAsInC) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(reduce_one<float>(Type::kF32, Op::kMax, nan, 1)));
    EXPECT_EQ(reduce_one<float>(Type::kF32, Op::kMax, 1, nan), 1);
    EXPECT_TRUE(std::isnan(reduce_one<float>(Type::kF32, Op::kMin, nan, 1)));
    EXPECT_EQ(reduce_one<float>(Type::kF32, Op::kMin, 1, nan), 1);
    EXPECT_FALSE(std::signbit(reduce_one<double>(Type::kF64, Op::kMin, 0.0, -0.0)));
    EXPECT_TRUE(std::signbit(reduce_one<double>(Type::kF64, Op::kMax, -0.0, 0.0)));
}

/// The operation for one element, written once more and in another way.
std::uint64_t reference(Type type, Op op, std::uint64_t a, std::uint64_t b) {
    const std::size_t bits = 8 * size_of(type);
    const bool is_signed =
        type == Type::kI8 || type == Type::kI16 || type == Type::kI32 || type == Type::kI64;
    const std::uint64_t flip = is_signed ? std::uint64_t{1} << (bits - 1) : 0;
    switch (op) {
        case Op::kSum:
            return a + b;
        case Op::kProd:
            return a * b;
        case Op::kMin:
            return (a ^ flip) < (b ^ flip) ? a : b;
        case Op::kMax:
            return (a ^ flip) < (b ^ flip) ? b : a;
        case Op::kBand:
            return a & b;
        case Op::kBor:
            return a | b;
        case Op::kBxor:
            return a ^ b;
        case Op::kLand:
            return a != 0 && b != 0 ? 1 : 0;
        case Op::kLor:
            return a != 0 || b != 0 ? 1 : 0;
        case Op::kLxor:
            return (a != 0) != (b != 0) ? 1 : 0;
        case Op::kMinloc:
        case Op::kMaxloc:
            break;
        case Op::kReplace:
            return a;
        case Op::kNoOp:
            return b;
    }
    return 0;
}

std::uint64_t random_word(std::uint64_t& state) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return state >> 29 ^ state << 7;
}

/// Element `index` of a buffer of integers, zero-extended.
std::uint64_t element(const std::vector<unsigned char>& buffer, std::size_t at, Type type) {
    std::uint64_t value = 0;
    std::memcpy(&value, buffer.data() + at, size_of(type));
    return value;
}

void check_integers(Type type, Op op, std::size_t count, std::size_t skew_left,
                    std::size_t skew_right, std::size_t skew_out) {
    const std::size_t size = size_of(type);
    std::uint64_t state = count * 31 + skew_left;
    std::vector<unsigned char> left(count * size + 64);
    std::vector<unsigned char> right(count * size + 64);
    std::vector<unsigned char> out(count * size + 64, 0xAB);
    for (std::size_t i = 0; i < left.size(); ++i) {
        left[i] = static_cast<unsigned char>(random_word(state) % 3 == 0 ? 0 : random_word(state));
        right[i] = static_cast<unsigned char>(random_word(state) % 3 == 0 ? 0 : random_word(state));
    }
    reduce_host(type, op, left.data() + skew_left, right.data() + skew_right, out.data() + skew_out,
                count);
    const std::uint64_t mask = size == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * size) - 1;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t expected =
            reference(type, op, element(left, skew_left + i * size, type),
                      element(right, skew_right + i * size, type)) &
            mask;
        ASSERT_EQ(element(out, skew_out + i * size, type), expected)
            << to_string(op) << " " << to_string(type) << " element " << i << " of " << count;
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (i < skew_out || i >= skew_out + count * size) {
            ASSERT_EQ(out[i], 0xAB) << "byte " << i << " outside the result was written";
        }
    }
}

TEST(ReduceHost, AllIntegersOperationsAndAlignments) {
    for (const Type type : kAllTypes) {
        for (const Op op : kAllOps) {
            if (!is_integer(type) || !supported(type, op)) {
                continue;
            }
            for (const std::size_t count : {0U, 1U, 3U, 16U, 33U, 129U}) {
                check_integers(type, op, count, 0, 0, 0);
                check_integers(type, op, count, 1, 3, 5);
                check_integers(type, op, count, 8, 8, 8);
                check_integers(type, op, count, 0, 0, 7);
            }
        }
    }
}

TEST(ReduceHost, TheOutputMayBeEitherOperand) {
    for (const bool into_left : {true, false}) {
        std::vector<double> left(1001);
        std::vector<double> right(1001);
        for (std::size_t i = 0; i < left.size(); ++i) {
            left[i] = static_cast<double>(i);
            right[i] = 0.5 * static_cast<double>(i % 7);
        }
        std::vector<double> expected(left.size());
        for (std::size_t i = 0; i < left.size(); ++i) {
            expected[i] = left[i] + right[i];
        }
        double* out = into_left ? left.data() : right.data();
        reduce_host(Type::kF64, Op::kSum, left.data(), right.data(), out, left.size());
        EXPECT_EQ(std::memcmp(out, expected.data(), left.size() * sizeof(double)), 0);
    }
}

TEST(Image, HoldsEveryKernelAndItsSourcesName) {
    for (const Type type : kAllTypes) {
        for (const Op op : kAllOps) {
            const int index = kernel_index(type, op);
            if (index >= 0) {
                const std::string image = reduce_image(family_of(index));
                EXPECT_NE(image.find(std::string(".entry ") + source_kernel_name() + "()"),
                          std::string::npos);
                EXPECT_NE(image.find(std::string(".entry ") + kernel_name(type, op) + "("),
                          std::string::npos);
            }
        }
    }
}

}  // namespace
}  // namespace beeline::coll::kernel
