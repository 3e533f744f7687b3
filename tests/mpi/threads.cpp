// SPDX-License-Identifier: BSD-3-Clause
// MPI_THREAD_MULTIPLE: threads on communicators of their own and on a shared one, with and without
// a CUDA context.
//   threads [host] [device] [managed] [--threads N] [--rounds N]
#include <atomic>
#include <thread>

#include "contexts.hpp"
#include "harness.hpp"

namespace beeline::test {
namespace {

constexpr std::size_t kSizes[] = {0, 8, 400, 5000, 20000, 140000, 300000};
constexpr std::size_t kLargest = 300000;

class Threads {
 public:
    Threads(Harness& harness, int threads, int rounds)
        : h_(harness),
          threads_(threads),
          rounds_(rounds),
          right_((h_.rank + 1) % h_.ranks),
          left_((h_.rank - 1 + h_.ranks) % h_.ranks) {
        if (h_.gpu) {
            contexts_ = std::make_unique<Contexts>();
            own_ = contexts_->current();
        }
        MPI_Comm_dup(MPI_COMM_WORLD, &shared_);
        for (int i = 0; i < threads_; ++i) {
            MPI_Comm copy = MPI_COMM_NULL;
            MPI_Comm_dup(MPI_COMM_WORLD, &copy);
            mine_.push_back(copy);
        }
    }
    ~Threads() {
        for (MPI_Comm& copy : mine_) {
            MPI_Comm_free(&copy);
        }
        MPI_Comm_free(&shared_);
    }
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

    void run() {
        together([this](int thread) { ring(thread, mine_[static_cast<std::size_t>(thread)], 0); });
        together([this](int thread) { ring(thread, shared_, 1000 * (thread + 1)); });
        together([this](int thread) {
            ring(thread, thread % 2 == 0 ? shared_ : MPI_COMM_WORLD, 1000 * (thread + 1));
        });
        shared_probes();
        handed_over();
        together([this](int thread) { come_and_go(thread); });
    }

 private:
    template <class Body>
    void together(Body&& body) {
        std::vector<std::thread> all;
        for (int i = 0; i < threads_; ++i) {
            all.emplace_back([&body, i] { body(i); });
        }
        for (std::thread& one : all) {
            one.join();
        }
    }

    /// The test's own copies need a context, MPI must not.
    template <class Body>
    void with_context(Body&& body) {
        if (contexts_) {
            contexts_->use(own_);
        }
        body();
        if (contexts_) {
            contexts_->use(nullptr);
        }
    }
    void expect_none(int thread) {
        if (contexts_) {
            h_.check(contexts_->current() == nullptr,
                     "thread %d: MPI left a context current where there was none", thread);
        }
    }

    static std::uint64_t seed(int rank, int thread, int round) {
        return bench::make_seed(static_cast<unsigned>(round), static_cast<unsigned>(rank),
                                static_cast<unsigned>(thread), 2);
    }

    /// Messages around the ring of ranks from every thread, by all ways to receive.
    void ring(int thread, MPI_Comm comm, int tag) {
        for (int round = 0; round < rounds_; ++round) {
            const auto kind = static_cast<std::size_t>(round + thread) % h_.kinds.size();
            const std::size_t bytes =
                kSizes[static_cast<std::size_t>(round * 3 + thread) % std::size(kSizes)];
            std::unique_ptr<Area> out;
            std::unique_ptr<Area> in;
            with_context([&] {
                out = std::make_unique<Area>(h_.gpu.get(), h_.kinds[kind], kLargest);
                in = std::make_unique<Area>(h_.gpu.get(), h_.kinds[(kind + 1) % h_.kinds.size()],
                                            kLargest);
                out->set(bytes, 1, seed(h_.rank, thread, round));
                in->poison(bytes, 7, 3);
            });
            const int count = static_cast<int>(bytes);
            const MPI_Status status = pass(*out, *in, count, comm, tag + round % 5, round % 6);
            expect_none(thread);
            int received = -1;
            MPI_Get_count(&status, MPI_BYTE, &received);
            with_context([&] {
                in->expect(bytes, seed(left_, thread, round));
                h_.check(in->intact() && out->intact() && received == count &&
                             status.MPI_SOURCE == left_ && status.MPI_TAG == tag + round % 5,
                         "thread %d round %d way %d: %d of %d bytes from %s to %s memory", thread,
                         round, round % 6, received, count, gpu::to_string(out->kind()),
                         gpu::to_string(in->kind()));
                out.reset();
                in.reset();
            });
        }
    }

    MPI_Status pass(Area& out, Area& in, int count, MPI_Comm comm, int tag, int way) const {
        MPI_Status status{};
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status both[2];
        int flag = 0;
        if (way == 0) {
            MPI_Sendrecv(out.data(), count, MPI_BYTE, right_, tag, in.data(), count, MPI_BYTE,
                         left_, tag, comm, &status);
            return status;
        }
        if (way == 1) {
            MPI_Irecv(in.data(), count, MPI_BYTE, left_, tag, comm, &requests[0]);
            MPI_Issend(out.data(), count, MPI_BYTE, right_, tag, comm, &requests[1]);
            MPI_Waitall(2, requests, both);
            return both[0];
        }
        if (way == 2) {
            MPI_Irecv(in.data(), count, MPI_BYTE, MPI_ANY_SOURCE, tag, comm, &requests[0]);
            MPI_Send(out.data(), count, MPI_BYTE, right_, tag, comm);
            while (flag == 0) {
                MPI_Test(&requests[0], &flag, &status);
            }
            return status;
        }
        MPI_Isend(out.data(), count, MPI_BYTE, right_, tag, comm, &requests[1]);
        if (way == 3) {
            MPI_Recv(in.data(), count, MPI_BYTE, left_, tag, comm, &status);
        } else if (way == 4) {
            MPI_Probe(left_, tag, comm, &status);
            MPI_Recv(in.data(), count, MPI_BYTE, status.MPI_SOURCE, tag, comm, &status);
        } else {
            while (flag == 0) {
                MPI_Improbe(MPI_ANY_SOURCE, tag, comm, &flag, &message, &status);
            }
            MPI_Mrecv(in.data(), count, MPI_BYTE, &message, &status);
        }
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        return status;
    }

