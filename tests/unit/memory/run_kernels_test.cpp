// SPDX-License-Identifier: BSD-3-Clause
// Non-contiguous data on a device: what the packing kernels move, and that the number of driver
// calls doesn't depend on the number of blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "datatype/layout.hpp"
#include "memory/copy.hpp"
#include "memory/kernel/image.hpp"
#include "tests/world/device_memory.hpp"

namespace beeline::memory {
namespace {

using Bytes = std::vector<unsigned char>;
using datatype::Block;
using datatype::Layout;
using world::Buffer;
using Calls = unsigned long long (*)(const char*);

constexpr std::size_t kBefore = 64;  // room in front of the element's address

const cuda::Driver& driver() {
    return *cuda::Driver::find();
}

unsigned long long calls(const char* name) {
    static const auto count = reinterpret_cast<Calls>(world::software_entry("softcuda_calls"));
    return count != nullptr ? count(name) : 0;
}

bool counted() {
    return world::software_entry("softcuda_calls") != nullptr;
}

Layout indexed(std::vector<Block> blocks, std::ptrdiff_t extent) {
    Layout layout;
    layout.extent = extent;
    for (const Block& block : blocks) {
        layout.size += block.bytes;
    }
    layout.blocks = std::move(blocks);
    datatype::index(layout);
    return layout;
}

Layout vector_of(std::size_t blocks, std::size_t bytes, std::ptrdiff_t stride) {
    std::vector<Block> all;
    for (std::size_t i = 0; i < blocks; ++i) {
        all.push_back(Block{static_cast<std::ptrdiff_t>(i) * stride, bytes});
    }
    return indexed(std::move(all), static_cast<std::ptrdiff_t>(blocks) * stride);
}

Bytes pattern(std::size_t bytes, unsigned seed) {
    Bytes data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        data[i] = static_cast<unsigned char>(i * 7 + i / 251 + seed);
    }
    return data;
}

Status finish(Result<AsyncCopy> copy) {
    if (!copy) {
        return copy.status();
    }
    Status status = Status::kRetry;
    while (status == Status::kRetry) {
        std::this_thread::yield();
        status = copy->poll();
    }
    return status;
}

struct Shape {
    const char* name;
    Layout layout;
    std::size_t count;
};

std::vector<Shape> shapes() {
    return {
        {"words", vector_of(100, 8, 24), 3},
        {"odd blocks", vector_of(77, 3, 5), 4},
        {"backwards", vector_of(50, 1, -1), 1},
        {"irregular", indexed({{0, 2}, {6, 1}, {9, 4}, {-8, 3}, {30, 4}, {40, 4}, {50, 4}}, 60), 9},
        {"elements that overlap in extent", indexed({{0, 4}, {16, 4}, {8, 2}}, 2), 1},
        {"sparse", vector_of(40, 16, 4096), 1},
        {"a block for each element", indexed({{4, 4}}, 12), 40},
    };
}

/// Bytes from the element's address to the end of the last run.
std::size_t reach(const Shape& shape) {
    std::size_t end = 1;
    datatype::for_each_run(
        shape.layout, shape.count, 0, shape.layout.bytes(shape.count),
        [&](std::ptrdiff_t offset, std::size_t bytes, std::size_t) {
            const auto last = offset + static_cast<std::ptrdiff_t>(bytes);
            end = std::max(end, static_cast<std::size_t>(std::max<std::ptrdiff_t>(last, 0)));
        });
    return end;
}

TEST(RunKernels, MoveWhatTheHostWouldMove) {
    for (const Shape& shape : shapes()) {
        const std::size_t total = shape.layout.bytes(shape.count);
        const std::size_t span = kBefore + reach(shape);
        for (const Kind packed_kind : {Kind::kPinned, Kind::kDevice, Kind::kHost}) {
            for (const std::size_t skip : {std::size_t{0}, std::size_t{5}, total / 2}) {
                SCOPED_TRACE(std::string(shape.name) + ", " + to_string(packed_kind) + ", from " +
                             std::to_string(skip));
                const std::size_t bytes = total - skip;
                Buffer buffer(driver(), Kind::kDevice, span, 0);
                Buffer packed(driver(), packed_kind, bytes, 8);
                Bytes data = pattern(span, 1);
                buffer.write(data);
                auto* element = static_cast<std::byte*>(buffer.data()) + kBefore;
                const Pointer where = classify(element);
                ASSERT_EQ(finish(AsyncCopy::pack(shape.layout, shape.count, element, where, skip,
                                                 packed.data(), bytes)),
                          Status::kOk);
                Bytes expected(bytes);
                datatype::pack(shape.layout, shape.count, data.data() + kBefore, skip,
                               std::as_writable_bytes(std::span(expected)));
                EXPECT_EQ(packed.read(), expected);
                EXPECT_TRUE(packed.margins_untouched());

                const Bytes news = pattern(bytes, 99);
                packed.write(news);
                ASSERT_EQ(finish(AsyncCopy::unpack(shape.layout, shape.count, element, where, skip,
                                                   packed.data(), bytes)),
                          Status::kOk);
                datatype::unpack(shape.layout, shape.count, data.data() + kBefore, skip,
                                 std::as_bytes(std::span(news)));
                EXPECT_EQ(buffer.read(), data);
                EXPECT_TRUE(buffer.margins_untouched());
            }
        }
    }
}

TEST(RunKernels, OneLaunchHoweverManyBlocks) {
    if (!counted()) {
        GTEST_SKIP() << "a real driver does not count its calls";
    }
    for (const std::size_t blocks : {100U, 30000U}) {
        const Layout layout = vector_of(blocks, 8, 16);
        Buffer buffer(driver(), Kind::kDevice, blocks * 16, 0);
        Buffer packed(driver(), Kind::kPinned, blocks * 8, 0);
        const Pointer where = classify(buffer.data());
        const auto move = [&] {
            EXPECT_EQ(finish(AsyncCopy::pack(layout, 1, buffer.data(), where, 0, packed.data(),
                                             blocks * 8)),
                      Status::kOk);
        };
        move();  // loads the kernels and the layout
        const auto launches = calls("cuLaunchKernel");
        const auto copies = calls("cuMemcpyAsync");
        const auto allocations = calls("cuMemAlloc");
        move();
        EXPECT_EQ(calls("cuLaunchKernel") - launches, 1U);
        EXPECT_EQ(calls("cuMemcpyAsync"), copies);
        EXPECT_EQ(calls("cuMemAlloc"), allocations);
    }
}

TEST(RunKernels, ManyLayoutsDoNotGrowMemory) {
    if (!counted()) {
        GTEST_SKIP() << "a real driver does not count its calls";
    }
    Buffer buffer(driver(), Kind::kDevice, 4096, 0);
    Buffer packed(driver(), Kind::kPinned, 1024, 0);
    const Pointer where = classify(buffer.data());
    const auto kept = [] { return calls("cuMemAlloc") - calls("cuMemFree"); };
    unsigned long long after_some = 0;
    for (int i = 0; i < 300; ++i) {
        const Layout layout = vector_of(64, 8, 32);
        ASSERT_EQ(pack(layout, 1, buffer.data(), where, 0, packed.data(), 512), Status::kOk);
        if (i == 100) {
            after_some = kept();
        }
    }
    EXPECT_EQ(kept(), after_some);
}

TEST(RunKernels, ImageHoldsItsKernels) {
    const std::string image = kernel::runs_image();
    for (const std::string name : {"gather_runs", "scatter_runs"}) {
        EXPECT_NE(image.find(".entry " + name + "("), std::string::npos);
    }
    EXPECT_NE(image.find(std::string(".entry ") + kernel::source_kernel_name() + "()"),
              std::string::npos);
}

}  // namespace
}  // namespace beeline::memory
