// SPDX-License-Identifier: BSD-3-Clause
// Ranks as processes with an engine each, without MPI: how tests of the engine are run.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "cuda/driver.hpp"
#include "engine/engine.hpp"

namespace beeline::world {

/// What all ranks of a job get.
struct Job {
    int size = 2;
    config::Params params;
    bool cuda = true;       ///< load the software device (for rank r, device r)
    std::string fault;      ///< SOFTCUDA_FAULT
    int fault_rank = -1;    ///< the rank with the fault; -1: all
    bool abrupt = false;    ///< ranks end after their body as they are, with messages under way
    unsigned seconds = 60;  ///< a rank that takes longer is killed, and the job fails
};

/// Parameters with every limit and table as small as is allowed.
config::Params tiny();

/// A send or receive of the engine's and whether it is done.
struct Ticket {
    Ticket();
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    const engine::Outcome& outcome() const { return request.outcome; }

    engine::Request request;
    bool done = false;
    int calls = 0;  ///< of done()
};

/// Memory that all ranks of a job share, for what MPI's launcher does.
struct Shared {
    static constexpr int kRanks = 8;
    static constexpr std::size_t kAddressBytes = 16384;
    std::atomic<int> waiting;
    std::atomic<unsigned> generation;
    std::atomic<std::uint64_t> values[kRanks];  ///< steps reached, by rank
    struct {
        std::atomic<std::size_t> bytes;
        std::byte data[kAddressBytes];
    } addresses[kRanks];
};

/// One rank, inside its process.
class Rank {
 public:
    static constexpr std::uint32_t kWorld = 0;  ///< a communicator that exists from the start

    Rank(int rank, const Job& job, Shared& shared);
    ~Rank();
    Rank(const Rank&) = delete;
    Rank& operator=(const Rank&) = delete;

    int rank() const { return rank_; }
    int size() const { return job_.size; }
    Shared& shared() { return shared_; }
    /// The address a rank has published.
    std::span<const std::byte> address_of(int rank) const {
        return {shared_.addresses[rank].data, shared_.addresses[rank].bytes.load()};
    }
    /// Tells the other ranks, without any message, that `step` is reached.
    void reach(std::uint64_t step) { shared_.values[rank_].store(step); }
    /// Waits until a rank has reached a step, making progress or not.
    void await(int rank, std::uint64_t step, bool progressing);
    engine::Engine& engine() { return *engine_; }
    const cuda::Driver* driver() const { return driver_; }
    engine::Communicator& world() { return *world_; }
    engine::Communicator* add_communicator(std::uint32_t id);
    engine::Peer* peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }

    Status send(Ticket& ticket, int destination, int tag, const engine::Buffer& buffer,
                engine::SendMode mode = engine::SendMode::kStandard);
    Status receive(Ticket& ticket, int source, int tag, const engine::Buffer& buffer);
    void wait(const Ticket& ticket);

    /// Waits for all ranks, making progress.
    void barrier();
    void progress(int times);

 private:
    void publish(const std::vector<std::byte>& address);
    void meet();
    int progress_once();

    int rank_;
    const Job& job_;
    Shared& shared_;
    const cuda::Driver* driver_ = nullptr;
    std::unique_ptr<engine::Engine> engine_;
    std::vector<engine::Peer*> peers_;
    engine::Communicator* world_ = nullptr;
};

/// Starts `size` processes that each run `body(rank)`, and waits. A failed expectation in one, a
/// crash or a hang is a failure of the calling test. The caller must not have used CUDA or UCX.
void run_ranks(const Job& job, void (*body)(Rank& rank, const void* argument),
               const void* argument);

template <class Body>
void run_ranks(const Job& job, const Body& body) {
    run_ranks(
        job, [](Rank& rank, const void* argument) { (*static_cast<const Body*>(argument))(rank); },
        &body);
}

}  // namespace beeline::world
