// SPDX-License-Identifier: BSD-3-Clause
// Random programs of point-to-point messages, and which receive MPI's rules give each message to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace beeline::test {

inline constexpr int kAnything = -1;  ///< a wildcard, for source or tag

/// A reproducible source of choices (splitmix64 by S. Vigna, public domain).
class Choices {
 public:
    explicit Choices(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }
    /// From 0 to `limit` - 1.
    int below(int limit) { return static_cast<int>(next() % static_cast<std::uint64_t>(limit)); }
    bool percent(int chance) { return below(100) < chance; }

 private:
    std::uint64_t state_;
};

/// A datatype of bytes: one element as runs of bytes at places relative to its address.
struct Shape {
    struct Run {
        std::ptrdiff_t start;
        std::size_t bytes;
    };
    const char* name;
    std::vector<Run> runs;
    std::ptrdiff_t lower;
    std::size_t extent;
    std::size_t packed() const {
        std::size_t sum = 0;
        for (const Run& run : runs) {
            sum += run.bytes;
        }
        return sum;
    }
};

/// Shape 0 is plain bytes. The others have gaps, blocks out of order, or begin before their
/// address.
inline const std::vector<Shape>& shapes() {
    static const std::vector<Shape> all = {
        {"bytes", {{0, 1}}, 0, 1},
        {"vector", {{0, 12}, {28, 12}, {56, 12}, {84, 12}, {112, 12}}, 0, 124},
        {"indexed", {{32, 8}, {0, 24}, {72, 16}}, 0, 96},
        {"struct", {{0, 1}, {8, 16}, {25, 3}}, 0, 32},
        {"sparse", {{0, 4}}, 0, 10},
        {"shifted", {{5, 16}}, 5, 16},
        {"negative", {{-12, 4}, {2, 3}}, -12, 20},
    };
    return all;
}

/// Data as a call names it.
struct Data {
    int shape = 0;
    std::size_t count = 0;
    int memory = 0;  ///< index into the kinds of memory under test
    std::size_t bytes() const { return count * shapes()[static_cast<std::size_t>(shape)].packed(); }
};

enum class Send {
    kIsend,
    kIssend,
    kIbsend,
    kBsend,
    kSendInit,
    kSsendInit,
    kIsendFree,  ///< MPI_Request_free while it is under way
    // From here on the receive has to be posted already: these calls wait, or demand it.
    kSend,
    kSsend,
    kRsend,
    kSendrecv,
};
inline constexpr int kLocalSends = 7;
inline constexpr int kSends = 11;
inline constexpr const char* kSendNames[kSends] = {"isend",     "issend",     "ibsend",     "bsend",
                                                   "send_init", "ssend_init", "isend+free", "send",
                                                   "ssend",     "rsend",      "sendrecv"};
constexpr bool needs_posted(Send call) {
    return call >= Send::kSend;
}

enum class Take { kIrecv, kRecvInit, kRecv, kProbe, kIprobe, kMprobe, kImprobe, kSendrecv };
inline constexpr int kTakes = 8;
inline constexpr const char* kTakeNames[kTakes] = {"irecv",  "recv_init", "recv",    "probe",
                                                   "iprobe", "mprobe",    "improbe", "sendrecv"};

/// Ranks are those of the world; a communicator may number them differently.
struct Message {
    int source = 0;
    int destination = 0;
    int communicator = 0;
    int tag = 0;
    Data data;
    Send call = Send::kIsend;
};

struct Receive {
    int destination = 0;  ///< who receives
    int communicator = 0;
    int source = 0;  ///< or kAnything
    int tag = 0;     ///< or kAnything
    Data data;
    Take call = Take::kIrecv;
    bool early = false;  ///< posted before anything is sent
    int own_source = 0;  ///< what the wildcards stand in for
    int own_tag = 0;
    int message = -1;  ///< what it gets; -1 when several outcomes are right
};

/// What all ranks do between two points where nothing is under way at them. Early receives are
/// posted first, then what is sent with other calls than sendrecv, then the late receives.
struct Phase {
    std::vector<Message> messages;  ///< a rank sends its own in this order, sendrecv's last
    std::vector<Receive> receives;  ///< a rank posts its own in this order, early ones first
    bool barrier = false;           ///< between the early receives and the sends
    bool anything = false;          ///< on kOpenCommunicator all receives take whatever comes
    bool cancels = false;           ///< each rank posts a receive that nobody sends to
};

inline constexpr int kCommunicators = 3;
inline constexpr int kOpenCommunicator = 2;
inline constexpr int kTagsPerSource = 3;
inline constexpr std::size_t kLargestBuffered = 70000;

/// The phases of program `seed`. The same on all ranks; no order of events makes it deadlock. Of
/// the receives with one right outcome, `truncate` percent are too small for it.
std::vector<Phase> make_program(std::uint64_t seed, int ranks, int memories, int truncate);

}  // namespace beeline::test
