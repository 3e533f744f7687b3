// SPDX-License-Identifier: BSD-3-Clause
// One benchmarked operation: its data, its loop and its check.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "options.hpp"
#include "tools/gpu/gpu.hpp"

namespace beeline::bench {

/// Whether the messages of a window share one buffer, as in OSU's bandwidth tests, or have one
/// each, which lets every one of them be checked.
enum class Spread { kShared, kSeparate };

/// All calls are collective over the communicator the workload was made for.
class Workload {
 public:
    virtual ~Workload() = default;
    /// Sets the size for what follows, fills what is sent with data of `round`, and poisons what is
    /// received.
    virtual void prepare(std::size_t bytes, unsigned round) = 0;
    /// Performs the operation `iterations` times. Returns this rank's seconds spent in it.
    virtual double run(int iterations, Spread spread) = 0;
    /// Whether this rank received what prepare() and run() with this `spread` call for.
    virtual bool correct(Spread spread) = 0;
    /// Microseconds of one operation as OSU counts it, from the seconds of one iteration of run().
    virtual double microseconds(double seconds) const = 0;
    /// MB/s (10^6) from the same: payload for bw and bibw, bus bandwidth for collectives; 0 where
    /// it has no meaning.
    virtual double bandwidth(double seconds) const = 0;
    /// MB/s that this rank copies from what it sends to where it receives, by the time that all
    /// ranks together take to do so. Where it receives then holds other data than run() leaves
    /// there. 0 where it can't.
    virtual double copy() { return 0; }
};

/// The latency, bw and bibw tests between ranks 0 and 1 of `comm`.
std::unique_ptr<Workload> make_point_to_point(const Options& options, gpu::Gpu* gpu, MPI_Comm comm);

/// The same in `options.threads` threads of each rank at once, on host memory. MPI must have been
/// started with MPI_THREAD_MULTIPLE.
std::unique_ptr<Workload> make_threaded(const Options& options, MPI_Comm comm);

/// The collective tests over `comm`.
std::unique_ptr<Workload> make_collective(const Options& options, gpu::Gpu* gpu, MPI_Comm comm);

/// A barrier made of empty messages, so that it leaves no trace in the counters of collectives.
void synchronize(MPI_Comm comm);

}  // namespace beeline::bench
