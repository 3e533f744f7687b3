// SPDX-License-Identifier: BSD-3-Clause
// Communicators that come and go with messages under way: storms, reuse of ids, thousands alive,
// inter-communicators, and processes that join later.
//   communicators [host] [device] [managed] [--alive N]
#include <unistd.h>

#include <algorithm>
#include <string>

#include "harness.hpp"

namespace beeline::test {
namespace {

constexpr std::size_t kSizes[] = {0, 40, 3000, 20000, 300000};
constexpr std::size_t kLargest = 300000;

/// One buffer of each direction, with what is sent named by a number.
class Pair {
 public:
    Pair(Harness& harness, gpu::Kind kind)
        : h_(harness),
          out(harness.gpu.get(), kind, kLargest),
          in(harness.gpu.get(), kind, kLargest) {}

    void prepare(std::size_t bytes, int from, unsigned number) {
        bytes_ = bytes;
        out.set(bytes, 3, seed(from, number));
        in.poison(bytes, 5, number);
    }
    void check(int source, unsigned number, const char* what) {
        in.expect(bytes_, seed(source, number));
        h_.check(in.intact(), "%s %u: %zu bytes in %s memory from %d are wrong", what, number,
                 bytes_, gpu::to_string(in.kind()), source);
        h_.check(out.intact(), "%s %u: the send buffer changed", what, number);
    }
    int count() const { return static_cast<int>(bytes_); }

 private:
    static std::uint64_t seed(int source, unsigned number) {
        return bench::make_seed(number, static_cast<unsigned>(source), 5, 5);
    }
    Harness& h_;
    std::size_t bytes_ = 0;

 public:
    Area out;
    Area in;
};

class Communicators {
 public:
    Communicators(Harness& harness, gpu::Kind kind, int alive)
        : h_(harness),
          alive_(alive),
          right_((h_.rank + 1) % h_.ranks),
          left_((h_.rank - 1 + h_.ranks) % h_.ranks) {
        for (int i = 0; i < kAtOnce; ++i) {
            pairs_.push_back(std::make_unique<Pair>(harness, kind));
        }
    }

    void run() {
        right_after_dup();
        storm();
        freed_under_way();
        overlapping_groups();
        many_alive();
        intercommunicators();
    }

 private:
    static constexpr int kAtOnce = 4;

