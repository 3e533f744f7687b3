// SPDX-License-Identifier: BSD-3-Clause
// Whether a connection by RDMA can be trusted: the test of a new one, rails that break, and what
// follows from either.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/log.hpp"
#include "engine/device_state.hpp"
#include "engine/rdma_state.hpp"
#include "memory/copy.hpp"
#include "wire/codec.hpp"

namespace beeline::engine {

using mover::verbs::Link;

namespace {

constexpr std::size_t kTestBytes = 2 * wire::kMaxRails * kPatternBytes;  // in, then out
constexpr std::uint32_t kTestImmediate = UINT32_MAX;                     // no slot has this number
constexpr unsigned kMostDoublings = 6;
constexpr int kRepairFactor = 60;
constexpr unsigned kMostRounds = 64;  // of polling, before a rail is closed

/// What the end `epoch` expects by a rail.
void make_pattern(std::span<std::byte> out, std::uint32_t epoch, unsigned rail) noexcept {
    std::uint64_t state = std::uint64_t{epoch} << 8 | rail;
    for (std::byte& byte : out) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        byte = static_cast<std::byte>(state >> 56);
    }
}

/// Parts of the pattern that come by a rail.
unsigned test_parts(const Link& link) noexcept {
    return link.count > 1 ? link.count - 1 : 1;
}

}  // namespace

/// Writes the pattern that the other end expects.
void Engine::start_test(RdmaPeer& to) {
    to.test_until = Clock::now() + std::chrono::milliseconds(params_.pml_rdma_test_limit);
    std::byte* out = to.test_memory + kTestBytes / 2;
    for (unsigned rail = 0; rail < rdma_->rails.size(); ++rail) {
        if (!to.connection.connected(rail)) {
            continue;
        }
        std::byte* pattern = out + rail * kPatternBytes;
        const unsigned theirs = to.other[rail];
        make_pattern({pattern, kPatternBytes}, to.peer_epoch, theirs);
        // Each channel for data carries a part of it.
        const unsigned parts = test_parts(to.connection.links[rail]);
        to.tests += parts;
        for (unsigned part = 0; part < parts; ++part) {
            const std::size_t from = part * kPatternBytes / parts;
            mover::verbs::Share& share = to.test_shares[rail][part];
            share = {};
            share.owner = &to;
            share.done = [](mover::verbs::Share* ended, Status) {
                auto& peer = *static_cast<RdmaPeer*>(std::exchange(ended->owner, nullptr));
                --peer.tests;
                peer.engine->rdma_->changed.push_back(&peer);
            };
            share.tells = true;
            share.immediate = kTestImmediate;
            share.local = reinterpret_cast<std::uint64_t>(pattern + from);
            share.remote = to.test_address + theirs * kPatternBytes + from;
            share.local_key = to.test_region->keys[rdma_->rails[rail]->rail].local;
            share.remote_key = to.test_keys[theirs];
            share.bytes = (part + 1) * kPatternBytes / parts - from;
            rdma_->lane->start(to.connection, rail, share, part + 1);
        }
    }
}

/// Gives the test memory back. No queue pair may use it any more.
void Engine::end_test(RdmaPeer& to) noexcept {
    if (to.test_region != nullptr) {
        rdma_->regions->remove(std::exchange(to.test_region, nullptr));
    }
    std::free(std::exchange(to.test_memory, nullptr));
    if (to.landing != nullptr) {
        rdma_->landings.give_back(std::exchange(to.landing, nullptr));
    }
}

void Engine::check_pattern(RdmaPeer& to, unsigned rail) {
    if (to.test_memory == nullptr || (to.tested & bit(rail)) != 0 ||
        ++to.test_told[rail] < test_parts(to.connection.links[rail])) {
        return;
    }
    std::byte expected[kPatternBytes];
    make_pattern(expected, to.epoch, rail);
    std::byte found[kPatternBytes];
    std::byte* from = (to.landing != nullptr ? to.landing : to.test_memory) + rail * kPatternBytes;
    memory::Pointer where;
    if (to.landing != nullptr) {
        where = rdma_->landings.where();
        if (flush_of(where) == mover::verbs::Flush::kCall) {
            mover::verbs::flush_writes(where, mover::verbs::Reader::kAllDevices);
        }
    }
    if (memory::copy(found, memory::Pointer{}, from, where, kPatternBytes) != Status::kOk) {
        close_rail(to, rail, "what it wrote cannot be read");
        return;
    }
    if (std::memcmp(expected, found, kPatternBytes) != 0) {
        close_rail(to, rail, "it garbles data");
        return;
    }
    to.tested |= bit(rail);
    confirm_rail(to, rail);
    rdma_->changed.push_back(&to);
}

