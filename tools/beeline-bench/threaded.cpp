// SPDX-License-Identifier: BSD-3-Clause
// The point-to-point tests in several threads of each rank at once, as osu_latency_mt does.
#include <algorithm>
#include <barrier>
#include <thread>
#include <vector>

#include "workload.hpp"

namespace beeline::bench {
namespace {

/// One pair of threads to a communicator of its own.
class Threaded : public Workload {
 public:
    Threaded(const Options& options, MPI_Comm comm) {
        for (int thread = 0; thread < options.threads; ++thread) {
            MPI_Comm own = MPI_COMM_NULL;
            MPI_Comm_dup(comm, &own);
            comms_.push_back(own);
            pairs_.push_back(make_point_to_point(options, nullptr, own));
        }
    }
    ~Threaded() override {
        for (MPI_Comm& comm : comms_) {
            MPI_Comm_free(&comm);
        }
    }

    void prepare(std::size_t bytes, unsigned round) override {
        for (auto& pair : pairs_) {
            pair->prepare(bytes, round);
        }
    }
    /// The seconds of the slowest thread.
    double run(int iterations, Spread spread) override {
        std::vector<double> seconds(pairs_.size());
        std::vector<std::thread> threads;
        std::barrier start(static_cast<std::ptrdiff_t>(pairs_.size()));
        for (std::size_t i = 0; i < pairs_.size(); ++i) {
            threads.emplace_back([&, i] {
                start.arrive_and_wait();
                seconds[i] = pairs_[i]->run(iterations, spread);
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        return *std::max_element(seconds.begin(), seconds.end());
    }
    bool correct(Spread spread) override {
        return std::all_of(pairs_.begin(), pairs_.end(),
                           [spread](auto& pair) { return pair->correct(spread); });
    }
    double microseconds(double seconds) const override {
        return pairs_.front()->microseconds(seconds);
    }
    double bandwidth(double seconds) const override {
        return pairs_.front()->bandwidth(seconds) * static_cast<double>(pairs_.size());
    }

 private:
    std::vector<MPI_Comm> comms_;
    std::vector<std::unique_ptr<Workload>> pairs_;
};

}  // namespace

std::unique_ptr<Workload> make_threaded(const Options& options, MPI_Comm comm) {
    return std::make_unique<Threaded>(options, comm);
}

}  // namespace beeline::bench
