// SPDX-License-Identifier: BSD-3-Clause
// Every sending call against every receiving call, kind of memory on each side and size, checked
// byte by byte.
#include <array>

#include "harness.hpp"

namespace beeline::test {
namespace {

enum class SendCall {
    kSend,
    kIsend,
    kSsend,
    kIssend,
    kBsend,
    kIbsend,
    kRsend,
    kIrsend,
    kSendInit,
    kSsendInit,
    kBsendInit,
    kRsendInit,
    kSendrecv,
};
constexpr int kSendCalls = 13;
constexpr std::array<const char*, kSendCalls> kSendNames = {
    "send",   "isend",     "ssend",      "issend",     "bsend",      "ibsend",  "rsend",
    "irsend", "send_init", "ssend_init", "bsend_init", "rsend_init", "sendrecv"};

enum class ReceiveCall {
    kRecv,
    kIrecv,
    kRecvInit,
    kProbe,
    kIprobe,
    kMprobe,
    kImprobe,
    kAny,
};
constexpr int kReceiveCalls = 8;
constexpr std::array<const char*, kReceiveCalls> kReceiveNames = {
    "recv", "irecv", "recv_init", "probe", "iprobe", "mprobe", "improbe", "any"};

constexpr int kGoTag = 30000;
constexpr std::size_t kLargest = 3 << 20;

/// Around every limit of the defaults: the inline size, the eager limits, the staging chunk.
constexpr std::size_t kSizes[] = {0,    1,    7,     63,    64,     65,     4096,   8191,
                                  8192, 8193, 65536, 65537, 262143, 262144, 262145, kLargest};
/// Where the whole product of calls is tried: inline, eager and rendezvous.
constexpr std::size_t kProductSizes[] = {7, 3001, 8193};
constexpr std::size_t kOffsets[] = {0, 1, 13};

constexpr bool is_ready(SendCall call) {
    return call == SendCall::kRsend || call == SendCall::kIrsend || call == SendCall::kRsendInit;
}
/// The call returns without waiting for the receiver, whatever the size.
constexpr bool is_local(SendCall call) {
    return call == SendCall::kIsend || call == SendCall::kIssend || call == SendCall::kBsend ||
           call == SendCall::kIbsend || call == SendCall::kSendInit ||
           call == SendCall::kSsendInit || call == SendCall::kBsendInit;
}
constexpr bool can_post_early(ReceiveCall call) {
    return call == ReceiveCall::kIrecv || call == ReceiveCall::kRecvInit ||
           call == ReceiveCall::kAny;
}

struct Case {
    SendCall send;
    ReceiveCall receive;
    std::size_t bytes;
    std::size_t offset;
    int tag;
    std::uint64_t seed;
    /// The receive is posted before the message is sent, or after it has arrived; neither: as it
    /// comes.
    bool posted;
    bool unexpected;
};

class Matrix {
 public:
    explicit Matrix(Harness& harness) : harness_(harness), attached_(2 * kLargest + (1 << 16)) {
        for (const gpu::Kind kind : harness_.kinds) {
            areas_.push_back(std::make_unique<Area>(harness_.gpu.get(), kind, kLargest));
        }
        MPI_Buffer_attach(attached_.data(), static_cast<int>(attached_.size()));
    }
    ~Matrix() {
        void* address = nullptr;
        int size = 0;
        MPI_Buffer_detach(&address, &size);
    }
    Matrix(const Matrix&) = delete;
    Matrix& operator=(const Matrix&) = delete;

    void run_with(int peer) {
        peer_ = peer;
        for (std::size_t mine = 0; mine < areas_.size(); ++mine) {
            for (std::size_t other = 0; other < areas_.size(); ++other) {
                // The lower rank sends from memory of kind `mine`, the higher receives into
                // `other`; then back.
                run_pair(harness_.rank < peer, *areas_[harness_.rank < peer ? mine : other]);
                run_pair(harness_.rank > peer, *areas_[harness_.rank < peer ? mine : other]);
            }
        }
    }

 private:
    void run_pair(bool sends, Area& area) {
        for (const std::size_t bytes : kProductSizes) {
            for (int send = 0; send < kSendCalls; ++send) {
                for (int receive = 0; receive < kReceiveCalls; ++receive) {
                    run_case(sends, area, send, receive, bytes);
                }
            }
        }
        for (const std::size_t bytes : kSizes) {
            // Large ones with a few calls only: those that differ in protocol.
            const int step = bytes >= kLargest ? 3 : 1;
            for (int send = 0; send < kSendCalls; send += step) {
                run_case(sends, area, send, (send + static_cast<int>(bytes)) % kReceiveCalls,
                         bytes);
            }
        }
    }

