// SPDX-License-Identifier: BSD-3-Clause
// Differential testing of collectives: the same call on host memory, and on every placement of its
// buffers in device memory, must leave the same bytes, guards and gaps included.
#pragma once

#include <mpi.h>
#include <mpi-ext.h>

#include <cstring>
#include <string>
#include <vector>

#include "tools/gpu/gpu.hpp"

namespace beeline::test {

enum class Form { kBlocking, kNonblocking, kPersistent };
inline constexpr const char* kFormNames[] = {"blocking", "non-blocking", "persistent"};

/// Where the send and the receive buffer of this rank are.
struct Placement {
    const char* name;
    bool send[2];  ///< on the device, on even and on odd ranks
    bool receive[2];
};
inline constexpr Placement kPlacements[] = {
    {"device to device", {true, true}, {true, true}},
    {"device to host", {true, true}, {false, false}},
    {"host to device", {false, false}, {true, true}},
    {"mixed by rank", {true, false}, {true, false}},
    {"crossed by rank", {true, false}, {false, true}},
};

class Differential {
 public:
    static constexpr std::size_t kGuard = 256;

    Differential(gpu::Gpu& gpu, int rank) : gpu_(gpu), rank_(rank) {}

    /// `call(send, receive)` runs the collective to completion. Both buffers hold `bytes` that
    /// differ by rank and are surrounded by guards; `call` may ignore either.
    template <class Call>
    void run(const std::string& name, std::size_t send_bytes, std::size_t receive_bytes,
             Call&& call) {
        const std::vector<char> send = pattern(send_bytes, 17);
        const std::vector<char> receive = pattern(receive_bytes, 91);
        std::vector<char> expected_send = send;
        std::vector<char> expected = receive;
        call(expected_send.data() + kGuard, expected.data() + kGuard);
        expect(name + " (host)", expected_send, send, "send");
        for (const Placement& placement : kPlacements) {
            const int odd = rank_ % 2;
            Place from(gpu_, send, placement.send[odd]);
            Place to(gpu_, receive, placement.receive[odd]);
            call(from.address() + kGuard, to.address() + kGuard);
            const std::string what = name + " (" + placement.name + ")";
            expect(what, from.contents(), send, "send");
            expect(what, to.contents(), expected, "receive");
            ++checks_;
        }
    }

    int failures() const { return failures_; }
    int checks() const { return checks_; }
    void fail(const std::string& what) {
        if (++failures_ <= 20) {
            std::fprintf(stderr, "FAIL rank %d: %s\n", rank_, what.c_str());
        }
    }

 private:
    /// A buffer on the host or on the device, filled at birth.
    class Place {
     public:
        Place(gpu::Gpu& gpu, const std::vector<char>& bytes, bool on_device)
            : buffer_(&gpu, on_device ? gpu::Kind::kDevice : gpu::Kind::kHost, bytes.size()) {
            buffer_.write(0, bytes.data(), bytes.size());
        }
        char* address() const { return reinterpret_cast<char*>(buffer_.at()); }
        std::vector<char> contents() const {
            std::vector<char> bytes(buffer_.size());
            buffer_.read(0, bytes.data(), bytes.size());
            return bytes;
        }

     private:
        gpu::Buffer buffer_;
    };

    /// Any bytes do: results are compared bit by bit with those of the same operation on the host.
    std::vector<char> pattern(std::size_t bytes, unsigned seed) const {
        std::vector<char> result(bytes + 2 * kGuard);
        unsigned value = seed + 1000u * static_cast<unsigned>(rank_ + 1);
        for (char& byte : result) {
            value = value * 1664525u + 1013904223u;
            // Exponents of doubles stay below that of infinity: no NaN, whose bits may vary.
            byte = static_cast<char>((value >> 24) & 0x3fu);
        }
        return result;
    }

    void expect(const std::string& what, const std::vector<char>& have,
                const std::vector<char>& want, const char* which) {
        for (std::size_t i = 0; i < want.size(); ++i) {
            if (have[i] != want[i]) {
                fail(what + ": " + which + " buffer differs at byte " +
                     std::to_string(static_cast<long>(i) - static_cast<long>(kGuard)) + " of " +
                     std::to_string(want.size() - 2 * kGuard));
                return;
            }
        }
    }

    gpu::Gpu& gpu_;
    int rank_;
    int failures_ = 0;
    int checks_ = 0;
};

/// Runs one of the three forms of a collective to its end; the persistent one twice. Non-blocking
/// ones end in MPI_Test when `poll`, else in MPI_Wait.
#define BEELINE_COLLECTIVE(form, Name, name, ...)                          \
    do {                                                                   \
        MPI_Request request_ = MPI_REQUEST_NULL;                           \
        switch (form) {                                                    \
            case ::beeline::test::Form::kBlocking:                         \
                MPI_##Name(__VA_ARGS__);                                   \
                break;                                                     \
            case ::beeline::test::Form::kNonblocking: {                    \
                MPI_I##name(__VA_ARGS__, &request_);                       \
                int done_ = 0;                                             \
                while (done_ == 0) {                                       \
                    MPI_Test(&request_, &done_, MPI_STATUS_IGNORE);        \
                }                                                          \
                break;                                                     \
            }                                                              \
            case ::beeline::test::Form::kPersistent:                       \
                MPIX_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request_); \
                for (int round_ = 0; round_ < 2; ++round_) {               \
                    MPI_Start(&request_);                                  \
                    MPI_Wait(&request_, MPI_STATUS_IGNORE);                \
                }                                                          \
                MPI_Request_free(&request_);                               \
                break;                                                     \
        }                                                                  \
    } while (false)

}  // namespace beeline::test
