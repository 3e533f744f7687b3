// SPDX-License-Identifier: BSD-3-Clause
// Copies of large ranges keep holes, and are right where there are none.
#include <dirent.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>

#include "support.hpp"

namespace softcuda_test {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHuge = (size_t{5} << 30) + 7;  // neither its size nor its middle fits 32 bits
constexpr size_t kLittle = size_t{4} << 20;

/** Bytes of device memory that take memory in this process's files. */
size_t device_pages() {
    size_t blocks = 0;
    DIR* descriptors = opendir("/proc/self/fd");
    while (const dirent* entry = readdir(descriptors)) {
        const std::string path = std::string("/proc/self/fd/") + entry->d_name;
        char target[128] = {};
        struct stat file {};
        if (readlink(path.c_str(), target, sizeof target - 1) > 0 &&
            std::strstr(target, "softcuda-memory") != nullptr && stat(path.c_str(), &file) == 0) {
            blocks += static_cast<size_t>(file.st_blocks) * 512;
        }
    }
    closedir(descriptors);
    return blocks;
}

/** Bytes of anonymous memory this process holds. */
size_t host_pages() {
    std::ifstream status("/proc/self/status");
    std::string line;
    while (std::getline(status, line)) {
        size_t kib = 0;
        if (std::sscanf(line.c_str(), "RssAnon: %zu", &kib) == 1) {
            return kib << 10;
        }
    }
    return SIZE_MAX;
}

/** Places that tell whether every part of a huge copy arrived: around 2 and 4 GiB and at the ends.
 */
std::vector<size_t> places() {
    constexpr size_t kTwo = size_t{1} << 31;
    return {0, kPage - 3, kTwo - 5, kTwo + kPage, 2 * kTwo - 5, 2 * kTwo + kPage, kHuge - 9};
}

void mark(CUdeviceptr at, unsigned char salt) {
    for (const size_t place : places()) {
        unsigned char bytes[9];
        std::iota(bytes, bytes + 9, static_cast<unsigned char>(salt + place / kPage));
        EXPECT_OK(cuMemcpyHtoD(at + place, bytes, 9));
    }
}

void expect_marks(CUdeviceptr at, unsigned char salt) {
    for (const size_t place : places()) {
        std::vector<unsigned char> bytes(9);
        std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(salt + place / kPage));
        EXPECT_EQ(bytes_at(at + place, 9), bytes) << place;
    }
}

/** Untouched memory of the host; reading it takes none. */
unsigned char* reserve(size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    return static_cast<unsigned char*>(memory);
}

TEST(Sparse, DeviceToDeviceTakesNoMemoryForHoles) {
    in_child({{"SOFTCUDA_MEMORY", "17179869184"}}, [] {
        start();
        const CUdeviceptr from = allocate(kHuge);
        const CUdeviceptr to = allocate(kHuge + kPage);
        mark(from, 1);
        EXPECT_OK(cuMemsetD8(to + (size_t{3} << 30), 0xee, 3 * kPage));  // what was there goes away
        EXPECT_OK(cuMemsetD8(to + kHuge, 0xab, 1));
        EXPECT_OK(cuMemcpyDtoD(to, from, kHuge));
        EXPECT_OK(cuCtxSynchronize());
        expect_marks(to, 1);
        EXPECT_EQ(bytes_at(to + (size_t{3} << 30), 3 * kPage),
                  std::vector<unsigned char>(3 * kPage));
        EXPECT_EQ(bytes_at(to + kHuge, 1), std::vector<unsigned char>{0xab});
        EXPECT_LT(device_pages(), kLittle);
    });
}

