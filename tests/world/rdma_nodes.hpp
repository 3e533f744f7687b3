// SPDX-License-Identifier: BSD-3-Clause
// Engines of one process that take each other for processes of different nodes, over cards in
// software.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>

#include "engine/address.hpp"
#include "memory/copy.hpp"
#include "tests/world/fake_verbs.hpp"
#include "tests/world/message_memory.hpp"
#include "tests/world/processes.hpp"

namespace beeline::world {

using memory::Kind;
using protocol::Path;
using protocol::Preference;
using protocol::Reason;

inline constexpr std::size_t kBytes = 100000;

inline void copy_any(void* to, const void* from, std::size_t bytes) {
    ASSERT_EQ(memory::copy(to, memory::classify(to), from, memory::classify(from), bytes),
              Status::kOk);
}

/// Verbs of a machine without cards.
inline const mover::verbs::Api& no_cards() {
    static const mover::verbs::Api api = [] {
        mover::verbs::Api none = FakeCards::api();
        none.get_device_list = [](int* count) {
            *count = 0;
            return new ibv_device* [1] {};
        };
        return none;
    }();
    return api;
}

/// What engines have for cards.
struct Hardware {
    const mover::verbs::Api* api = &FakeCards::api();
    const mover::verbs::Api* second = nullptr;  ///< the second engine's, where that has others
    const char* devices[2] = {"", ""};          ///< pml_beeline_rdma_devices, by engine
};

/// Engines that take each other for processes of different nodes.
class Nodes {
 public:
    /// `second`: the second engine's parameters, where it has others.
    explicit Nodes(const config::Params& params, int count = 2, const Hardware& hardware = {},
                   const config::Params* second = nullptr)
        : count_(count) {
        for (int side = 0; side < count; ++side) {
            config::Params own = side == 1 && second != nullptr ? *second : params;
            if (side < 2) {
                const std::string_view devices = hardware.devices[side];
                devices.copy(own.pml_rdma_devices.data(), own.pml_rdma_devices.size() - 1);
            }
            auto made = engine::Engine::create(own, 0);
            EXPECT_TRUE(made.ok());
            engines_[side] = std::move(*made);
            engines_[side]->use_verbs(side == 1 && hardware.second != nullptr ? hardware.second
                                                                              : hardware.api);
        }
        for (int side = 0; side < count; ++side) {
            for (int one = 0; one < count; ++one) {
                engine::Address other;
                EXPECT_TRUE(decode(engines_[one]->address(), other));
                other.node.boot ^= static_cast<std::uint64_t>(one) + 1;
                peers_[side][one] = one != side ? engines_[side]->add_peer(encode(other)) : nullptr;
            }
            communicators_[side] = engines_[side]->add_communicator(
                0, side, count,
                {[](void* self, int rank) { return static_cast<engine::Peer**>(self)[rank]; },
                 peers_[side]});
        }
    }
    ~Nodes() {
        const auto all_idle = [&] {
            return std::all_of(engines_, engines_ + count_,
                               [](const auto& engine) { return engine->idle(); });
        };
        while (!all_idle()) {
            progress();
        }
        for (int side = 0; side < count_; ++side) {
            engines_[side]->remove_communicator(communicators_[side]);
            closing_ = this;  // what is closed wants an answer of the other end
            engines_[side]->close_peers([] { closing_->progress(); });
        }
        for (auto& engine : engines_) {
            if (engine != nullptr) {
                engine->release_device_resources();
                engine.reset();
            }
        }
        EXPECT_EQ(FakeCards::pairs(), 0U);
        EXPECT_EQ(FakeCards::regions(), 0U);
        EXPECT_EQ(FakeCards::queues(), 0U);
    }
    Nodes(const Nodes&) = delete;
    Nodes& operator=(const Nodes&) = delete;

