// SPDX-License-Identifier: BSD-3-Clause
// The ways in which programs come to MPI_Finalize with their GPU in some state. Quiet when all is
// well.
//   endings CASE     one of the names in kCases
#include "contexts.hpp"

#include <mpi.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

namespace beeline::test {
namespace {

constexpr std::size_t kSizes[] = {8, 5000, 140000, 2000000};
constexpr std::size_t kLargest = 2000000;

class Endings {
 public:
    explicit Endings(int device) : device_(device) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    }
    void begin() {
        cuda_.use(cuda_.retain(device_));
        allocate();
        traffic();
    }

    /// cudaDeviceReset: memory, streams, events and mappings are gone before MPI_Finalize.
    void reset() {
        begin();
        MPI_Barrier(MPI_COMM_WORLD);
        cuda_.reset(device_);
        MPI_Finalize();
    }
    /// The same, and the program goes on with the device.
    void reset_and_go_on() {
        begin();
        MPI_Barrier(MPI_COMM_WORLD);
        cuda_.reset(device_);
        cuda_.use(cuda_.retain(device_));
        allocate();
        traffic();
        MPI_Finalize();
    }
    void one_side_resets() {
        begin();
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank_ == 0) {
            cuda_.reset(device_);
            cuda_.use(cuda_.retain(device_));
            allocate();
        }
        traffic();
        MPI_Finalize();
    }
    void release() {
        begin();
        free_memory();
        cuda_.use(nullptr);
        cuda_.release(device_);
        MPI_Finalize();
    }
    void free_before() {
        begin();
        free_memory();
        MPI_Finalize();
    }
    void free_after() {
        begin();
        MPI_Finalize();
        free_memory();
        cuda_.use(nullptr);
        cuda_.release(device_);
    }
    void reset_after() {
        begin();
        MPI_Finalize();
        cuda_.reset(device_);
    }
    void destroyed_context() {
        begin();
        free_memory();
        CUcontext created = cuda_.create(device_);
        cuda_.use(created);
        allocate();
        traffic();
        MPI_Barrier(MPI_COMM_WORLD);
        cuda_.destroy(created);
        MPI_Finalize();
    }
    /// Sends whose requests were freed are received all the same.
    void freed_requests() {
        begin();
        for (int i = 0; i < 4; ++i) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Isend(out_, static_cast<int>(kSizes[i]), MPI_BYTE, right(), i, MPI_COMM_WORLD,
                      &request);
            if (request != MPI_REQUEST_NULL) {
                MPI_Request_free(&request);
            }
        }
        for (int i = 3; i >= 0; --i) {
            MPI_Recv(in_, static_cast<int>(kLargest), MPI_BYTE, left(), i, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            expect(kSizes[i], "a send whose request was freed");
        }
        MPI_Finalize();
        free_memory();
    }
    void freed_receives() {
        begin();
        MPI_Request never = MPI_REQUEST_NULL;
        MPI_Irecv(in_, 100, MPI_BYTE, left(), 99, MPI_COMM_WORLD, &never);
        MPI_Cancel(&never);
        MPI_Request_free(&never);
        MPI_Request unused = MPI_REQUEST_NULL;
        MPI_Send_init(out_, static_cast<int>(kLargest), MPI_BYTE, right(), 98, MPI_COMM_WORLD,
                      &unused);
        MPI_Request_free(&unused);
        free_memory();
        MPI_Finalize();
    }
    /// One rank is in MPI_Finalize while the other still fetches what it sent.
    void leaves_early() {
        begin();
        if (rank_ == 0) {
            for (int peer = 1; peer < ranks_; ++peer) {
                MPI_Request request = MPI_REQUEST_NULL;
                MPI_Isend(out_, static_cast<int>(kLargest), MPI_BYTE, peer, 5, MPI_COMM_WORLD,
                          &request);
                MPI_Request_free(&request);
            }
        } else {
            usleep(20000);
            MPI_Recv(in_, static_cast<int>(kLargest), MPI_BYTE, 0, 5, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            expect_from(0, kLargest, "a message of a rank that finalizes");
        }
        MPI_Finalize();
    }
    /// The memory that the others have mapped is freed, and they finalize last.
    void importer_last() {
        begin();
        if (rank_ != 0) {
            usleep(50000);
        }
        free_memory();
        MPI_Finalize();
    }
    /// The last message of the program is a barrier, of the host or of the device.
    void barrier_last() {
        begin();
        usleep(static_cast<useconds_t>(getpid() % 7) * 300);
        MPI_Barrier(MPI_COMM_WORLD);
        cuda_.fill(out_, 8, 1);
        MPI_Allreduce(MPI_IN_PLACE, out_, 1, MPI_UINT64_T, MPI_BOR, MPI_COMM_WORLD);
        MPI_Finalize();
    }
    /// The driver is there, but nobody used it.
    static void nothing() { MPI_Finalize(); }

    int failures() const { return failures_; }

 private:
    int right() const { return (rank_ + 1) % ranks_; }
    int left() const { return (rank_ - 1 + ranks_) % ranks_; }
    void allocate() {
        out_ = cuda_.allocate(kLargest, static_cast<unsigned char>(rank_ + 1));
        in_ = cuda_.allocate(kLargest, 0xee);
    }
    void free_memory() {
        cuda_.free(out_);
        cuda_.free(in_);
    }
    void traffic() {
        for (const std::size_t bytes : kSizes) {
            MPI_Sendrecv(out_, static_cast<int>(bytes), MPI_BYTE, right(), 1, in_,
                         static_cast<int>(bytes), MPI_BYTE, left(), 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            expect(bytes, "a message");
        }
    }
    void expect(std::size_t bytes, const char* what) { expect_from(left(), bytes, what); }
    void expect_from(int source, std::size_t bytes, const char* what) {
        if (!cuda_.holds(in_, bytes, static_cast<unsigned char>(source + 1))) {
            ++failures_;
            std::printf("FAIL endings: rank %d: %s of %zu bytes is wrong\n", rank_, what, bytes);
            std::fflush(stdout);
        }
        cuda_.free(in_);
        in_ = cuda_.allocate(kLargest, 0xee);
    }

    Contexts cuda_;
    int device_;
    int rank_ = 0;
    int ranks_ = 0;
    void* out_ = nullptr;
    void* in_ = nullptr;
    int failures_ = 0;
};

struct Case {
    std::string_view name;
    void (*run)(Endings& endings);
};
constexpr Case kCases[] = {
    {"nothing", [](Endings&) { Endings::nothing(); }},
    {"reset", [](Endings& e) { e.reset(); }},
    {"reset_and_go_on", [](Endings& e) { e.reset_and_go_on(); }},
    {"one_side_resets", [](Endings& e) { e.one_side_resets(); }},
    {"release", [](Endings& e) { e.release(); }},
    {"free_before", [](Endings& e) { e.free_before(); }},
    {"free_after", [](Endings& e) { e.free_after(); }},
    {"reset_after", [](Endings& e) { e.reset_after(); }},
    {"destroyed_context", [](Endings& e) { e.destroyed_context(); }},
    {"freed_requests", [](Endings& e) { e.freed_requests(); }},
    {"freed_receives", [](Endings& e) { e.freed_receives(); }},
    {"leaves_early", [](Endings& e) { e.leaves_early(); }},
    {"importer_last", [](Endings& e) { e.importer_last(); }},
    {"barrier_last", [](Endings& e) { e.barrier_last(); }},
};

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    if (argc < 2) {
        MPI_Finalize();  // and nothing else
        return 0;
    }
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    beeline::test::Endings endings(rank % 2);
    for (const beeline::test::Case& one : beeline::test::kCases) {
        if (one.name == argv[1]) {
            one.run(endings);
            return endings.failures() == 0 ? 0 : 1;
        }
    }
    std::printf("FAIL endings: no case %s\n", argv[1]);
    return 1;
}
