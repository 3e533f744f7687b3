// SPDX-License-Identifier: BSD-3-Clause
// latency, bw and bibw: the loops of the OSU micro-benchmarks of the same names.
#include <algorithm>
#include <vector>

#include "pattern.hpp"
#include "workload.hpp"

namespace beeline::bench {
namespace {

constexpr int kDataTag = 1;
constexpr int kAckTag = 2;
constexpr unsigned char kPoison = 0xdb;

// Memory for checking the messages of a window one by one; large messages then share places.
constexpr std::size_t kWindowBytes = 8 << 20;

/// The part that the three tests share: a send and a receive area, cut into `slots_` places.
class Pair : public Workload {
 public:
    Pair(const Options& options, gpu::Gpu* gpu, MPI_Comm comm, int window)
        : comm_(comm),
          window_(window),
          capacity_(std::max(
              options.max_bytes,
              std::min(options.max_bytes * static_cast<std::size_t>(window), kWindowBytes))),
          rank_(rank_in(comm)),
          send_(gpu, options.kinds[static_cast<std::size_t>(rank_)], capacity_),
          receive_(gpu, options.kinds[static_cast<std::size_t>(rank_)], capacity_),
          shadow_(capacity_) {}

    void prepare(std::size_t bytes, unsigned round) override {
        bytes_ = bytes;
        round_ = round;
        const std::size_t fits = bytes == 0 ? 1 : capacity_ / bytes;
        slots_ = static_cast<int>(std::min(fits, static_cast<std::size_t>(window_)));
        for (int slot = 0; slot < slots_; ++slot) {
            fill_pattern(place(slot), seed(rank_, slot));
        }
        const std::size_t used = bytes_ * static_cast<std::size_t>(slots_);
        send_.write(0, shadow_.data(), used);
        std::fill_n(shadow_.begin(), used, kPoison);
        receive_.write(0, shadow_.data(), used);
    }

    bool correct(Spread spread) override {
        if (!receives()) {
            return true;
        }
        const int slots = spread == Spread::kShared ? 1 : slots_;
        receive_.read(0, shadow_.data(), bytes_ * static_cast<std::size_t>(slots));
        for (int slot = 0; slot < slots; ++slot) {
            if (!has_pattern(place(slot), seed(1 - rank_, slot))) {
                return false;
            }
        }
        return true;
    }

 protected:
    virtual bool receives() const { return true; }

    int count() const { return static_cast<int>(bytes_); }
    int peer() const { return 1 - rank_; }
    int slot_of(int message, Spread spread) const {
        return spread == Spread::kShared ? 0 : message % slots_;
    }
    unsigned char* send_at(int slot) const {
        return send_.at(static_cast<std::size_t>(slot) * bytes_);
    }
    unsigned char* receive_at(int slot) const {
        return receive_.at(static_cast<std::size_t>(slot) * bytes_);
    }

    /// Starts a window of receives, or of sends, into `requests`.
    void start_receives(MPI_Request* requests, Spread spread) const {
        for (int message = 0; message < window_; ++message) {
            MPI_Irecv(receive_at(slot_of(message, spread)), count(), MPI_BYTE, peer(), kDataTag,
                      comm_, &requests[message]);
        }
    }
    void start_sends(MPI_Request* requests, Spread spread) const {
        for (int message = 0; message < window_; ++message) {
            MPI_Isend(send_at(slot_of(message, spread)), count(), MPI_BYTE, peer(), kDataTag, comm_,
                      &requests[message]);
        }
    }
    void send_ack() const { MPI_Send(nullptr, 0, MPI_BYTE, peer(), kAckTag, comm_); }
    void receive_ack() const {
        MPI_Recv(nullptr, 0, MPI_BYTE, peer(), kAckTag, comm_, MPI_STATUS_IGNORE);
    }

    MPI_Comm comm_;
    int window_;
    std::size_t capacity_;
    int rank_;
    std::size_t bytes_ = 0;

