// SPDX-License-Identifier: BSD-3-Clause
// What the MPI test programs share: ranks, a GPU when one is asked for, guarded buffers and the
// verdict.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tools/beeline-bench/pattern.hpp"
#include "tools/gpu/gpu.hpp"

namespace beeline::test {

/// One MPI test program. The command line names the kinds of memory to use (gpu::Kind); without
/// any only host memory is used.
class Harness {
 public:
    /// `threads`: what the program needs of MPI; less is a failure.
    Harness(int* argc, char*** argv, int threads = MPI_THREAD_SINGLE)
        : name_(base_name((*argv)[0])) {
        int provided = MPI_THREAD_SINGLE;
        MPI_Init_thread(argc, argv, threads, &provided);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
        for (int index = 1; index < *argc; ++index) {
            for (const gpu::Kind kind : gpu::kAllKinds) {
                if (std::strcmp((*argv)[index], gpu::to_string(kind)) == 0) {
                    kinds.push_back(kind);
                }
            }
        }
        check(provided >= threads, "MPI offers thread level %d instead of %d", provided, threads);
        if (kinds.empty()) {
            kinds.push_back(gpu::Kind::kHost);
        }
        if (kinds.size() > 1 || kinds[0] != gpu::Kind::kHost) {
            open_gpu();
        }
    }
    Harness(const Harness&) = delete;
    Harness& operator=(const Harness&) = delete;

    /// Counts one check; when it does not hold, prints what was tested. Any thread may call it.
    [[gnu::format(printf, 3, 4)]] void check(bool holds, const char* format, ...) {
        ++checks_;
        if (holds) {
            return;
        }
        // A broken path fails thousands of cases; the first few tell the story.
        if (++failures_ <= 10) {
            char text[512];
            std::va_list arguments;
            va_start(arguments, format);
            std::vsnprintf(text, sizeof text, format, arguments);
            va_end(arguments);
            std::printf("FAIL %s: rank %d: %s\n", name_.c_str(), rank, text);
            std::fflush(stdout);
        }
    }

    bool has(gpu::Kind kind) const {
        for (const gpu::Kind mine : kinds) {
            if (mine == kind) {
                return true;
            }
        }
        return false;
    }

    /// Agrees on the outcome, says it on rank 0 and finalizes MPI. Returns the exit code.
    int finish() {
        long total[2] = {failures_.load(), checks_.load()};
        MPI_Allreduce(MPI_IN_PLACE, total, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        if (rank == 0) {
            std::printf("%s %s: %d ranks, %ld checks, %ld failures\n",
                        total[0] == 0 ? "OK" : "FAIL", name_.c_str(), ranks, total[1], total[0]);
            std::fflush(stdout);
        }
        gpu.reset();
        MPI_Finalize();
        return total[0] == 0 ? 0 : 1;
    }

    int rank = 0;
    int ranks = 0;
    std::vector<gpu::Kind> kinds;
    std::unique_ptr<gpu::Gpu> gpu;

 private:
    static std::string base_name(const char* path) {
        const char* slash = std::strrchr(path, '/');
        return slash == nullptr ? path : slash + 1;
    }
    void open_gpu() {
        std::string why;
        // Ranks of one machine in these tests: the rank is as good as the local one.
        gpu = gpu::Gpu::open(rank, why);
        if (!gpu) {
            std::printf("FAIL %s: rank %d: no GPU: %s\n", name_.c_str(), rank, why.c_str());
            std::fflush(stdout);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }

    std::string name_;
    std::atomic<long> checks_ = 0;
    std::atomic<long> failures_ = 0;
};

/// A buffer with an image of what it should hold, so that a byte changed anywhere in it shows, also
/// around the payload.
class Area {
 public:
    static constexpr std::size_t kGuard = 64;

    /// Room for payloads of up to `bytes` at offsets of up to kGuard.
    Area(gpu::Gpu* gpu, gpu::Kind kind, std::size_t bytes)
        : buffer_(gpu, kind, bytes + 3 * kGuard), image_(buffer_.size()), seen_(buffer_.size()) {}

    /// Places a payload of `bytes` at `offset` and fills everything with a pattern of `seed`.
    void set(std::size_t bytes, std::size_t offset, std::uint64_t seed) {
        bytes_ = bytes;
        start_ = kGuard + offset;
        bench::fill_pattern({image_.data(), span()}, ~seed);
        bench::fill_pattern({image_.data() + start_, bytes}, seed);
        buffer_.write(0, image_.data(), span());
    }
    /// The address that a payload of `bytes` at `offset` has, for requests made before it is set.
    void* data_for(std::size_t bytes, std::size_t offset) {
        set(bytes, offset, 0);
        return data();
    }
    /// As set(), with data that no message carries.
    void poison(std::size_t bytes, std::size_t offset, std::uint64_t seed) {
        set(bytes, offset, ~seed * 3);
    }
    /// From now on the payload should begin with `bytes` bytes of the pattern of `seed`.
    void expect(std::size_t bytes, std::uint64_t seed) {
        bench::fill_pattern({image_.data() + start_, bytes}, seed);
    }
    /// Whatever the first `bytes` bytes of the payload are now is right.
    void accept(std::size_t bytes) { buffer_.read(start_, image_.data() + start_, bytes); }
    /// Access to the expected payload, for layouts that are not contiguous.
    unsigned char* image() { return image_.data() + start_; }
    /// Writes the image to the buffer.
    void upload() { buffer_.write(0, image_.data(), span()); }

    /// Whether payload and surroundings are byte for byte as expected.
    bool intact() {
        buffer_.read(0, seen_.data(), span());
        return std::memcmp(seen_.data(), image_.data(), span()) == 0;
    }
    /// The payload, for MPI.
    void* data() const { return buffer_.at(start_); }
    gpu::Kind kind() const { return buffer_.kind(); }

 private:
    std::size_t span() const { return start_ + bytes_ + kGuard; }

    gpu::Buffer buffer_;
    std::vector<unsigned char> image_;
    std::vector<unsigned char> seen_;
    std::size_t bytes_ = 0;
    std::size_t start_ = kGuard;
};

}  // namespace beeline::test
