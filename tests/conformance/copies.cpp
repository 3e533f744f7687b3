// SPDX-License-Identifier: BSD-3-Clause
// Copies and fills between every kind of memory, of every shape.
#include <algorithm>

#include "tests/conformance/tools.hpp"

namespace conformance {
namespace {

constexpr size_t kBytes = (1 << 20) + 13;

CUstream new_stream() {
    CUstream stream = nullptr;
    MUST(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

void* pinned(size_t bytes) {
    void* memory = nullptr;
    MUST(cu.cuMemHostAlloc(&memory, bytes, 0));
    return memory;
}

void sizes_and_offsets() {
    open_device();
    const CUdeviceptr memory = allocate(kBytes);
    const CUdeviceptr copy = allocate(kBytes);
    for (const size_t offset : {size_t{0}, size_t{1}, size_t{7}, size_t{511}}) {
        for (const size_t length :
             {size_t{1}, size_t{3}, size_t{4096}, size_t{65537}, kBytes - 512}) {
            MUST(cu.cuMemsetD8(copy, 0xEE, kBytes));
            put(memory + offset, length, static_cast<unsigned>(length));
            MUST(cu.cuMemcpyDtoD(copy + offset, memory + offset, length));
            EXPECT(holds(copy + offset, length, static_cast<unsigned>(length)));
            unsigned char after = 0;
            MUST(cu.cuMemcpyDtoH(&after, copy + offset + length, 1));
            EXPECT(after == 0xEE);
        }
    }
}

void unified_copy_finds_direction() {
    open_device();
    const CUdeviceptr memory = allocate(kBytes);
    const std::vector<unsigned char> bytes = pattern(kBytes, 1);
    std::vector<unsigned char> back(kBytes);
    MUST(cu.cuMemcpy(memory, address_of(bytes.data()), kBytes));
    MUST(cu.cuMemcpy(address_of(back.data()), memory, kBytes));
    EXPECT(back == bytes);
    std::fill(back.begin(), back.end(), static_cast<unsigned char>(0));
    MUST(cu.cuMemcpy(address_of(back.data()), address_of(bytes.data()), kBytes));
    EXPECT(back == bytes);
}

void pinned_copies_do_not_wait() {
    open_device();
    const CUstream stream = new_stream();
    const CUdeviceptr memory = allocate(kBytes);
    auto* out = static_cast<unsigned char*>(pinned(kBytes));
    auto* in = static_cast<unsigned char*>(pinned(kBytes));
    const std::vector<unsigned char> bytes = pattern(kBytes, 2);
    std::fill(out, out + kBytes, static_cast<unsigned char>(0));
    Gate gate(stream);
    MUST(cu.cuMemcpyHtoDAsync(memory, in, kBytes, stream));
    MUST(cu.cuMemcpyDtoHAsync(out, memory, kBytes, stream));
    EXPECT_RESULT(cu.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    std::copy(bytes.begin(), bytes.end(), in);  // read only when the copy runs
    gate.open();
    MUST(cu.cuStreamSynchronize(stream));
    EXPECT(std::equal(bytes.begin(), bytes.end(), out));
}

void pageable_source_may_change() {
    open_device();
    const CUstream stream = new_stream();
    const CUdeviceptr memory = allocate(kBytes);
    std::vector<unsigned char> bytes = pattern(kBytes, 3);
    MUST(cu.cuMemcpyHtoDAsync(memory, bytes.data(), kBytes, stream));
    std::fill(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
    MUST(cu.cuStreamSynchronize(stream));
    EXPECT(holds(memory, kBytes, 3));
}

void pageable_target_is_complete() {
    open_device();
    const CUstream stream = new_stream();
    const CUdeviceptr memory = allocate(kBytes);
    put(memory, kBytes, 4);
    std::vector<unsigned char> bytes(kBytes);
    MUST(cu.cuMemcpyDtoHAsync(bytes.data(), memory, kBytes, stream));
    EXPECT(bytes == pattern(kBytes, 4));  // the call returns only when the data is there
}

void rectangles() {
    open_device();
    constexpr size_t kPitch = 96;
    constexpr size_t kWidth = 40;
    constexpr size_t kRows = 33;
    const CUdeviceptr memory = allocate(kPitch * kRows);
    MUST(cu.cuMemsetD8(memory, 0xAA, kPitch * kRows));
    const std::vector<unsigned char> rows = pattern(kWidth * kRows, 5);
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = rows.data();
    copy.srcPitch = kWidth;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = memory;
    copy.dstPitch = kPitch;
    copy.dstXInBytes = 8;
    copy.WidthInBytes = kWidth;
    copy.Height = kRows;
    MUST(cu.cuMemcpy2D(&copy));
    std::vector<unsigned char> back(kPitch * kRows);
    MUST(cu.cuMemcpyDtoH(back.data(), memory, back.size()));
    for (size_t row = 0; row < kRows; ++row) {
        EXPECT(std::equal(rows.begin() + static_cast<std::ptrdiff_t>(row * kWidth),
                          rows.begin() + static_cast<std::ptrdiff_t>((row + 1) * kWidth),
                          back.begin() + static_cast<std::ptrdiff_t>(row * kPitch + 8)));
        EXPECT(back[row * kPitch + 7] == 0xAA && back[row * kPitch + 8 + kWidth] == 0xAA);
    }
    copy.WidthInBytes = kPitch + 1;
    EXPECT_RESULT(cu.cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
}

void fills() {
    open_device();
    const CUdeviceptr memory = allocate(4096);
    MUST(cu.cuMemsetD8(memory, 0, 4096));
    MUST(cu.cuMemsetD8(memory + 1, 0x11, 3));
    MUST(cu.cuMemsetD16(memory + 8, 0x2233, 2));
    MUST(cu.cuMemsetD32(memory + 16, 0x44556677, 2));
    MUST(cu.cuMemsetD2D8(memory + 64, 32, 0x99, 5, 3));
    std::vector<unsigned char> bytes(4096);
    MUST(cu.cuMemcpyDtoH(bytes.data(), memory, bytes.size()));
    EXPECT(bytes[0] == 0 && bytes[1] == 0x11 && bytes[3] == 0x11 && bytes[4] == 0);
    EXPECT(bytes[8] == 0x33 && bytes[9] == 0x22 && bytes[11] == 0x22 && bytes[12] == 0);
    EXPECT(bytes[16] == 0x77 && bytes[19] == 0x44 && bytes[23] == 0x44 && bytes[24] == 0);
    EXPECT(bytes[64] == 0x99 && bytes[68] == 0x99 && bytes[69] == 0 && bytes[96] == 0x99 &&
           bytes[128 + 4] == 0x99 && bytes[160] == 0);
    EXPECT_RESULT(cu.cuMemsetD32(memory + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);  // misaligned
}

void pitched_allocation() {
    open_device();
    CUdeviceptr memory = 0;
    size_t pitch = 0;
    MUST(cu.cuMemAllocPitch(&memory, &pitch, 1000, 4, 4));
    EXPECT(pitch >= 1000 && pitch % 4 == 0);
    MUST(cu.cuMemsetD8(memory, 1, pitch * 4));
}

void bad_arguments() {
    open_device();
    const CUdeviceptr memory = allocate(4096);
    char host[16] = {};
    EXPECT_RESULT(cu.cuMemcpyHtoD(0, host, 16), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cu.cuMemcpyDtoH(host, 0, 16), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cu.cuMemcpyHtoD(memory, nullptr, 16), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cu.cuMemsetD8(0, 1, 16), CUDA_ERROR_INVALID_VALUE);
}

void past_the_end() {
    open_device();
    const CUdeviceptr memory = allocate(4 << 20);
    std::vector<unsigned char> bytes(8 << 20);
    EXPECT_RESULT(cu.cuMemcpyHtoD(memory, bytes.data(), bytes.size()), CUDA_ERROR_INVALID_VALUE);
}

void same_device_peer_copy() {
    const CUcontext context = open_device();
    const CUdeviceptr from = allocate(kBytes);
    const CUdeviceptr to = allocate(kBytes);
    put(from, kBytes, 6);
    MUST(cu.cuMemcpyPeer(to, context, from, context, kBytes));
    EXPECT(holds(to, kBytes, 6));
}

const Case kCases[] = {
    {"copy.sizes_and_offsets", sizes_and_offsets},
    {"copy.unified_copy_finds_direction", unified_copy_finds_direction},
    {"copy.pinned_copies_do_not_wait", pinned_copies_do_not_wait},
    {"copy.pageable_source_may_change", pageable_source_may_change},
    {"copy.pageable_target_is_complete", pageable_target_is_complete},
    {"copy.rectangles", rectangles},
    {"copy.fills", fills},
    {"copy.pitched_allocation", pitched_allocation},
    {"copy.bad_arguments", bad_arguments},
    {"copy.past_the_end", past_the_end, Source::kBelieved},
    {"copy.same_device_peer_copy", same_device_peer_copy},
};

}  // namespace

std::span<const Case> copy_cases() {
    return kCases;
}

}  // namespace conformance