 private:
    static int rank_in(MPI_Comm comm) {
        int rank = 0;
        MPI_Comm_rank(comm, &rank);
        return rank;
    }
    std::uint64_t seed(int source, int slot) const {
        return make_seed(round_, static_cast<unsigned>(source), static_cast<unsigned>(1 - source),
                         static_cast<unsigned>(slot));
    }
    std::span<unsigned char> place(int slot) {
        return std::span(shadow_).subspan(static_cast<std::size_t>(slot) * bytes_, bytes_);
    }

    gpu::Buffer send_;
    gpu::Buffer receive_;
    std::vector<unsigned char> shadow_;
    unsigned round_ = 0;
    int slots_ = 1;
};

class Latency : public Pair {
 public:
    Latency(const Options& options, gpu::Gpu* gpu, MPI_Comm comm) : Pair(options, gpu, comm, 1) {}

    double run(int iterations, Spread) override {
        const double start = MPI_Wtime();
        for (int iteration = 0; iteration < iterations; ++iteration) {
            if (rank_ == 0) {
                MPI_Send(send_at(0), count(), MPI_BYTE, 1, kDataTag, comm_);
                MPI_Recv(receive_at(0), count(), MPI_BYTE, 1, kDataTag, comm_, MPI_STATUS_IGNORE);
            } else {
                MPI_Recv(receive_at(0), count(), MPI_BYTE, 0, kDataTag, comm_, MPI_STATUS_IGNORE);
                MPI_Send(send_at(0), count(), MPI_BYTE, 0, kDataTag, comm_);
            }
        }
        return MPI_Wtime() - start;
    }
    double microseconds(double seconds) const override { return seconds * 1e6 / 2; }
    double bandwidth(double) const override { return 0; }
};

class Bandwidth : public Pair {
 public:
    Bandwidth(const Options& options, gpu::Gpu* gpu, MPI_Comm comm)
        : Pair(options, gpu, comm, options.window), requests_(static_cast<std::size_t>(window_)) {}

    double run(int iterations, Spread spread) override {
        const double start = MPI_Wtime();
        for (int iteration = 0; iteration < iterations; ++iteration) {
            if (rank_ == 0) {
                start_sends(requests_.data(), spread);
                MPI_Waitall(window_, requests_.data(), MPI_STATUSES_IGNORE);
                receive_ack();
            } else {
                start_receives(requests_.data(), spread);
                MPI_Waitall(window_, requests_.data(), MPI_STATUSES_IGNORE);
                send_ack();
            }
        }
        return MPI_Wtime() - start;
    }
    double microseconds(double seconds) const override { return seconds * 1e6 / window_; }
    double bandwidth(double seconds) const override {
        return static_cast<double>(bytes_) * window_ / seconds / 1e6;
    }

 protected:
    bool receives() const override { return rank_ == 1; }

 private:
    std::vector<MPI_Request> requests_;
};

class BidirectionalBandwidth : public Pair {
 public:
    BidirectionalBandwidth(const Options& options, gpu::Gpu* gpu, MPI_Comm comm)
        : Pair(options, gpu, comm, options.window),
          requests_(2 * static_cast<std::size_t>(window_)) {}

    double run(int iterations, Spread spread) override {
        const double start = MPI_Wtime();
        for (int iteration = 0; iteration < iterations; ++iteration) {
            start_receives(requests_.data(), spread);
            start_sends(requests_.data() + window_, spread);
            MPI_Waitall(2 * window_, requests_.data(), MPI_STATUSES_IGNORE);
            if (rank_ == 0) {
                receive_ack();
            } else {
                send_ack();
            }
        }
        return MPI_Wtime() - start;
    }
    double microseconds(double seconds) const override { return seconds * 1e6 / window_; }
    double bandwidth(double seconds) const override {
        return 2 * static_cast<double>(bytes_) * window_ / seconds / 1e6;
    }

 private:
    std::vector<MPI_Request> requests_;
};

}  // namespace

std::unique_ptr<Workload> make_point_to_point(const Options& options, gpu::Gpu* gpu,
                                              MPI_Comm comm) {
    if (options.operation == Operation::kBw) {
        return std::make_unique<Bandwidth>(options, gpu, comm);
    }
    if (options.operation == Operation::kBibw) {
        return std::make_unique<BidirectionalBandwidth>(options, gpu, comm);
    }
    return std::make_unique<Latency>(options, gpu, comm);
}

}  // namespace beeline::bench
