// SPDX-License-Identifier: BSD-3-Clause
// Starting the processes, exchanging addresses, and ending in order.
#include "tests/world/processes.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/log.hpp"
#include "tests/world/device_memory.hpp"

namespace beeline::world {
namespace {

/// Without the networks of the machine: messages of the test stay on it.
void set_environment(const Job& job, int rank) {
    setenv("UCX_TLS", "self,sm,tcp", 0);
    setenv("UCX_NET_DEVICES", "lo", 0);
    setenv("SOFTCUDA_QUIET", "1", 0);
    if (!job.fault.empty() && (job.fault_rank < 0 || job.fault_rank == rank)) {
        setenv("SOFTCUDA_FAULT", job.fault.c_str(), 1);
    }
}

[[noreturn]] void live(int rank, const Job& job, Shared& shared,
                       void (*body)(Rank& rank, const void* argument), const void* argument) {
    alarm(job.seconds);
    set_environment(job, rank);
    if (std::getenv("BEELINE_TEST_VERBOSE") != nullptr) {
        set_log_level(LogLevel::kDebug);
    }
    {
        Rank self(rank, job, shared);
        body(self, argument);
        if (job.abrupt) {
            self.barrier();
            std::fflush(nullptr);
            std::_Exit(testing::Test::HasFailure() ? 1 : 0);
        }
    }
    std::fflush(nullptr);
    std::_Exit(testing::Test::HasFailure() ? 1 : 0);
}

}  // namespace

config::Params tiny() {
    config::Params params;
    params.pml_shm_cells = 16;
    params.pml_shm_slots = 4;
    params.pml_shm_chunks = 2;
    params.pml_shm_blocks = 3;
    params.pml_shm_block = 4096;
    params.pml_shm_depth = 2;
    params.pml_eager_limit = 256;
    params.pml_fragments_limit = 9000;
    params.pml_ucx_eager_limit = 512;
    params.pml_device_eager_limit = 128;
    params.pml_device_ucx_eager_limit = 512;
    params.pml_staging_chunk = 4096;
    params.pml_staging_depth = 2;
    params.pml_ipc_cache_entries = 1;
    return params;
}

Ticket::Ticket() {
    request.owner = this;
    request.done = [](engine::Request* finished) {
        auto* ticket = static_cast<Ticket*>(finished->owner);
        ticket->done = true;
        ++ticket->calls;
    };
}

Rank::Rank(int rank, const Job& job, Shared& shared) : rank_(rank), job_(job), shared_(shared) {
    config::params() = job.params;
    if (job.cuda) {
        driver_ = load_driver();
        if (driver_ != nullptr) {
            use_device(*driver_, rank);
        }
    }
    auto made = engine::Engine::create(job.params, 0);
    if (!made) {
        std::fprintf(stderr, "rank %d has no engine: %s\n", rank, to_string(made.status()));
        std::_Exit(1);
    }
    engine_ = std::move(*made);
    publish(engine_->address());
    meet();
    for (int other = 0; other < job.size; ++other) {
        const auto& entry = shared.addresses[other];
        peers_.push_back(engine_->add_peer({entry.data, entry.bytes.load()}));
    }
    world_ = add_communicator(kWorld);
    meet();
}

Rank::~Rank() {
    barrier();
    while (!engine_->idle()) {
        progress(1);
    }
    barrier();
    engine_->remove_communicator(world_);
    engine_->close_peers(nullptr);
    meet();
    engine_->release_device_resources();
    engine_.reset();
}

void Rank::publish(const std::vector<std::byte>& address) {
    auto& entry = shared_.addresses[rank_];
    if (address.size() > sizeof entry.data) {
        std::fprintf(stderr, "an address of %zu bytes\n", address.size());
        std::_Exit(1);
    }
    std::memcpy(entry.data, address.data(), address.size());
    entry.bytes.store(address.size());
}

void Rank::meet() {
    const unsigned generation = shared_.generation.load();
    if (shared_.waiting.fetch_add(1) + 1 == job_.size) {
        shared_.waiting.store(0);
        shared_.generation.fetch_add(1);
        return;
    }
    while (shared_.generation.load() == generation) {
        if (engine_ != nullptr) {
            progress(1);
        }
        usleep(20);
    }
}

void Rank::barrier() {
    meet();
}

void Rank::await(int rank, std::uint64_t step, bool progressing) {
    while (shared_.values[rank].load() < step) {
        if (progressing) {
            progress(1);
        }
        usleep(20);
    }
}

void Rank::progress(int times) {
    for (int i = 0; i < times; ++i) {
        progress_once();
    }
}

engine::Communicator* Rank::add_communicator(std::uint32_t id) {
    return engine_->add_communicator(
        id, rank_, job_.size,
        {[](void* self, int other) { return static_cast<Rank*>(self)->peer(other); }, this});
}

Status Rank::send(Ticket& ticket, int destination, int tag, const engine::Buffer& buffer,
                  engine::SendMode mode) {
    const engine::Engine::Guard guard(*engine_);
    return engine_->send(ticket.request, *world_, destination, tag, buffer, mode);
}

Status Rank::receive(Ticket& ticket, int source, int tag, const engine::Buffer& buffer) {
    const engine::Engine::Guard guard(*engine_);
    return engine_->receive(ticket.request, *world_, source, tag, buffer);
}

int Rank::progress_once() {
    const engine::Engine::Guard guard(*engine_);
    return engine_->progress();
}

void Rank::wait(const Ticket& ticket) {
    for (unsigned idle = 0; !ticket.done; ++idle) {
        if (progress_once() != 0) {
            idle = 0;
        } else if (idle > 200) {
            usleep(20);
        }
    }
}

void run_ranks(const Job& job, void (*body)(Rank& rank, const void* argument),
               const void* argument) {
    void* memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto& shared = *new (memory) Shared;
    std::fflush(nullptr);
    std::vector<pid_t> processes;
    for (int rank = 0; rank < job.size; ++rank) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            live(rank, job, shared, body, argument);
        }
        processes.push_back(child);
    }
    // The first that fails ends the others, who would wait for it.
    for (std::size_t ended = 0; ended < processes.size(); ++ended) {
        int status = 0;
        const pid_t one = wait(&status);
        if (status == 0) {
            continue;
        }
        for (std::size_t rank = 0; rank < processes.size(); ++rank) {
            if (processes[rank] == one) {
                EXPECT_EQ(status, 0)
                    << "rank " << rank << (WIFSIGNALED(status) ? ": signal " : ": exit code ")
                    << (WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
            } else {
                kill(processes[rank], SIGTERM);
            }
        }
        for (++ended; ended < processes.size(); ++ended) {
            wait(nullptr);
        }
    }
    munmap(memory, sizeof(Shared));
}

}  // namespace beeline::world
