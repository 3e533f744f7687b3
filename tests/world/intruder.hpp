// SPDX-License-Identifier: BSD-3-Clause
// A peer without manners: forged messages for a rank.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "engine/address.hpp"
#include "mover/shm/lane.hpp"
#include "tests/world/processes.hpp"
#include "wire/codec.hpp"

namespace beeline::world {

/// Speaks to a rank's shared memory without an engine's manners.
class Intruder {
 public:
    static constexpr std::uint64_t kFirstId = std::uint64_t{1}
                                              << 32;  ///< of a process's first request

    Intruder(Rank& rank, int victim) {
        engine::Address address;
        EXPECT_TRUE(engine::decode(rank.address_of(victim), address));
        auto lane = mover::shm::Lane::create({16, 8, 1024, 2, 4096},
                                             {[](void*, const mover::shm::Arrival&) {}, nullptr});
        EXPECT_TRUE(lane.ok());
        lane_ = std::move(*lane);
        auto link = lane_->connect(address.shm);
        EXPECT_TRUE(link.ok());
        link_ = std::move(*link);
    }

    /// By a cell when it fits, or by a slot.
    void send(std::span<const std::byte> message, bool by_slot = false) {
        if (!by_slot && message.size() <= mover::shm::Lane::kInlineBytes) {
            while (!lane_->send_inline(*link_, message, {})) {
                usleep(20);
            }
            return;
        }
        std::uint32_t index = 0;
        std::byte* slot = nullptr;
        while ((slot = lane_->take_slot(index)) == nullptr) {
            usleep(20);
        }
        std::memcpy(slot, message.data(), message.size());
        while (!lane_->send_slot(*link_, index, message.size())) {
            usleep(20);
        }
    }
    template <class X>
    void send_message(const X& message) {
        send(std::as_bytes(std::span(&message, 1)));
    }

 private:
    std::unique_ptr<mover::shm::Lane> lane_;
    std::unique_ptr<mover::shm::Link> link_;
};

}  // namespace beeline::world
