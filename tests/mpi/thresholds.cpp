// SPDX-License-Identifier: BSD-3-Clause
// Sizes around every limit between protocols, and the patterns around them in which users met
// faults (tests/faults.md): a first call on device memory, rotating buffers, halos, many messages
// at once, and many buffers.
//   thresholds [host] [device] [managed] [LIMIT...]
#include <algorithm>
#include <fstream>

#include "harness.hpp"

namespace beeline::test {
namespace {

/// The limits of the defaults, and of the inline and wide cells less their header.
constexpr std::size_t kDefaults[] = {1,    8,     72,     112,    1088,   1128,
                                     8192, 65536, 131072, 262144, 1048576};
constexpr std::size_t kLargest = (1 << 20) + 1;

class Thresholds {
 public:
    Thresholds(Harness& harness, std::vector<std::size_t> limits)
        : h_(harness),
          limits_(std::move(limits)),
          right_((harness.rank + 1) % harness.ranks),
          left_((harness.rank - 1 + harness.ranks) % harness.ranks) {}

    void run() {
        for (const gpu::Kind from : h_.kinds) {
            for (const gpu::Kind into : h_.kinds) {
                around_limits(from, into);
                rotating(from, into);
            }
            halo(from);
            outstanding(from);
        }
        mappings();
    }

