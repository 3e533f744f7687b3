// SPDX-License-Identifier: BSD-3-Clause
// Every sending call against every receiving call, kind of memory on each side, sort of
// communicator and size, checked byte by byte.
#include "calls.hpp"
#include "harness.hpp"
#include "routes.hpp"

namespace beeline::test {
namespace {

constexpr int kGoTag = 30000;
constexpr std::size_t kLargest = 3 << 20;

/// Around every limit of the defaults: the inline size, the eager limits, the staging chunk.
constexpr std::size_t kSizes[] = {0,    1,    7,     63,    64,     65,     4096,   8191,
                                  8192, 8193, 65536, 65537, 262143, 262144, 262145, kLargest};
/// Where the whole product of calls is tried: inline, eager and rendezvous.
constexpr std::size_t kProductSizes[] = {7, 3001, 8193};
/// On the other communicators: one call of each side in turn.
constexpr std::size_t kSampleSizes[] = {0, 100, 3001, 20000, 300000};
constexpr std::size_t kOffsets[] = {0, 1, 13};

struct Case {
    const SendCall& send;
    const ReceiveCall& receive;
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

    void run_with(int partner) {
        partner_ = partner;
        number_ = static_cast<unsigned>(harness_.rank + partner);  // the same on both sides
        for (const Route& route : routes_.to(partner)) {
            route_ = route;
            for (std::size_t mine = 0; mine < areas_.size(); ++mine) {
                for (std::size_t other = 0; other < areas_.size(); ++other) {
                    // The lower rank sends from memory of kind `mine`, the higher receives into
                    // `other`; then back.
                    Area& area = *areas_[harness_.rank < partner ? mine : other];
                    run_pair(harness_.rank < partner, area);
                    run_pair(harness_.rank > partner, area);
                }
            }
        }
    }

 private:
    void run_pair(bool sends, Area& area) {
        if (route_.comm != MPI_COMM_WORLD) {
            for (std::size_t i = 0; i < std::size(kSampleSizes); ++i) {
                run_case(sends, area, number_ % kSendCalls.size(), number_ % kReceiveCalls.size(),
                         kSampleSizes[i]);
            }
            return;
        }
        for (const std::size_t bytes : kProductSizes) {
            for (std::size_t send = 0; send < kSendCalls.size(); ++send) {
                for (std::size_t receive = 0; receive < kReceiveCalls.size(); ++receive) {
                    run_case(sends, area, send, receive, bytes);
                }
            }
        }
        for (const std::size_t bytes : kSizes) {
            // Large ones with a few calls only: those that differ in protocol.
            const std::size_t step = bytes >= kLargest ? 3 : 1;
            for (std::size_t send = 0; send < kSendCalls.size(); send += step) {
                run_case(sends, area, send, (send + bytes) % kReceiveCalls.size(), bytes);
            }
        }
    }

    void run_case(bool sends, Area& area, std::size_t send, std::size_t receive,
                  std::size_t bytes) {
        ++number_;
        const SendCall& by = kSendCalls[send];
        if (by.ready && !kReceiveCalls[receive].early) {
            return;
        }
        Case c{by, kReceiveCalls[receive], bytes, kOffsets[number_ % 3], 0, 0, by.ready, false};
        c.tag = static_cast<int>(number_ % 1000);
        c.seed = bench::make_seed(number_, static_cast<unsigned>(sends ? harness_.rank : partner_),
                                  static_cast<unsigned>(sends ? partner_ : harness_.rank), 0);
        c.unexpected = !c.posted && by.local() && number_ % 2 == 0;
        if (sends) {
            send_side(c, area);
        } else {
            receive_side(c, area);
        }
    }

    void report(bool holds, const Case& c, const Area& area, const char* what) {
        harness_.check(holds, "%s -> %s, %s, %zu bytes at offset %zu, my memory %s, peer %d%s: %s",
                       c.send.name, c.receive.name, route_.name, c.bytes, c.offset,
                       gpu::to_string(area.kind()), partner_, c.unexpected ? ", unexpected" : "",
                       what);
    }
    Operands operands(const Case& c, const Area& area) const {
        return {area.data(), static_cast<int>(c.bytes), MPI_BYTE, route_.peer, c.tag, route_.comm};
    }
    void say_go() const { MPI_Send(nullptr, 0, MPI_BYTE, route_.peer, kGoTag, route_.comm); }
    void wait_for_go() const {
        MPI_Recv(nullptr, 0, MPI_BYTE, route_.peer, kGoTag, route_.comm, MPI_STATUS_IGNORE);
    }

    void send_side(const Case& c, Area& area) {
        area.set(c.bytes, c.offset, c.seed);
        if (c.posted) {
            wait_for_go();
        }
        MPI_Request request = MPI_REQUEST_NULL;
        start_send(c.send, operands(c, area), &request);
        if (c.unexpected) {
            say_go();
        }
        finish(&request, MPI_STATUS_IGNORE);
        report(area.intact(), c, area, "the send buffer changed");
    }

    void receive_side(const Case& c, Area& area) {
        area.poison(c.bytes, c.offset, c.seed);
        MPI_Request request = MPI_REQUEST_NULL;
        if (c.unexpected) {
            // By its tag; the message itself has been sent before and waits.
            wait_for_go();
        }
        MPI_Status status = untouched();
        MPI_Status seen = untouched();
        c.receive.start(operands(c, area), &request, &status, &seen);
        if (c.posted) {
            say_go();
        }
        finish(&request, &status);
        area.expect(c.bytes, c.seed);
        report(area.intact(), c, area, "wrong data, or bytes around it changed");
        check_status(c, area, status);
        if (seen.MPI_SOURCE != MPI_UNDEFINED) {
            check_status(c, area, seen);
        }
    }

    void check_status(const Case& c, const Area& area, const MPI_Status& status) {
        int count = -1;
        MPI_Get_count(&status, MPI_BYTE, &count);
        report(count == static_cast<int>(c.bytes), c, area, "wrong count in the status");
        report(status.MPI_SOURCE == route_.peer && status.MPI_TAG == c.tag, c, area,
               "wrong source or tag in the status");
    }

    Harness& harness_;
    Routes routes_;
    std::vector<std::unique_ptr<Area>> areas_;
    std::vector<unsigned char> attached_;
    Route route_{};
    int partner_ = 0;
    unsigned number_ = 0;
};

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    beeline::test::Harness harness(&argc, &argv);
    {
        beeline::test::Matrix matrix(harness);
        beeline::test::with_partners(harness.rank, harness.ranks,
                                     [&](int partner) { matrix.run_with(partner); });
    }
    return harness.finish();
}