    /// All threads take messages of one tag out by MPI_Mprobe: each message is received exactly
    /// once.
    void shared_probes() {
        constexpr int kEach = 50;
        constexpr int kInts = 3000;  // beyond the eager limit
        std::atomic<long> sum = 0;
        std::atomic<int> wrong = 0;
        together([&](int thread) {
            std::vector<std::vector<int>> out(kEach, std::vector<int>(kInts));
            std::vector<MPI_Request> requests(kEach);
            for (int i = 0; i < kEach; ++i) {
                auto& one = out[static_cast<std::size_t>(i)];
                std::fill(one.begin(), one.end(), thread * kEach + i);
                MPI_Isend(one.data(), i % 2 == 0 ? kInts : 2, MPI_INT, right_, 50, shared_,
                          &requests[static_cast<std::size_t>(i)]);
            }
            std::vector<int> in(kInts);
            for (int i = 0; i < kEach; ++i) {
                MPI_Message message = MPI_MESSAGE_NULL;
                MPI_Status status;
                int count = 0;
                MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, shared_, &message, &status);
                MPI_Get_count(&status, MPI_INT, &count);
                MPI_Mrecv(in.data(), count, MPI_INT, &message, MPI_STATUS_IGNORE);
                for (int k = 1; k < count; ++k) {
                    wrong += in[static_cast<std::size_t>(k)] != in[0] ? 1 : 0;
                }
                sum += in[0];
            }
            MPI_Waitall(kEach, requests.data(), MPI_STATUSES_IGNORE);
        });
        const long all = static_cast<long>(threads_) * kEach;
        h_.check(sum == all * (all - 1) / 2 && wrong == 0,
                 "messages shared by probing threads: sum %ld instead of %ld, %d wrong values",
                 sum.load(), all * (all - 1) / 2, wrong.load());
    }

    /// One thread posts, another waits; a third makes progress only.
    void handed_over() {
        for (int round = 0; round < rounds_; ++round) {
            const auto kind = static_cast<std::size_t>(round) % h_.kinds.size();
            const std::size_t bytes = kSizes[static_cast<std::size_t>(round) % std::size(kSizes)];
            Area out(h_.gpu.get(), h_.kinds[kind], kLargest);
            Area in(h_.gpu.get(), h_.kinds[kind], kLargest);
            out.set(bytes, 1, seed(h_.rank, 99, round));
            in.poison(bytes, 1, 3);
            MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
            std::thread([&] {
                MPI_Irecv(in.data(), static_cast<int>(bytes), MPI_BYTE, left_, 70, shared_,
                          &requests[0]);
                MPI_Isend(out.data(), static_cast<int>(bytes), MPI_BYTE, right_, 70, shared_,
                          &requests[1]);
            }).join();
            std::atomic<bool> done = false;
            std::thread idle([&] {
                while (!done) {
                    int flag = 0;
                    MPI_Iprobe(MPI_ANY_SOURCE, 71, shared_, &flag, MPI_STATUS_IGNORE);
                    std::this_thread::yield();
                }
            });
            std::thread second([&] { MPI_Wait(&requests[1], MPI_STATUS_IGNORE); });
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            second.join();
            done = true;
            idle.join();
            in.expect(bytes, seed(left_, 99, round));
            h_.check(in.intact() && out.intact(), "handed over: %zu bytes in %s memory", bytes,
                     gpu::to_string(in.kind()));
            if (contexts_) {
                h_.check(contexts_->current() == own_, "the main thread's context changed");
            }
        }
    }

    /// Each thread makes, uses and frees communicators derived from its own.
    void come_and_go(int thread) {
        for (int round = 0; round < rounds_ / 2; ++round) {
            MPI_Comm copy = MPI_COMM_NULL;
            MPI_Comm_dup(mine_[static_cast<std::size_t>(thread)], &copy);
            int out = thread * 1000 + round;
            int in = -1;
            MPI_Sendrecv(&out, 1, MPI_INT, right_, 1, &in, 1, MPI_INT, left_, 1, copy,
                         MPI_STATUS_IGNORE);
            h_.check(in == out, "thread %d: a communicator of its own gave %d instead of %d",
                     thread, in, out);
            MPI_Comm_free(&copy);
        }
    }

    Harness& h_;
    int threads_;
    int rounds_;
    int right_;
    int left_;
    std::unique_ptr<Contexts> contexts_;
    CUcontext own_ = nullptr;
    MPI_Comm shared_ = MPI_COMM_NULL;
    std::vector<MPI_Comm> mine_;
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
    beeline::test::Harness harness(&argc, &argv, MPI_THREAD_MULTIPLE);
    const int threads = beeline::test::option(argc, argv, "--threads", 3);
    const int rounds = beeline::test::option(argc, argv, "--rounds", 24);
    beeline::test::Threads(harness, threads, rounds).run();
    return harness.finish();
}
