// SPDX-License-Identifier: BSD-3-Clause
// One-sided communication on host windows: it rests on the point-to-point layer and must keep
// working over ours.
#include "harness.hpp"

namespace beeline::test {
namespace {

constexpr int kElements = 5000;

class Rma {
 public:
    explicit Rma(Harness& harness)
        : h_(harness),
          right_((harness.rank + 1) % harness.ranks),
          left_((harness.rank - 1 + harness.ranks) % harness.ranks),
          memory_(kElements),
          local_(kElements) {
        MPI_Win_create(memory_.data(), kElements * sizeof(int), sizeof(int), MPI_INFO_NULL,
                       MPI_COMM_WORLD, &window_);
    }
    ~Rma() { MPI_Win_free(&window_); }
    Rma(const Rma&) = delete;
    Rma& operator=(const Rma&) = delete;

    void run() {
        for (const int count : {1, 100, kElements}) {
            put(count);
            get(count);
            accumulate(count);
            locked(count);
        }
        fetch_and_op();
    }

 private:
    static int value(int rank, int index, int round) {
        return rank * 1000000 + round * 10000 + index;
    }
    void fill(std::vector<int>& data, int rank, int round) {
        for (int i = 0; i < kElements; ++i) {
            data[static_cast<std::size_t>(i)] = value(rank, i, round);
        }
    }
    template <class Expected>
    void verify(const std::vector<int>& data, const char* what, Expected expected) {
        for (int i = 0; i < kElements; ++i) {
            const int got = data[static_cast<std::size_t>(i)];
            if (got != expected(i)) {
                h_.check(false, "%s: element %d is %d instead of %d", what, i, got, expected(i));
                return;
            }
        }
        h_.check(true, "%s", what);
    }

    void put(int count) {
        fill(memory_, h_.rank, 1);
        fill(local_, h_.rank, 2);
        MPI_Win_fence(0, window_);
        MPI_Put(local_.data(), count, MPI_INT, right_, 0, count, MPI_INT, window_);
        MPI_Win_fence(0, window_);
        verify(memory_, "put",
               [&](int i) { return i < count ? value(left_, i, 2) : value(h_.rank, i, 1); });
        MPI_Barrier(MPI_COMM_WORLD);
    }

    void get(int count) {
        fill(memory_, h_.rank, 3);
        fill(local_, h_.rank, 4);
        MPI_Win_fence(0, window_);
        MPI_Get(local_.data(), count, MPI_INT, right_, 0, count, MPI_INT, window_);
        MPI_Win_fence(0, window_);
        verify(local_, "get",
               [&](int i) { return i < count ? value(right_, i, 3) : value(h_.rank, i, 4); });
        MPI_Barrier(MPI_COMM_WORLD);
    }

    void accumulate(int count) {
        fill(memory_, h_.rank, 5);
        fill(local_, h_.rank, 6);
        MPI_Win_fence(0, window_);
        MPI_Accumulate(local_.data(), count, MPI_INT, right_, 0, count, MPI_INT, MPI_SUM, window_);
        MPI_Win_fence(0, window_);
        verify(memory_, "accumulate",
               [&](int i) { return value(h_.rank, i, 5) + (i < count ? value(left_, i, 6) : 0); });
        MPI_Barrier(MPI_COMM_WORLD);
    }

    void locked(int count) {
        fill(memory_, h_.rank, 7);
        fill(local_, h_.rank, 8);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right_, 0, window_);
        MPI_Put(local_.data(), count, MPI_INT, right_, 0, count, MPI_INT, window_);
        MPI_Win_unlock(right_, window_);
        MPI_Barrier(MPI_COMM_WORLD);
        // The window is read under a lock of its own, as the separate memory model asks for.
        MPI_Win_lock(MPI_LOCK_SHARED, h_.rank, 0, window_);
        verify(memory_, "put under a lock",
               [&](int i) { return i < count ? value(left_, i, 8) : value(h_.rank, i, 7); });
        MPI_Win_unlock(h_.rank, window_);
        MPI_Barrier(MPI_COMM_WORLD);
    }

    void fetch_and_op() {
        fill(memory_, 0, 0);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int round = 0; round < 20; ++round) {
            const int one = 1;
            int before = -1;
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window_);
            MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_SUM, window_);
            MPI_Win_unlock(0, window_);
            h_.check(before >= round && before < 20 * h_.ranks, "fetch_and_op returned %d", before);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (h_.rank == 0) {
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window_);
            h_.check(memory_[0] == 20 * h_.ranks, "the counter stands at %d", memory_[0]);
            MPI_Win_unlock(0, window_);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }

    Harness& h_;
    int right_;
    int left_;
    std::vector<int> memory_;
    std::vector<int> local_;
    MPI_Win window_ = MPI_WIN_NULL;
};

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    beeline::test::Harness harness(&argc, &argv);
    beeline::test::Rma(harness).run();
    return harness.finish();
}
