// SPDX-License-Identifier: BSD-3-Clause
// Copies and fills: contents, bounds, who waits.
#include <numeric>

#include "support.hpp"

namespace softcuda_test {
namespace {

TEST(Copy, EveryDirectionMovesTheBytes) {
    in_child({}, [] {
        start();
        for (const size_t size : {size_t{1}, size_t{1000}, size_t{70000}, size_t{3} << 20}) {
            std::vector<unsigned char> out(size);
            std::iota(out.begin(), out.end(), 0);
            const CUdeviceptr first = allocate(size);
            const CUdeviceptr second = allocate(size);
            EXPECT_OK(cuMemcpyHtoD(first, out.data(), size));
            EXPECT_OK(cuMemcpyDtoD(second, first, size));
            EXPECT_EQ(bytes_at(second, size), out);
        }
    });
}

TEST(Copy, RefusesRangesBeyondAnAllocation) {
    in_child({}, [] {
        start();
        const CUdeviceptr address = allocate(1000);
        const CUdeviceptr freed = allocate(3 << 20);
        EXPECT_OK(cuMemFree(freed));
        std::vector<char> host(2000);
        EXPECT_EQ(cuMemcpyHtoD(address, host.data(), 1001), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(cuMemcpyDtoH(host.data(), address + 500, 501), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(cuMemcpyDtoH(host.data(), freed, 1), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(cuMemcpyHtoD(address, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
        EXPECT_OK(cuMemcpyHtoD(address, host.data(), 0));
        EXPECT_EQ(cuMemsetD8(reinterpret_cast<CUdeviceptr>(host.data()), 0, 10),
                  CUDA_ERROR_INVALID_VALUE);
    });
}

TEST(Copy, Rectangles) {
    in_child({}, [] {
        start();
        CUdeviceptr device = 0;
        size_t pitch = 0;
        ASSERT_OK(cuMemAllocPitch(&device, &pitch, 10, 3, 4));
        EXPECT_GE(pitch, 10U);
        EXPECT_OK(cuMemsetD8(device, 0xee, pitch * 3));
        std::vector<unsigned char> host(8 * 3);
        std::iota(host.begin(), host.end(), 0);
        CUDA_MEMCPY2D plan{};
        plan.srcMemoryType = CU_MEMORYTYPE_HOST;
        plan.srcHost = host.data();
        plan.srcPitch = 8;
        plan.srcXInBytes = 2;
        plan.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        plan.dstDevice = device;
        plan.dstPitch = pitch;
        plan.dstXInBytes = 1;
        plan.dstY = 1;
        plan.WidthInBytes = 5;
        plan.Height = 2;
        EXPECT_OK(cuMemcpy2D(&plan));
        const std::vector<unsigned char> seen = bytes_at(device, pitch * 3);
        for (size_t row = 0; row < 3; ++row) {
            for (size_t column = 0; column < pitch; ++column) {
                const bool inside = row >= 1 && column >= 1 && column < 6;
                const size_t source = (row - 1) * 8 + column + 1;
                EXPECT_EQ(seen[row * pitch + column], inside ? source : 0xee);
            }
        }
        plan.Height = 3;  // one row too many
        EXPECT_EQ(cuMemcpy2D(&plan), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST(Copy, FillsOfEachWidth) {
    in_child({}, [] {
        start();
        const CUdeviceptr device = allocate(64);
        EXPECT_OK(cuMemsetD8(device, 1, 64));
        EXPECT_OK(cuMemsetD16(device + 16, 0x0302, 8));
        EXPECT_OK(cuMemsetD32(device + 32, 0x07060504, 4));
        const std::vector<unsigned char> seen = bytes_at(device, 64);
        for (size_t i = 0; i < 64; ++i) {
            const size_t expected = i / 16 == 1 ? 2 + i % 2 : i / 16 == 2 ? 4 + i % 4 : 1;
            EXPECT_EQ(seen[i], expected) << i;
        }
        EXPECT_EQ(cuMemsetD32(device + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
    });
}

TEST(Copy, AsynchronousCopiesWaitForTheirStream) {
    in_child({}, [] {
        start();
        CUstream stream = nullptr;
        EXPECT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        const CUdeviceptr source = allocate(256);
        const CUdeviceptr target = allocate(256);
        EXPECT_OK(cuMemsetD8(source, 5, 256));
        EXPECT_OK(cuMemsetD8(target, 0, 256));
        EXPECT_OK(cuCtxSynchronize());
        {
            HeldStream held(stream);
            EXPECT_OK(cuMemcpyDtoDAsync(target, source, 256, stream));
            EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
            EXPECT_EQ(bytes_at(target, 1)[0], 0);
            held.release();
            EXPECT_OK(cuStreamSynchronize(stream));
            EXPECT_EQ(bytes_at(target, 1)[0], 5);
        }
    });
}

/** Small pageable sources are staged: the caller may change them at once. */
TEST(Copy, PageableSourceMayBeReusedAtOnce) {
    in_child({}, [] {
        start();
        CUstream stream = nullptr;
        EXPECT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        const CUdeviceptr target = allocate(1000);
        std::vector<unsigned char> source(1000, 3);
        HeldStream held(stream);
        EXPECT_OK(cuMemcpyHtoDAsync(target, source.data(), source.size(), stream));
        source.assign(source.size(), 4);
        held.release();
        EXPECT_OK(cuStreamSynchronize(stream));
        EXPECT_EQ(bytes_at(target, 1000), std::vector<unsigned char>(1000, 3));
    });
}

TEST(Copy, BetweenDevicesAndContexts) {
    in_child({{"SOFTCUDA_TOPOLOGY", "none"}}, [] {
        CUcontext first = start(0);
        const CUdeviceptr on_first = allocate(5000);
        EXPECT_OK(cuMemsetD8(on_first, 8, 5000));
        CUcontext second = start(1);
        const CUdeviceptr on_second = allocate(5000);
        EXPECT_OK(cuMemcpyPeer(on_second, second, on_first, first, 5000));
        EXPECT_EQ(bytes_at(on_second, 5000)[4999], 8);
        EXPECT_EQ(cuMemcpyPeer(on_second, nullptr, on_first, first, 1), CUDA_ERROR_INVALID_CONTEXT);
    });
}

TEST(Copy, LinkModelTakesItsTime) {
    in_child({{"SOFTCUDA_GBPS", "1"}}, [] {
        start();
        const size_t size = 20 << 20;
        const CUdeviceptr source = allocate(size);
        const CUdeviceptr target = allocate(size);
        CUevent begin = nullptr;
        CUevent end = nullptr;
        EXPECT_OK(cuEventCreate(&begin, CU_EVENT_DEFAULT));
        EXPECT_OK(cuEventCreate(&end, CU_EVENT_DEFAULT));
        EXPECT_OK(cuEventRecord(begin, nullptr));
        EXPECT_OK(cuMemcpyDtoDAsync(target, source, size, nullptr));
        EXPECT_OK(cuEventRecord(end, nullptr));
        EXPECT_OK(cuEventSynchronize(end));
        float milliseconds = 0;
        EXPECT_OK(cuEventElapsedTime(&milliseconds, begin, end));
        EXPECT_GE(milliseconds, 20.9F);  // a lower bound only: 20 MiB at 1 GB/s
    });
}

}  // namespace
}  // namespace softcuda_test