    void run_case(bool sends, Area& area, int send, int receive, std::size_t bytes) {
        ++number_;
        Case c{};
        c.send = static_cast<SendCall>(send);
        c.receive = static_cast<ReceiveCall>(receive);
        if (is_ready(c.send) && !can_post_early(c.receive)) {
            return;
        }
        c.bytes = bytes;
        c.offset = kOffsets[number_ % 3];
        c.tag = static_cast<int>(number_ % 1000);
        c.seed = bench::make_seed(number_, static_cast<unsigned>(sends ? harness_.rank : peer_),
                                  static_cast<unsigned>(sends ? peer_ : harness_.rank), 0);
        c.posted = is_ready(c.send);
        c.unexpected = !c.posted && is_local(c.send) && number_ % 2 == 0;
        if (sends) {
            send_side(c, area);
        } else {
            receive_side(c, area);
        }
    }

    void report(bool holds, const Case& c, const Area& area, const char* what) {
        harness_.check(holds, "%s -> %s, %zu bytes at offset %zu, my memory %s, peer %d%s: %s",
                       kSendNames[static_cast<std::size_t>(c.send)],
                       kReceiveNames[static_cast<std::size_t>(c.receive)], c.bytes, c.offset,
                       gpu::to_string(area.kind()), peer_, c.unexpected ? ", unexpected" : "",
                       what);
    }