TEST(Sparse, ThroughUntouchedHostMemory) {
    in_child({{"SOFTCUDA_SPARSE", "65536"}}, [] {
        constexpr size_t kBytes = (size_t{256} << 20) + 7;
        start();
        const CUdeviceptr from = allocate(kBytes);
        const CUdeviceptr to = allocate(kBytes);
        unsigned char* host = reserve(kBytes);
        std::vector<unsigned char> bytes(100000);
        std::iota(bytes.begin(), bytes.end(), 1);
        const size_t end = kBytes - bytes.size();
        EXPECT_OK(cuMemcpyHtoD(from + 12345, bytes.data(), bytes.size()));
        EXPECT_OK(cuMemcpyHtoD(from + end, bytes.data(), bytes.size()));
        host[kBytes / 2] = 99;  // a hole of the source goes here
        [[maybe_unused]] const size_t before = host_pages();
        EXPECT_OK(cuMemcpyDtoH(host, from, kBytes));
        EXPECT_EQ(std::memcmp(host + 12345, bytes.data(), bytes.size()), 0);
        EXPECT_EQ(std::memcmp(host + end, bytes.data(), bytes.size()), 0);
        EXPECT_EQ(host[kBytes / 2], 0);
        EXPECT_OK(cuMemcpyHtoD(to, host, kBytes));
        EXPECT_EQ(bytes_at(to + 12345, bytes.size()), bytes);
        EXPECT_EQ(bytes_at(to + end, bytes.size()), bytes);
#ifndef __SANITIZE_THREAD__  // which notes each byte of host memory that is looked at
        EXPECT_LT(host_pages() - before, kLittle);
#endif
        EXPECT_LT(device_pages(), kLittle);
    });
}

/** Any alignment of either side, and data of any pattern, gives what memmove gives. */
TEST(Sparse, SameBytesAsADenseCopy) {
    in_child({{"SOFTCUDA_SPARSE", "4096"}}, [] {
        constexpr size_t kBytes = size_t{2} << 20;
        start();
        unsigned state = 1;
        const auto random = [&](size_t below) {
            state = state * 1664525U + 1013904223U;
            return (state >> 8) % below;
        };
        for (int round = 0; round < 60; ++round) {
            const CUdeviceptr from = allocate(kBytes);
            const CUdeviceptr to = allocate(kBytes);
            std::vector<unsigned char> image(kBytes);
            std::vector<unsigned char> target(kBytes);
            EXPECT_OK(cuMemsetD8(from, 0, kBytes));  // memory that was used before is not empty
            EXPECT_OK(cuMemsetD8(to, 0, kBytes));
            for (int run = 0; run < 8; ++run) {
                const size_t length = 1 + random(40000);
                const size_t place = random(kBytes - length);
                auto& which = run % 2 == 0 ? image : target;
                std::memset(which.data() + place, 1 + run, length);
                EXPECT_OK(
                    cuMemcpyHtoD((run % 2 == 0 ? from : to) + place, which.data() + place, length));
            }
            const size_t length = kPage + random(kBytes - 3 * kPage);
            const size_t out = random(kBytes - length);
            const size_t in = random(kBytes - length);
            if (round % 3 == 0) {
                EXPECT_OK(cuMemcpyDtoD(to + in, from + out, length));
            } else if (round % 3 == 1) {
                EXPECT_OK(cuMemcpyHtoD(to + in, image.data() + out, length));
            }
            if (round % 3 == 2) {
                std::vector<unsigned char> host = target;
                EXPECT_OK(cuMemcpyDtoH(host.data() + in, from + out, length));
                std::memcpy(target.data() + in, image.data() + out, length);
                EXPECT_EQ(host, target) << "round " << round;
            } else {
                std::memcpy(target.data() + in, image.data() + out, length);
                EXPECT_EQ(bytes_at(to, kBytes), target) << "round " << round;
            }
            EXPECT_OK(cuMemFree(from));
            EXPECT_OK(cuMemFree(to));
        }
    });
}

TEST(Sparse, AllocationsThatShareAFile) {
    in_child({{"SOFTCUDA_SPARSE", "4096"}}, [] {
        start();
        const CUdeviceptr first = allocate(100000);
        const CUdeviceptr from = allocate(100000);
        const CUdeviceptr to = allocate(100000);
        const CUdeviceptr last = allocate(100000);
        std::vector<unsigned char> bytes(100000);
        std::iota(bytes.begin(), bytes.end(), 0);
        for (const CUdeviceptr each : {first, from, last}) {
            EXPECT_OK(cuMemcpyHtoD(each, bytes.data(), bytes.size()));
        }
        EXPECT_OK(cuMemcpyDtoD(to, from, bytes.size()));
        for (const CUdeviceptr each : {first, from, to, last}) {
            EXPECT_EQ(bytes_at(each, bytes.size()), bytes);
        }
        EXPECT_OK(cuMemcpyDtoD(from, from + 5000, 90000));  // overlapping: as memmove
        std::memmove(bytes.data(), bytes.data() + 5000, 90000);
        EXPECT_EQ(bytes_at(from, bytes.size()), bytes);
    });
}

}  // namespace
}  // namespace softcuda_test
