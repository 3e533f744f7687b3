// SPDX-License-Identifier: BSD-3-Clause
// The GPU's reductions against the CPU's, bit by bit: every type and operation on special values
// and at random (all of them for types of one byte), at every alignment, with up to sixteen inputs.
// Results that are NaN by computing may have any payload.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "coll/exec/device_engine.hpp"
#include "coll/kernel/reduce_host.hpp"
#include "tests/support/op_values.hpp"
#include "tests/world/device_memory.hpp"

namespace beeline::world {
namespace {

using coll::kernel::Op;
using coll::kernel::Type;
using test::Bytes;

const cuda::Driver* driver() {
    static const cuda::Driver* const loaded = load_driver();
    return loaded;
}

template <class T>
bool both_nan(const unsigned char* a, const unsigned char* b) {
    T x;
    T y;
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    return std::isnan(x) && std::isnan(y);
}

/// Whether one number of a small format is NaN.
bool small_nan(Type type, const unsigned char* at) {
    std::uint16_t half = 0;
    std::memcpy(&half, at, coll::kernel::size_of(type));
    switch (type) {
        case Type::kF16:
            return (half & 0x7fff) > 0x7c00;
        case Type::kBf16:
            return (half & 0x7fff) > 0x7f80;
        case Type::kE4m3:
            return (half & 0x7f) == 0x7f;
        case Type::kE5m2:
            return (half & 0x7f) > 0x7c;
        default:
            return false;
    }
}

bool same(Type type, Op op, const unsigned char* a, const unsigned char* b) {
    const std::size_t size = coll::kernel::size_of(type);
    if (std::memcmp(a, b, size) == 0) {
        return true;
    }
    if (op != Op::kSum && op != Op::kProd) {
        return false;
    }
    switch (type) {
        case Type::kF32:
            return both_nan<float>(a, b);
        case Type::kF64:
            return both_nan<double>(a, b);
        case Type::kComplexF32:
            return (std::memcmp(a, b, 4) == 0 || both_nan<float>(a, b)) &&
                   (std::memcmp(a + 4, b + 4, 4) == 0 || both_nan<float>(a + 4, b + 4));
        case Type::kComplexF64:
            return (std::memcmp(a, b, 8) == 0 || both_nan<double>(a, b)) &&
                   (std::memcmp(a + 8, b + 8, 8) == 0 || both_nan<double>(a + 8, b + 8));
        default:
            return small_nan(type, a) && small_nan(type, b);
    }
}

/// Compares two results; an empty text when they agree.
std::string difference(Type type, Op op, const Bytes& ours, const Bytes& expected) {
    const std::size_t size = coll::kernel::size_of(type);
    for (std::size_t at = 0; at < expected.size(); at += size) {
        if (!same(type, op, &ours[at], &expected[at])) {
            std::string text = std::string(coll::kernel::to_string(op)) + " " +
                               coll::kernel::to_string(type) + ", element " +
                               std::to_string(at / size) + ":";
            char hex[16];
            for (const Bytes* bytes : {&ours, &expected}) {
                text += bytes == &ours ? " device " : " host ";
                for (std::size_t i = size; i-- > 0;) {
                    std::snprintf(hex, sizeof hex, "%02x", (*bytes)[at + i]);
                    text += hex;
                }
            }
            return text;
        }
    }
    return "";
}

/// One reduction of `inputs` on the device, each operand `skew[k]` bytes from where memory starts,
/// the result last; into the operand number `into` if there is one.
Bytes reduce_on_device(coll::exec::DeviceEngine& engine, Type type, Op op,
                       const std::vector<Bytes>& inputs, const std::vector<std::size_t>& skew,
                       std::optional<std::size_t> into = std::nullopt) {
    const std::size_t bytes = inputs[0].size();
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<const void*> addresses;
    for (std::size_t k = 0; k <= inputs.size(); ++k) {
        buffers.push_back(
            std::make_unique<Buffer>(*driver(), memory::Kind::kDevice, bytes, skew[k]));
        if (k < inputs.size()) {
            buffers.back()->write(inputs[k]);
            addresses.push_back(buffers.back()->data());
        }
    }
    Buffer& result = into ? *buffers[*into] : *buffers.back();
    engine.bind(memory::classify(result.data()));
    EXPECT_EQ(
        engine.reduce_many(type, op, addresses, result.data(), bytes / coll::kernel::size_of(type)),
        Status::kOk);
    EXPECT_EQ(engine.flush(), Status::kOk);
    EXPECT_TRUE(result.margins_untouched());
    return result.read();
}

/// Calls body(type, op, left operands, right operands) for every kernel.
template <class Body>
void for_each_kernel(Body&& body) {
    for (const Type type : coll::kernel::kAllTypes) {
        Bytes left;
        Bytes right;
        test::operands(type, left, right);
        for (const Op op : coll::kernel::kAllOps) {
            if (coll::kernel::kernel_index(type, op) >= 0) {
                body(type, op, left, right);
            }
        }
    }
}

/// `count` elements of `size` bytes from the one at `first` on, and from the start again at the
/// end.
Bytes some(const Bytes& elements, std::size_t size, std::size_t first, std::size_t count) {
    Bytes taken(count * size);
    for (std::size_t i = 0; i < taken.size(); ++i) {
        taken[i] = elements[(first * size + i) % elements.size()];
    }
    return taken;
}

class Kernels : public testing::Test {
 protected:
    void SetUp() override {
        ASSERT_NE(driver(), nullptr);
        use_device(*driver(), 0);
    }
    coll::exec::DeviceEngine engine_;
};

TEST_F(Kernels, AllTypesAndOperationsOnSpecialValues) {
    for_each_kernel([&](Type type, Op op, const Bytes& left, const Bytes& right) {
        Bytes expected = right;
        coll::kernel::reduce_host(type, op, left.data(), right.data(), expected.data(),
                                  left.size() / coll::kernel::size_of(type));
        EXPECT_EQ(
            difference(type, op, reduce_on_device(engine_, type, op, {left, right}, {0, 0, 0}),
                       expected),
            "");
    });
}

TEST_F(Kernels, AnyNumberOfInputsAtAnyAlignment) {
    for_each_kernel([&](Type type, Op op, const Bytes& left, const Bytes& right) {
        const std::size_t size = coll::kernel::size_of(type);
        std::size_t round = 0;
        for (const std::size_t n : {1U, 2U, 3U, 5U, 16U}) {
            for (const std::size_t count : {1U, 7U, 67U}) {
                ++round;
                std::vector<Bytes> inputs;
                std::vector<const void*> addresses;
                std::vector<std::size_t> skew;
                for (std::size_t k = 0; k <= n; ++k) {
                    const Bytes& operands = k % 2 == 0 ? left : right;
                    inputs.push_back(some(operands, size, k * 97 + round * 31, count));
                    // Whole elements off, all alike, or any bytes off.
                    skew.push_back(round % 3 == 0   ? k * size % 16
                                   : round % 3 == 1 ? size % 16
                                                    : (k * 5 + 3) % 16);
                }
                inputs.pop_back();
                for (const Bytes& input : inputs) {
                    addresses.push_back(input.data());
                }
                Bytes expected(count * size);
                coll::kernel::reduce_host_many(type, op, addresses, expected.data(), count);
                std::optional<std::size_t> into;
                if (round % 2 == 0) {
                    into = n - 1;
                }
                EXPECT_EQ(
                    difference(type, op, reduce_on_device(engine_, type, op, inputs, skew, into),
                               expected),
                    "")
                    << n << " inputs, round " << round;
            }
        }
    });
}

// What no GPU computes, and copies.
TEST_F(Kernels, HostTypesAndCopiesWorkOnDeviceMemory) {
    const long double numbers[] = {1.5L, -3.25L, 7.0L};
    Bytes one(sizeof numbers);
    for (std::size_t i = 0; i < 3; ++i) {
        std::memcpy(one.data() + i * sizeof numbers[0], &numbers[i], 10);
    }
    const Bytes sum =
        reduce_on_device(engine_, Type::kF80, Op::kSum, {one, one, one}, {0, 0, 0, 0});
    for (std::size_t i = 0; i < 3; ++i) {
        long double value = 0;
        std::memcpy(&value, sum.data() + i * sizeof value, sizeof value);
        EXPECT_EQ(value, 3 * numbers[i]);
    }
    const Bytes a = {1, 2, 3, 4};
    const Bytes b = {5, 6, 7, 8};
    EXPECT_EQ(reduce_on_device(engine_, Type::kF32, Op::kReplace, {a, b}, {0, 0, 0}), a);
    EXPECT_EQ(reduce_on_device(engine_, Type::kF32, Op::kReplace, {a, b}, {0, 0, 0}, 1), a);
    EXPECT_EQ(reduce_on_device(engine_, Type::kF32, Op::kNoOp, {a, b}, {0, 0, 0}), b);
    EXPECT_EQ(reduce_on_device(engine_, Type::kF32, Op::kNoOp, {a, b}, {0, 0, 0}, 1), b);
}

using Calls = unsigned long long (*)(const char*);

// Thousands of communicators have an engine each.
TEST_F(Kernels, EnginesShareStreamsAndModules) {
    const auto calls = reinterpret_cast<Calls>(software_entry("softcuda_calls"));
    if (calls == nullptr) {
        GTEST_SKIP() << "a real driver does not count its calls";
    }
    const Bytes data = {0, 0, 128, 63};
    reduce_on_device(engine_, Type::kF32, Op::kSum, {data, data}, {0, 0, 0});
    const auto modules = calls("cuModuleLoadData");
    const auto streams = calls("cuStreamCreate");
    for (int repeat = 0; repeat < 1000; ++repeat) {
        coll::exec::DeviceEngine another;
        const Bytes sum = reduce_on_device(another, Type::kF32, Op::kSum, {data, data}, {0, 0, 0});
        ASSERT_EQ(sum, (Bytes{0, 0, 0, 64}));
    }
    EXPECT_EQ(calls("cuModuleLoadData"), modules);
    EXPECT_EQ(calls("cuStreamCreate"), streams);
}

}  // namespace
}  // namespace beeline::world
