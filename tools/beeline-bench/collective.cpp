// SPDX-License-Identifier: BSD-3-Clause
// The collective tests, timed one operation at a time as the OSU micro-benchmarks do.
#include <algorithm>
#include <cstring>
#include <vector>

#include "pattern.hpp"
#include "workload.hpp"

namespace beeline::bench {
namespace {

constexpr unsigned char kPoison = 0xdb;
constexpr int kRoot = 0;

class Collective : public Workload {
 public:
    Collective(const Options& options, gpu::Gpu* gpu, MPI_Comm comm)
        : operation_(options.operation),
          comm_(comm),
          rank_(ask(MPI_Comm_rank, comm)),
          ranks_(ask(MPI_Comm_size, comm)),
          kind_(options.kinds[static_cast<std::size_t>(rank_ % 2)]),
          gpu_(gpu),
          send_(gpu, kind_, options.max_bytes * send_blocks()),
          receive_(gpu, kind_, options.max_bytes * receive_blocks()),
          shadow_(options.max_bytes * std::max(send_blocks(), receive_blocks())) {}

    void prepare(std::size_t bytes, unsigned round) override {
        // Reductions work on whole floats.
        bytes_ = reduces() ? bytes / sizeof(float) * sizeof(float) : bytes;
        round_ = round;
        fill_contribution();
        send_.write(0, shadow_.data(), bytes_ * send_blocks());
        if (operation_ != Operation::kBcast || rank_ != kRoot) {
            std::fill_n(shadow_.begin(), bytes_ * receive_blocks(), kPoison);
        }
        receive_.write(0, shadow_.data(), bytes_ * receive_blocks());
    }

    double run(int iterations, Spread) override {
        double spent = 0;
        for (int iteration = 0; iteration < iterations; ++iteration) {
            const double start = MPI_Wtime();
            call();
            spent += MPI_Wtime() - start;
            // Without this a root that only sends would run ahead, and its queue would be measured.
            synchronize(comm_);
        }
        return spent;
    }

    bool correct(Spread) override {
        if (rank_ != kRoot &&
            (operation_ == Operation::kReduce || operation_ == Operation::kGather)) {
            return true;
        }
        const std::span<unsigned char> all(shadow_.data(), bytes_ * receive_blocks());
        receive_.read(0, all.data(), all.size());
        if (reduces()) {
            return is_sum(all);
        }
        for (int block = 0; block < static_cast<int>(receive_blocks()); ++block) {
            if (!has_pattern(all.subspan(static_cast<std::size_t>(block) * bytes_, bytes_),
                             received_seed(block))) {
                return false;
            }
        }
        return true;
    }

    double microseconds(double seconds) const override { return seconds * 1e6; }

    double copy() override {
        const std::size_t bytes = bytes_ * std::min(send_blocks(), receive_blocks());
        synchronize(comm_);
        const double start = MPI_Wtime();
        const bool copied =
            kind_ == gpu::Kind::kDevice && gpu_->copy(receive_.at(), send_.at(), bytes);
        // Ranks that share a core copy one after another: each alone would seem to have it all.
        synchronize(comm_);
        double seconds = MPI_Wtime() - start;
        MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm_);
        return copied ? static_cast<double>(bytes) / seconds / 1e6 : 0;
    }

    /// The definitions of nccl-tests (doc/PERFORMANCE.md): the traffic that a link must carry at
    /// least.
    double bandwidth(double seconds) const override {
        if (ranks_ < 2) {
            return 0;
        }
        const double n = ranks_;
        const double payload = static_cast<double>(bytes_);
        double traffic = payload;
        if (operation_ == Operation::kAllreduce) {
            traffic = payload * 2 * (n - 1) / n;
        } else if (operation_ != Operation::kBcast && operation_ != Operation::kReduce) {
            traffic = payload * (n - 1);  // of blocks for each rank
        }
        return traffic / seconds / 1e6;
    }

 private:
    static int ask(int (*question)(MPI_Comm, int*), MPI_Comm comm) {
        int answer = 0;
        question(comm, &answer);
        return answer;
    }

    bool reduces() const {
        return operation_ == Operation::kAllreduce || operation_ == Operation::kReduce ||
               operation_ == Operation::kReduceScatter;
    }
    std::size_t send_blocks() const {
        switch (operation_) {
            case Operation::kAlltoall:
            case Operation::kReduceScatter:
            case Operation::kScatter:
                return static_cast<std::size_t>(ranks_);
            default:
                return 1;
        }
    }
    std::size_t receive_blocks() const {
        switch (operation_) {
            case Operation::kAlltoall:
            case Operation::kAllgather:
            case Operation::kGather:
                return static_cast<std::size_t>(ranks_);
            default:
                return 1;
        }
    }