    engine::Engine& operator[](int side) { return *engines_[side]; }
    void progress() {
        for (int side = 0; side < count_; ++side) {
            engines_[side]->progress();
        }
    }
    void send(int side, Ticket& ticket, const MessageMemory& memory, int to = -1,
              engine::SendMode mode = engine::SendMode::kStandard) {
        EXPECT_EQ(engines_[side]->send(ticket.request, *communicators_[side],
                                       to < 0 ? 1 - side : to, 0, memory.all(), mode),
                  Status::kOk);
    }
    /// Sends without a request, to the other side; whether that was possible.
    bool try_send(int side, const MessageMemory& memory) {
        std::optional<memory::Pointer> where;
        const engine::Buffer all = memory.all();
        return engines_[side]->try_send(*communicators_[side], 1 - side, 0, all.address, all.bytes,
                                        where);
    }
    void receive(int side, Ticket& ticket, const MessageMemory& memory, int from = -1) {
        EXPECT_EQ(engines_[side]->receive(ticket.request, *communicators_[side],
                                          from < 0 ? 1 - side : from, 0, memory.all()),
                  Status::kOk);
    }
    void wait(const Ticket& ticket) {
        for (unsigned idle = 0; !ticket.done; ++idle) {
            progress();
            if (idle > 1000) {
                usleep(20);
            }
        }
    }
    void progress_for(int times) {
        for (int i = 0; i < times; ++i) {
            progress();
        }
    }
    std::uint64_t by(Path path, int side = 0) {
        return engines_[side]->counters().messages[static_cast<std::size_t>(path)];
    }

 private:
    static constexpr int kMost = 3;
    static inline Nodes* closing_ = nullptr;
    int count_;
    std::unique_ptr<engine::Engine> engines_[kMost];
    engine::Peer* peers_[kMost][kMost] = {};
    engine::Communicator* communicators_[kMost] = {};
};

/// Runs a test in a process of its own, with CUDA and `cards` cards.
template <class Body>
void with_cards(unsigned cards, const Body& body) {
    Job job;
    job.size = 1;
    setenv("SOFTCUDA_GPUDIRECT", "1", 1);
    run_ranks(job, [&](Rank& rank) {
        FakeCards::reset(cards);
        FakeCards::set_copy(copy_any);
        body(rank);
    });
}

inline config::Params params_for(Preference preference = Preference::kAuto) {
    config::Params params;
    params.pml_protocol = static_cast<int>(preference);
    params.pml_rdma_stripe = 65536;
    params.pml_rdma_unit = 65536;
    params.pml_rdma_retry_after = 0;
    return params;
}

/// A message of kBytes from node 0 to node 1 between buffers that stay, checked.
inline engine::Outcome exchange(Nodes& nodes, MessageMemory& out, MessageMemory& in,
                                unsigned number) {
    Ticket send;
    Ticket receive;
    out.fill(content(kBytes, number));
    nodes.send(0, send, out);
    nodes.receive(1, receive, in);
    nodes.wait(send);
    nodes.wait(receive);
    EXPECT_TRUE(in.holds(content(kBytes, number)));
    return receive.outcome();
}

struct Ends {
    engine::Outcome sent;
    engine::Outcome received;
};

/// One message from node 0 to node 1, checked.
inline Ends transfer(Nodes& nodes, Rank& rank, unsigned number, std::size_t bytes,
                     Kind from = Kind::kDevice, Kind to = Kind::kDevice,
                     std::size_t room = SIZE_MAX) {
    room = std::min(room, bytes);
    MessageMemory out(rank.driver(), from, bytes, number % 7, false);
    MessageMemory in(rank.driver(), to, room, number % 5, false);
    Bytes content_ = content(bytes, number);
    out.fill(content_);
    Ticket send;
    Ticket receive;
    nodes.receive(1, receive, in);
    nodes.send(0, send, out);
    nodes.wait(receive);
    nodes.wait(send);
    content_.resize(room);
    EXPECT_TRUE(in.holds(content_)) << "message " << number << " of " << bytes;
    EXPECT_EQ(send.calls, 1);
    EXPECT_EQ(receive.calls, 1);
    return {send.outcome(), receive.outcome()};
}

}  // namespace beeline::world
