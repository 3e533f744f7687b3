// SPDX-License-Identifier: BSD-3-Clause
// Collectives under MPI_THREAD_MULTIPLE: each thread on communicators of its own, blocking,
// non-blocking and persistent ones at once; and requests that another thread completes.
//   coll_threads [KIND...] [--threads N] [--rounds N]
#include <thread>

#include "tests/mpi/contexts.hpp"
#include "tests/mpi/harness.hpp"

#include <mpi-ext.h>

namespace beeline::test {
namespace {

constexpr int kCounts[] = {3, 4000, 70000};

/// What one thread does on its communicator.
class Worker {
 public:
    Worker(Harness& h, int thread, MPI_Comm comm)
        : h_(h),
          thread_(thread),
          comm_(comm),
          kind_(h.kinds[static_cast<std::size_t>(thread) % h.kinds.size()]),
          in_(h.gpu.get(), kind_, kMost * sizeof(int)),
          out_(h.gpu.get(), kind_, kMost * sizeof(int) * static_cast<std::size_t>(h.ranks)) {}

    void run(int rounds) {
        for (int round = 0; round < rounds; ++round) {
            const int count = kCounts[static_cast<std::size_t>(round) % std::size(kCounts)];
            sums(round, count);
            gathers(round, count);
        }
        persistent(rounds);
    }

 private:
    static constexpr std::size_t kMost = 70000;

    int value(int rank, int round) const { return rank * 7 + thread_ * 100 + round; }

    void give(int round, int count) {
        const std::vector<int> values(static_cast<std::size_t>(count), value(h_.rank, round));
        in_.write(0, values.data(), values.size() * sizeof(int));
    }

    void expect(const char* call, int block, int count, int wanted) {
        std::vector<int> seen(static_cast<std::size_t>(count));
        out_.read(static_cast<std::size_t>(block * count) * sizeof(int), seen.data(),
                  seen.size() * sizeof(int));
        h_.check(seen == std::vector<int>(seen.size(), wanted),
                 "thread %d: %s of %d elements is wrong", thread_, call, count);
    }

    int sum(int round) const {
        int sum = 0;
        for (int rank = 0; rank < h_.ranks; ++rank) {
            sum += value(rank, round);
        }
        return sum;
    }

    void sums(int round, int count) {
        give(round, count);
        if (round % 2 == 0) {
            MPI_Allreduce(in_.at(), out_.at(), count, MPI_INT, MPI_SUM, comm_);
        } else {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Iallreduce(in_.at(), out_.at(), count, MPI_INT, MPI_SUM, comm_, &request);
            // Handed to a thread that has nothing else to do with it.
            std::thread([&] { MPI_Wait(&request, MPI_STATUS_IGNORE); }).join();
        }
        expect("allreduce", 0, count, sum(round));
    }

    void gathers(int round, int count) {
        give(round, count);
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Iallgather(in_.at(), count, MPI_INT, out_.at(), count, MPI_INT, comm_, &requests[0]);
        MPI_Ibarrier(comm_, &requests[1]);
        int done = 0;
        while (done == 0) {
            MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
        }
        for (int rank = 0; rank < h_.ranks; ++rank) {
            expect("allgather", rank, count, value(rank, round));
        }
    }

    void persistent(int rounds) {
        constexpr int kCount = 5000;
        MPI_Request request = MPI_REQUEST_NULL;
        MPIX_Bcast_init(out_.at(), kCount, MPI_INT, thread_ % h_.ranks, comm_, MPI_INFO_NULL,
                        &request);
        for (int round = 0; round < rounds; ++round) {
            const std::vector<int> values(kCount, value(h_.rank, round));
            out_.write(0, values.data(), values.size() * sizeof(int));
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            // Open MPI orders what another thread has written before this, which a sanitizer does
            // not see; it does see the lock that a probe takes.
            int found = 0;
            MPI_Iprobe(MPI_ANY_SOURCE, 1, comm_, &found, MPI_STATUS_IGNORE);
            expect("persistent bcast", 0, kCount, value(thread_ % h_.ranks, round));
        }
        MPI_Request_free(&request);
    }

    Harness& h_;
    int thread_;
    MPI_Comm comm_;
    gpu::Kind kind_;
    gpu::Buffer in_;
    gpu::Buffer out_;
};

int option(int argc, char** argv, const char* name, int otherwise) {
    for (int i = 1; i + 1 < argc; ++i) {
        if (std::strcmp(argv[i], name) == 0) {
            return std::atoi(argv[i + 1]);
        }
    }
    return otherwise;
}

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    using namespace beeline::test;
    Harness h(&argc, &argv, MPI_THREAD_MULTIPLE);
    const int threads = option(argc, argv, "--threads", 3);
    const int rounds = option(argc, argv, "--rounds", 9);
    std::unique_ptr<Contexts> contexts;
    CUcontext own = nullptr;
    if (h.gpu) {
        contexts = std::make_unique<Contexts>();
        own = contexts->current();
    }
    std::vector<MPI_Comm> comms(static_cast<std::size_t>(threads));
    for (MPI_Comm& comm : comms) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    }
    std::vector<std::thread> all;
    for (int thread = 0; thread < threads; ++thread) {
        all.emplace_back([&, thread] {
            if (contexts) {
                contexts->use(own);  // for the test's own copies
            }
            Worker(h, thread, comms[static_cast<std::size_t>(thread)]).run(rounds);
        });
    }
    for (std::thread& one : all) {
        one.join();
    }
    for (MPI_Comm& comm : comms) {
        MPI_Comm_free(&comm);
    }
    return h.finish();
}