    void send_side(const Case& c, Area& area) {
        area.set(c.bytes, c.offset, c.seed);
        if (c.posted) {
            MPI_Recv(nullptr, 0, MPI_BYTE, peer_, kGoTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Request request = MPI_REQUEST_NULL;
        start_send(c, area.data(), &request);
        if (c.unexpected) {
            MPI_Send(nullptr, 0, MPI_BYTE, peer_, kGoTag, MPI_COMM_WORLD);
        }
        finish_request(&request, MPI_STATUS_IGNORE);
        report(area.intact(), c, area, "the send buffer changed");
    }

    void start_send(const Case& c, void* data, MPI_Request* request) {
        const int n = static_cast<int>(c.bytes);
        const MPI_Comm comm = MPI_COMM_WORLD;
        switch (c.send) {
            case SendCall::kSend:
                MPI_Send(data, n, MPI_BYTE, peer_, c.tag, comm);
                return;
            case SendCall::kIsend:
                MPI_Isend(data, n, MPI_BYTE, peer_, c.tag, comm, request);
                return;
            case SendCall::kSsend:
                MPI_Ssend(data, n, MPI_BYTE, peer_, c.tag, comm);
                return;
            case SendCall::kIssend:
                MPI_Issend(data, n, MPI_BYTE, peer_, c.tag, comm, request);
                return;
            case SendCall::kBsend:
                MPI_Bsend(data, n, MPI_BYTE, peer_, c.tag, comm);
                return;
            case SendCall::kIbsend:
                MPI_Ibsend(data, n, MPI_BYTE, peer_, c.tag, comm, request);
                return;
            case SendCall::kRsend:
                MPI_Rsend(data, n, MPI_BYTE, peer_, c.tag, comm);
                return;
            case SendCall::kIrsend:
                MPI_Irsend(data, n, MPI_BYTE, peer_, c.tag, comm, request);
                return;
            case SendCall::kSendInit:
                MPI_Send_init(data, n, MPI_BYTE, peer_, c.tag, comm, request);
                break;
            case SendCall::kSsendInit:
                MPI_Ssend_init(data, n, MPI_BYTE, peer_, c.tag, comm, request);
                break;
            case SendCall::kBsendInit:
                MPI_Bsend_init(data, n, MPI_BYTE, peer_, c.tag, comm, request);
                break;
            case SendCall::kRsendInit:
                MPI_Rsend_init(data, n, MPI_BYTE, peer_, c.tag, comm, request);
                break;
            case SendCall::kSendrecv:
                MPI_Sendrecv(data, n, MPI_BYTE, peer_, c.tag, nullptr, 0, MPI_BYTE, MPI_PROC_NULL,
                             0, comm, MPI_STATUS_IGNORE);
                return;
        }
        MPI_Startall(1, request);
    }

    /// Waits, and frees the request if it was a persistent one.
    static void finish_request(MPI_Request* request, MPI_Status* status) {
        if (*request != MPI_REQUEST_NULL) {
            MPI_Wait(request, status);
        }
        if (*request != MPI_REQUEST_NULL) {
            MPI_Request_free(request);
        }
    }

    void receive_side(const Case& c, Area& area) {
        area.poison(c.bytes, c.offset, c.seed);
        MPI_Request request = MPI_REQUEST_NULL;
        if (c.unexpected) {
            MPI_Recv(nullptr, 0, MPI_BYTE, peer_, kGoTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Status status;
        std::memset(&status, 0xff, sizeof status);
        status.MPI_ERROR = MPI_SUCCESS;
        start_receive(c, area, &request, &status);
        if (c.posted) {
            MPI_Send(nullptr, 0, MPI_BYTE, peer_, kGoTag, MPI_COMM_WORLD);
        }
        finish_request(&request, &status);
        area.expect(c.bytes, c.seed);
        report(area.intact(), c, area, "wrong data, or bytes around it changed");
        check_status(c, area, status);
    }

    void check_status(const Case& c, const Area& area, const MPI_Status& status) {
        int count = -1;
        MPI_Get_count(&status, MPI_BYTE, &count);
        report(count == static_cast<int>(c.bytes), c, area, "wrong count in the status");
        report(status.MPI_SOURCE == peer_ && status.MPI_TAG == c.tag, c, area,
               "wrong source or tag in the status");
    }

    void start_receive(const Case& c, const Area& area, MPI_Request* request, MPI_Status* status) {
        const int n = static_cast<int>(c.bytes);
        const MPI_Comm comm = MPI_COMM_WORLD;
        int flag = 0;
        MPI_Message message = MPI_MESSAGE_NULL;
        switch (c.receive) {
            case ReceiveCall::kRecv:
                MPI_Recv(area.data(), n, MPI_BYTE, peer_, c.tag, comm, status);
                return;
            case ReceiveCall::kIrecv:
                MPI_Irecv(area.data(), n, MPI_BYTE, peer_, c.tag, comm, request);
                return;
            case ReceiveCall::kRecvInit:
                MPI_Recv_init(area.data(), n, MPI_BYTE, peer_, c.tag, comm, request);
                MPI_Start(request);
                return;
            case ReceiveCall::kAny:
                // The go message of this case was received already or is still to be sent by us.
                MPI_Irecv(area.data(), n, MPI_BYTE, peer_, MPI_ANY_TAG, comm, request);
                return;
            case ReceiveCall::kProbe:
                MPI_Probe(peer_, c.tag, comm, status);
                check_status(c, area, *status);
                MPI_Recv(area.data(), n, MPI_BYTE, peer_, c.tag, comm, status);
                return;
            case ReceiveCall::kIprobe:
                while (flag == 0) {
                    MPI_Iprobe(MPI_ANY_SOURCE, c.tag, comm, &flag, status);
                }
                check_status(c, area, *status);
                MPI_Recv(area.data(), n, MPI_BYTE, status->MPI_SOURCE, status->MPI_TAG, comm,
                         status);
                return;
            case ReceiveCall::kMprobe:
                MPI_Mprobe(peer_, c.tag, comm, &message, status);
                check_status(c, area, *status);
                MPI_Mrecv(area.data(), n, MPI_BYTE, &message, status);
                report(message == MPI_MESSAGE_NULL, c, area, "mrecv left the message handle");
                return;
            case ReceiveCall::kImprobe:
                while (flag == 0) {
                    MPI_Improbe(peer_, MPI_ANY_TAG, comm, &flag, &message, status);
                }
                check_status(c, area, *status);
                MPI_Imrecv(area.data(), n, MPI_BYTE, &message, request);
                return;
        }
    }

    Harness& harness_;
    std::vector<std::unique_ptr<Area>> areas_;
    std::vector<unsigned char> attached_;
    int peer_ = 0;
    unsigned number_ = 0;
};

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    beeline::test::Harness harness(&argc, &argv);
    {
        beeline::test::Matrix matrix(harness);
        // Partners by flipping a bit of the rank: every rank has exactly one in each round.
        for (int bit = 1; bit < harness.ranks; bit *= 2) {
            const int peer = harness.rank ^ bit;
            if (peer < harness.ranks) {
                matrix.run_with(peer);
            }
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    return harness.finish();
}