/// Gives up a rail of a connection, says so to the user and to the other end.
void Engine::close_rail(RdmaPeer& to, unsigned rail, const char* why) {
    on_broken(this, to.connection, rail, why);
    rdma_->lane->close(to.connection, rail, true);
}

/// The lane's: the link is closed already.
void Engine::on_broken(void* self, mover::verbs::Connection& connection, unsigned rail,
                       const char* why) {
    auto& engine = *static_cast<Engine*>(self);
    auto& to = *static_cast<RdmaPeer*>(connection.owner);
    if (engine.rdma_->closing) {
        return;
    }
    log_once(LogLevel::kWarning, "rdma.broken",
             "RDMA by %s to process %lld of another node failed (%s): its messages go another way; "
             "tried anew after %d ms",
             engine.rdma_->rails[rail]->name.c_str(),
             static_cast<long long>(to.peer->address.shm.pid), why,
             engine.params_.pml_rdma_retry_after);
    ++engine.rdma_->counters.broken;
    engine.connection_failed(to);
    wire::RdmaRails message;
    message.from = engine.own_name();
    message.epoch = to.epoch;
    message.peer_epoch = to.peer_epoch;
    message.broken = bit(rail);
    if (to.epoch != 0) {
        engine.control(*to.peer, std::as_bytes(std::span(&message, 1)));
    }
    engine.rdma_->changed.push_back(&to);
}

/// No new attempt for a while; a long one where messages have another rail, as all of them wait
/// for the test of a new connection.
void Engine::connection_failed(RdmaPeer& to) noexcept {
    const auto pause = std::chrono::milliseconds(params_.pml_rdma_retry_after) *
                       (1U << std::min(to.failures, kMostDoublings));
    to.retry_at = Clock::now() + pause;
    to.repair_at = Clock::now() + kRepairFactor * pause;
    ++to.failures;
}

void Engine::on_rdma_rails(const wire::RdmaRails& message) {
    RdmaPeer* to = rdma_ != nullptr && rdma_->usable ? rdma_named(message.from) : nullptr;
    if (to == nullptr || message.epoch != to->peer_epoch || message.peer_epoch != to->epoch) {
        return;  // of a connection that is gone
    }
    rdma_->said_again = true;
    // What has come by a rail before it broke is known to its completion queue.
    for (unsigned rounds = 0; rounds < kMostRounds && poll_lane() != 0; ++rounds) {
    }
    for (unsigned theirs = 0; theirs < wire::kMaxRails; ++theirs) {
        if (((message.broken | message.closed) & bit(theirs)) != 0) {
            if (const std::uint8_t rail = to->own_rail(theirs); rail != RdmaPeer::kNoRail) {
                rdma_->lane->close(to->connection, rail, message.closed == 0);
            }
        }
    }
    if (message.closed != 0) {
        rdma_->changed.push_back(to);
        return;
    }
    connection_failed(*to);
    rdma_->changed.push_back(to);
}

/// Looks whether a connection is ready, or will never be; then its receives go on.
void Engine::rails_changed(RdmaPeer& to) {
    // A pattern may overtake the message that starts the own test.
    if (to.state == RdmaPeer::State::kConnecting && to.peer_connected) {
        bool waits = false;
        bool any = false;
        bool all = true;
        for (unsigned rail = 0; rail < rdma_->rails.size(); ++rail) {
            const bool connected = to.connection.connected(rail);
            any = any || connected;
            all = all && to.connection.links[rail].state != Link::State::kBroken;
            waits = waits || (connected && (to.tested & bit(rail)) == 0);
        }
        if (!waits) {
            to.state = RdmaPeer::State::kReady;
            if (all) {
                to.failures = 0;
            }
            if (any) {
                ++rdma_->counters.connections;
            }
        }
    }
    if (to.state == RdmaPeer::State::kConnecting) {
        return;
    }
    if (to.tests == 0) {
        end_test(to);
    }
    if (!any_connected(to)) {
        table_.for_each([&](const Request& request) {
            if (request.peer_ == to.peer && waits_for_peer(request)) {
                may_be_lost(request);
            }
        });
    }
    for (PendingWays& waiting : std::exchange(to.waiting, {})) {
        take_way(*waiting.request, waiting.ways);
    }
}

void Engine::on_told(void* self, mover::verbs::Connection& connection, unsigned rail,
                     std::uint32_t immediate) {
    auto& engine = *static_cast<Engine*>(self);
    auto& from = *static_cast<RdmaPeer*>(connection.owner);
    if (immediate == kTestImmediate) {
        engine.check_pattern(from, rail);
    } else {
        engine.written(from, rail, immediate);
    }
}

}  // namespace beeline::engine