    std::uint64_t seed(int source, int target) const {
        return make_seed(round_, static_cast<unsigned>(source), static_cast<unsigned>(target), 0);
    }
    std::uint64_t received_seed(int block) const {
        if (operation_ == Operation::kScatter) {
            return seed(kRoot, rank_);
        }
        return operation_ == Operation::kAlltoall ? seed(block, rank_) : seed(block, 0);
    }

    /// What this rank gives, into shadow_.
    void fill_contribution() {
        if (reduces()) {
            for (std::size_t index = 0; index < bytes_ * send_blocks() / sizeof(float); ++index) {
                const float value = contribution(round_, static_cast<unsigned>(rank_), index);
                std::memcpy(shadow_.data() + index * sizeof value, &value, sizeof value);
            }
            return;
        }
        for (int block = 0; block < static_cast<int>(send_blocks()); ++block) {
            fill_pattern(
                std::span(shadow_).subspan(static_cast<std::size_t>(block) * bytes_, bytes_),
                seed(rank_, block));
        }
    }

    bool is_sum(std::span<const unsigned char> result) const {
        const std::size_t floats = result.size() / sizeof(float);
        // Of the whole vector a rank of a reduce_scatter sees its own block.
        const std::size_t first =
            operation_ == Operation::kReduceScatter ? static_cast<std::size_t>(rank_) * floats : 0;
        for (std::size_t index = 0; index < floats; ++index) {
            float expected = 0;
            for (int rank = 0; rank < ranks_; ++rank) {
                expected += contribution(round_, static_cast<unsigned>(rank), first + index);
            }
            float got = 0;
            std::memcpy(&got, result.data() + index * sizeof got, sizeof got);
            if (got != expected) {
                return false;
            }
        }
        return true;
    }

    void call() {
        const int bytes = static_cast<int>(bytes_);
        const int floats = static_cast<int>(bytes_ / sizeof(float));
        switch (operation_) {
            case Operation::kAllreduce:
                MPI_Allreduce(send_.at(), receive_.at(), floats, MPI_FLOAT, MPI_SUM, comm_);
                return;
            case Operation::kReduce:
                MPI_Reduce(send_.at(), receive_.at(), floats, MPI_FLOAT, MPI_SUM, kRoot, comm_);
                return;
            case Operation::kBcast:
                MPI_Bcast(receive_.at(), bytes, MPI_BYTE, kRoot, comm_);
                return;
            case Operation::kAllgather:
                MPI_Allgather(send_.at(), bytes, MPI_BYTE, receive_.at(), bytes, MPI_BYTE, comm_);
                return;
            case Operation::kReduceScatter:
                MPI_Reduce_scatter_block(send_.at(), receive_.at(), floats, MPI_FLOAT, MPI_SUM,
                                         comm_);
                return;
            case Operation::kGather:
                MPI_Gather(send_.at(), bytes, MPI_BYTE, receive_.at(), bytes, MPI_BYTE, kRoot,
                           comm_);
                return;
            case Operation::kScatter:
                MPI_Scatter(send_.at(), bytes, MPI_BYTE, receive_.at(), bytes, MPI_BYTE, kRoot,
                            comm_);
                return;
            case Operation::kBarrier:
                MPI_Barrier(comm_);
                return;
            case Operation::kAlltoall:
                MPI_Alltoall(send_.at(), bytes, MPI_BYTE, receive_.at(), bytes, MPI_BYTE, comm_);
                return;
            case Operation::kLatency:
            case Operation::kBw:
            case Operation::kBibw:
                return;
        }
    }

    Operation operation_;
    MPI_Comm comm_;
    int rank_;
    int ranks_;
    gpu::Kind kind_;
    gpu::Gpu* gpu_;
    gpu::Buffer send_;
    gpu::Buffer receive_;
    std::vector<unsigned char> shadow_;
    std::size_t bytes_ = 0;
    unsigned round_ = 0;
};

}  // namespace

std::unique_ptr<Workload> make_collective(const Options& options, gpu::Gpu* gpu, MPI_Comm comm) {
    return std::make_unique<Collective>(options, gpu, comm);
}

}  // namespace beeline::bench