    /// Rank 0 sends as soon as its part of MPI_Comm_dup is done; others are late.
    void right_after_dup() {
        for (unsigned round = 0; round < 30; ++round) {
            const std::size_t bytes = kSizes[round % std::size(kSizes)];
            MPI_Comm copy = MPI_COMM_NULL;
            MPI_Request made = MPI_REQUEST_NULL;
            Pair& pair = *pairs_[0];
            pair.prepare(bytes, h_.rank, round);
            if (h_.rank % 2 == 1 && round % 3 == 0) {
                // The id is agreed on when the peers' messages come, the communicator is not there.
                MPI_Comm_idup(MPI_COMM_WORLD, &copy, &made);
                usleep(500);
                MPI_Wait(&made, MPI_STATUS_IGNORE);
            } else if (round % 3 == 0) {
                MPI_Comm_idup(MPI_COMM_WORLD, &copy, &made);
                MPI_Wait(&made, MPI_STATUS_IGNORE);
            } else {
                MPI_Comm_dup(MPI_COMM_WORLD, &copy);
            }
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Isend(pair.out.data(), pair.count(), MPI_BYTE, right_, 1, copy, &request);
            MPI_Recv(pair.in.data(), pair.count(), MPI_BYTE, left_, 1, copy, MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            pair.check(left_, round, "right after dup");
            MPI_Comm_free(&copy);
        }
    }

    /// Communicators are made and freed while others have messages under way.
    void storm() {
        MPI_Comm open[kAtOnce];
        MPI_Request requests[2 * kAtOnce];
        std::fill(std::begin(requests), std::end(requests), MPI_REQUEST_NULL);
        std::fill(std::begin(open), std::end(open), MPI_COMM_NULL);
        constexpr unsigned kRounds = 60;
        for (unsigned round = 0; round < kRounds + kAtOnce; ++round) {
            const unsigned place = round % kAtOnce;
            Pair& pair = *pairs_[place];
            MPI_Request* const mine = &requests[2 * place];
            if (open[place] != MPI_COMM_NULL) {
                MPI_Waitall(2, mine, MPI_STATUSES_IGNORE);
                pair.check(left_, round - kAtOnce, "storm");
                MPI_Comm_free(&open[place]);
            }
            if (round >= kRounds) {
                continue;
            }
            const bool reversed = round % 2 == 1;
            if (reversed) {
                MPI_Comm_split(MPI_COMM_WORLD, 0, -h_.rank, &open[place]);
            } else {
                MPI_Comm_dup(MPI_COMM_WORLD, &open[place]);
            }
            const int last = h_.ranks - 1;
            pair.prepare(kSizes[round % std::size(kSizes)], h_.rank, round);
            MPI_Isend(pair.out.data(), pair.count(), MPI_BYTE, reversed ? last - right_ : right_, 7,
                      open[place], &mine[0]);
            MPI_Irecv(pair.in.data(), pair.count(), MPI_BYTE, reversed ? last - left_ : left_, 7,
                      open[place], &mine[1]);
        }
    }

    /// MPI_Comm_free while sends and receives on it are not done: they end as if it were not freed.
    /// The next communicator must not be taken for it.
    void freed_under_way() {
        for (unsigned round = 0; round < 20; ++round) {
            MPI_Request requests[2 * kAtOnce];
            for (unsigned place = 0; place < kAtOnce; ++place) {
                Pair& pair = *pairs_[place];
                pair.prepare(kSizes[(round + place) % std::size(kSizes)], h_.rank,
                             round * 10 + place);
                MPI_Comm copy = MPI_COMM_NULL;
                MPI_Comm_dup(MPI_COMM_WORLD, &copy);
                MPI_Irecv(pair.in.data(), pair.count(), MPI_BYTE, MPI_ANY_SOURCE, 3, copy,
                          &requests[2 * place]);
                MPI_Isend(pair.out.data(), pair.count(), MPI_BYTE, right_, 3, copy,
                          &requests[2 * place + 1]);
                MPI_Comm_free(&copy);
            }
            MPI_Waitall(2 * kAtOnce, requests, MPI_STATUSES_IGNORE);
            for (unsigned place = 0; place < kAtOnce; ++place) {
                pairs_[place]->check(left_, round * 10 + place, "freed under way");
            }
        }
    }

    /// Groups that share ranks: ids freed in one are reused in another at once.
    void overlapping_groups() {
        if (h_.ranks < 3) {
            return;
        }
        for (unsigned round = 0; round < 40; ++round) {
            const int without = static_cast<int>(round) % h_.ranks;
            MPI_Comm some = MPI_COMM_NULL;
            MPI_Comm_split(MPI_COMM_WORLD, h_.rank == without ? MPI_UNDEFINED : 0, h_.rank, &some);
            if (some == MPI_COMM_NULL) {
                continue;
            }
            int me = 0;
            int size = 0;
            MPI_Comm_rank(some, &me);
            MPI_Comm_size(some, &size);
            const int source = (me - 1 + size) % size;
            Pair& pair = *pairs_[0];
            pair.prepare(kSizes[round % std::size(kSizes)], me, round);
            MPI_Sendrecv(pair.out.data(), pair.count(), MPI_BYTE, (me + 1) % size, 1,
                         pair.in.data(), pair.count(), MPI_BYTE, source, 1, some,
                         MPI_STATUS_IGNORE);
            pair.check(source, round, "overlapping groups");
            MPI_Comm_free(&some);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }

    /// Very many communicators with a message under way in each, not freed in their order.
    void many_alive() {
        const auto count = static_cast<std::size_t>(alive_);
        std::vector<MPI_Comm> all(count, MPI_COMM_NULL);
        std::vector<int> out(count);
        std::vector<int> in(count, -1);
        std::vector<MPI_Request> requests(2 * count);
        for (std::size_t i = 0; i < count; ++i) {
            MPI_Comm_dup(MPI_COMM_WORLD, &all[i]);
            out[i] = h_.rank * 100000 + static_cast<int>(i);
            MPI_Isend(&out[i], 1, MPI_INT, right_, 1, all[i], &requests[i]);
        }
        for (std::size_t i = count; i > 0; --i) {
            MPI_Irecv(&in[i - 1], 1, MPI_INT, left_, 1, all[i - 1], &requests[count + i - 1]);
        }
        MPI_Waitall(static_cast<int>(2 * count), requests.data(), MPI_STATUSES_IGNORE);
        Pair& pair = *pairs_[0];
        for (std::size_t i = 0; i < count; ++i) {
            h_.check(in[i] == left_ * 100000 + static_cast<int>(i),
                     "communicator %zu of many got %d from rank %d", i, in[i], left_);
        }
        for (std::size_t i = 0; i < count; i += count / 10 + 1) {
            pair.prepare(kLargest, h_.rank, static_cast<unsigned>(i));
            MPI_Sendrecv(pair.out.data(), pair.count(), MPI_BYTE, right_, 2, pair.in.data(),
                         pair.count(), MPI_BYTE, left_, 2, all[i], MPI_STATUS_IGNORE);
            pair.check(left_, static_cast<unsigned>(i), "one of many");
        }
        for (const std::size_t first : {std::size_t{1}, std::size_t{0}}) {
            for (std::size_t i = first; i < count; i += 2) {
                MPI_Comm_free(&all[i]);
            }
        }
    }

    void intercommunicators() {
        for (unsigned round = 0; round < 6; ++round) {
            const int side = h_.rank % 2;
            MPI_Comm half = MPI_COMM_NULL;
            MPI_Comm bridge = MPI_COMM_NULL;
            MPI_Comm merged = MPI_COMM_NULL;
            MPI_Comm_split(MPI_COMM_WORLD, side, h_.rank, &half);
            MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 12, &bridge);
            int me = 0;
            int remote = 0;
            MPI_Comm_rank(half, &me);
            MPI_Comm_remote_size(bridge, &remote);
            Pair& pair = *pairs_[0];
            if (me < remote) {
                pair.prepare(kSizes[round % std::size(kSizes)], h_.rank, round);
                MPI_Sendrecv(pair.out.data(), pair.count(), MPI_BYTE, me, 1, pair.in.data(),
                             pair.count(), MPI_BYTE, me, 1, bridge, MPI_STATUS_IGNORE);
                pair.check(2 * me + 1 - side, round, "inter-communicator");
            }
            MPI_Intercomm_merge(bridge, side, &merged);
            MPI_Comm_free(&bridge);
            const int evens = (h_.ranks + 1) / 2;
            const int number = side == 0 ? me : evens + me;
            int seen = -1;
            MPI_Comm_rank(merged, &seen);
            h_.check(seen == number, "merged: rank %d instead of %d", seen, number);
            const int source = (number - 1 + h_.ranks) % h_.ranks;
            pair.prepare(kSizes[(round + 3) % std::size(kSizes)], number, round);
            MPI_Sendrecv(pair.out.data(), pair.count(), MPI_BYTE, (number + 1) % h_.ranks, 1,
                         pair.in.data(), pair.count(), MPI_BYTE, source, MPI_ANY_TAG, merged,
                         MPI_STATUS_IGNORE);
            pair.check(source, round, "merged");
            MPI_Comm_free(&merged);
            MPI_Comm_free(&half);
        }
    }

    Harness& h_;
    int alive_;
    int right_;
    int left_;
    std::vector<std::unique_ptr<Pair>> pairs_;
};

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    int alive = 1200;
    for (int i = 1; i + 1 < argc; ++i) {
        if (std::strcmp(argv[i], "--alive") == 0) {
            alive = std::atoi(argv[i + 1]);
        }
    }
    beeline::test::Harness harness(&argc, &argv);
    for (const beeline::gpu::Kind kind : harness.kinds) {
        beeline::test::Communicators(harness, kind,
                                     kind == beeline::gpu::Kind::kHost ? alive : alive / 10)
            .run();
    }
    return harness.finish();
}