    /// Before anything else: the first message of the program, of one byte.
    void first_call() {
        Area out(h_.gpu.get(), h_.kinds.back(), 8);
        Area in(h_.gpu.get(), h_.kinds.back(), 8);
        out.set(1, 0, seed(h_.rank, 1));
        in.poison(1, 0, 3);
        MPI_Request requests[2];
        MPI_Isend(out.data(), 1, MPI_CHAR, right_, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(in.data(), 1, MPI_CHAR, left_, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        in.expect(1, seed(left_, 1));
        h_.check(in.intact(), "the first message is wrong");
    }

 private:
    static std::uint64_t seed(int rank, std::size_t bytes) {
        return bench::make_seed(static_cast<unsigned>(bytes), static_cast<unsigned>(rank), 3, 3);
    }

    /// One less than each limit, the limit and one more; posted, and unexpected.
    void around_limits(gpu::Kind from, gpu::Kind into) {
        Area out(h_.gpu.get(), from, kLargest);
        Area in(h_.gpu.get(), into, kLargest);
        for (const std::size_t limit : limits_) {
            for (const std::size_t bytes : {limit - 1, limit, limit + 1}) {
                for (const bool unexpected : {false, true}) {
                    const std::size_t offset = (bytes + (unexpected ? 1 : 0)) % 5;
                    out.set(bytes, offset, seed(h_.rank, bytes));
                    in.poison(bytes, offset, 9);
                    exchange(out, in, bytes, unexpected);
                    in.expect(bytes, seed(left_, bytes));
                    h_.check(in.intact() && out.intact(), "%zu bytes, %s -> %s%s: wrong data",
                             bytes, gpu::to_string(from), gpu::to_string(into),
                             unexpected ? ", unexpected" : "");
                }
            }
        }
    }
    void exchange(const Area& out, const Area& in, std::size_t bytes, bool unexpected) const {
        const int n = static_cast<int>(bytes);
        MPI_Request requests[2];
        if (unexpected) {
            MPI_Isend(out.data(), n, MPI_BYTE, right_, 2, MPI_COMM_WORLD, &requests[1]);
            MPI_Probe(left_, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Irecv(in.data(), n, MPI_BYTE, left_, 2, MPI_COMM_WORLD, &requests[0]);
        } else {
            MPI_Irecv(in.data(), n, MPI_BYTE, left_, 2, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(out.data(), n, MPI_BYTE, right_, 2, MPI_COMM_WORLD, &requests[1]);
        }
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }

    /// Latency's pattern with a new buffer in each round, of two kinds in turn.
    void rotating(gpu::Kind a, gpu::Kind b) {
        constexpr std::size_t kBuffers = 16;
        constexpr std::size_t kSizes[] = {1, 4096, 20000, 70000};
        std::vector<std::unique_ptr<Area>> areas;
        for (std::size_t i = 0; i < kBuffers; ++i) {
            areas.push_back(std::make_unique<Area>(h_.gpu.get(), i % 2 == 0 ? a : b, 70000));
        }
        for (std::size_t round = 0; round < 2 * kBuffers; ++round) {
            const std::size_t bytes = kSizes[round % 4];
            Area& out = *areas[round % kBuffers];
            Area& in = *areas[(round + 5) % kBuffers];
            out.set(bytes, 0, seed(h_.rank, round));
            in.poison(bytes, 0, 1);
            exchange(out, in, bytes, false);
            in.expect(bytes, seed(left_, round));
            h_.check(in.intact(), "rotating buffers, round %zu, %zu bytes: wrong data", round,
                     bytes);
        }
    }

    /// Rows to both neighbours, and a sum over host memory each step, as a Jacobi iteration does.
    void halo(gpu::Kind kind) {
        for (const std::size_t row : {std::size_t{4096}, std::size_t{16384}, std::size_t{32768}}) {
            std::vector<std::unique_ptr<Area>> areas;
            for (int i = 0; i < 4; ++i) {
                areas.push_back(std::make_unique<Area>(h_.gpu.get(), kind, row));
            }
            for (unsigned step = 0; step < 6; ++step) {
                for (std::size_t i = 0; i < 4; ++i) {
                    if (i < 2) {
                        areas[i]->set(row, 0, seed(h_.rank, 10 * step + i));
                    } else {
                        areas[i]->poison(row, 0, step);
                    }
                }
                const int n = static_cast<int>(row);
                MPI_Request requests[4];
                const MPI_Comm world = MPI_COMM_WORLD;
                MPI_Irecv(areas[2]->data(), n, MPI_BYTE, left_, 4, world, &requests[0]);
                MPI_Irecv(areas[3]->data(), n, MPI_BYTE, right_, 5, world, &requests[1]);
                MPI_Isend(areas[0]->data(), n, MPI_BYTE, right_, 4, world, &requests[2]);
                MPI_Isend(areas[1]->data(), n, MPI_BYTE, left_, 5, world, &requests[3]);
                MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
                areas[2]->expect(row, seed(left_, 10 * step));
                areas[3]->expect(row, seed(right_, 10 * step + 1));
                double residual = h_.rank;
                double sum = -1;
                MPI_Allreduce(&residual, &sum, 1, MPI_DOUBLE, MPI_SUM, world);
                h_.check(areas[2]->intact() && areas[3]->intact() &&
                             sum == h_.ranks * (h_.ranks - 1) / 2.0,
                         "halo rows of %zu bytes in %s memory, step %u", row, gpu::to_string(kind),
                         step);
            }
        }
    }

    /// 64 messages each way at once, of sizes and in an order drawn by the seed; half of them find
    /// their receive posted.
    void outstanding(gpu::Kind kind) {
        constexpr std::size_t kMessages = 64;
        constexpr std::size_t kMost = 150000;
        std::vector<std::unique_ptr<Area>> out;
        std::vector<std::unique_ptr<Area>> in;
        std::vector<MPI_Request> requests(2 * kMessages, MPI_REQUEST_NULL);
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < kMessages; ++i) {
            order.push_back(i);
            out.push_back(std::make_unique<Area>(h_.gpu.get(), kind, size_of(i, kMost)));
            in.push_back(std::make_unique<Area>(h_.gpu.get(), kind, size_of(i, kMost)));
            out[i]->set(size_of(i, kMost), 1, seed(h_.rank, 1000 + i));
            in[i]->poison(size_of(i, kMost), 1, 3);
        }
        std::sort(order.begin(), order.end(), [](std::size_t a, std::size_t b) {
            return bench::mix(a + 77) < bench::mix(b + 77);
        });
        const auto receive = [&](std::size_t i) {
            MPI_Irecv(in[i]->data(), static_cast<int>(size_of(i, kMost)), MPI_BYTE, left_,
                      static_cast<int>(i), MPI_COMM_WORLD, &requests[i]);
        };
        for (std::size_t i = 0; i < kMessages / 2; ++i) {
            receive(order[i]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (std::size_t i = 0; i < kMessages; ++i) {
            MPI_Isend(out[i]->data(), static_cast<int>(size_of(i, kMost)), MPI_BYTE, right_,
                      static_cast<int>(i), MPI_COMM_WORLD, &requests[kMessages + i]);
        }
        for (std::size_t i = kMessages / 2; i < kMessages; ++i) {
            receive(order[i]);
        }
        MPI_Waitall(2 * kMessages, requests.data(), MPI_STATUSES_IGNORE);
        for (std::size_t i = 0; i < kMessages; ++i) {
            in[i]->expect(size_of(i, kMost), seed(left_, 1000 + i));
            h_.check(in[i]->intact(), "message %zu of many, %zu bytes in %s memory: wrong data", i,
                     size_of(i, kMost), gpu::to_string(kind));
        }
    }
    static std::size_t size_of(std::size_t i, std::size_t most) {
        const std::uint64_t drawn = bench::mix(i + 5);
        // Half of them small.
        return 1 + drawn % (drawn % 2 == 0 ? 600 : most);
    }

    /// Messages from and to ever new buffers leave no mapping behind for each.
    void mappings() {
        constexpr std::size_t kBytes = 30000;
        constexpr int kWarmUp = 40;
        constexpr int kBuffers = 240;
        std::size_t before = 0;
        for (int i = 0; i < kWarmUp + kBuffers; ++i) {
            if (i == kWarmUp) {
                before = count_mappings();
            }
            const gpu::Kind kind = h_.kinds[static_cast<std::size_t>(i) % h_.kinds.size()];
            Area out(h_.gpu.get(), kind, kBytes);
            Area in(h_.gpu.get(), kind, kBytes);
            out.set(kBytes, 0, seed(h_.rank, static_cast<std::size_t>(i)));
            in.poison(kBytes, 0, 1);
            exchange(out, in, kBytes, false);
            in.expect(kBytes, seed(left_, static_cast<std::size_t>(i)));
            h_.check(in.intact(), "buffer %d of many: wrong data", i);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        const std::size_t after = count_mappings();
        h_.check(after < before + kBuffers / 4, "%d buffers made %zu mappings of %zu", kBuffers,
                 after, before);
    }
    static std::size_t count_mappings() {
        std::ifstream maps("/proc/self/maps");
        std::string line;
        std::size_t count = 0;
        while (std::getline(maps, line)) {
            ++count;
        }
        return count;
    }

    Harness& h_;
    std::vector<std::size_t> limits_;
    int right_;
    int left_;
};

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    beeline::test::Harness harness(&argc, &argv);
    std::vector<std::size_t> limits;
    for (int i = 1; i < argc; ++i) {
        const std::size_t limit = std::strtoul(argv[i], nullptr, 10);
        if (limit > 0) {
            limits.push_back(limit);
        }
    }
    if (limits.empty()) {
        limits.assign(std::begin(beeline::test::kDefaults), std::end(beeline::test::kDefaults));
    }
    {
        beeline::test::Thresholds thresholds(harness, limits);
        thresholds.first_call();
        thresholds.run();
    }
    return harness.finish();
}
