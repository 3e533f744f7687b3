// SPDX-License-Identifier: BSD-3-Clause
// Connections by RDMA: made when the first message wants one, tested before one is trusted, and
// made anew after a failure.
//
// An end says CONNECT when it wants a connection, and again once it has connected to the other's
// end; whoever hears a CONNECT of an end that is new to it connects and says so. So both may
// start, and both learn when the other listens. Then each writes a pattern into the other's test
// memory over every rail: a receiver asks only for what goes over rails by which the pattern has
// come as it should.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <utility>

#include "base/log.hpp"
#include "engine/device_state.hpp"
#include "engine/rdma_state.hpp"
#include "memory/copy.hpp"
#include "wire/codec.hpp"

namespace beeline::engine {

using mover::verbs::Link;
using protocol::Reason;

namespace {

constexpr std::size_t kTestBytes = 2 * wire::kMaxRails * kPatternBytes;  // in, then out

/// How many leading bits two addresses share, of those that tell networks apart: an IPv4 address'
/// first 24, else the subnet prefix.
unsigned common_bits(const mover::verbs::Gid& own, std::span<const std::byte> theirs) noexcept {
    const bool ipv4 = mover::verbs::scope_of(own) == mover::verbs::GidScope::kIpv4;
    const unsigned most = ipv4 ? 96 + 24 : 64;
    unsigned common = 0;
    for (unsigned i = 0; i < own.size(); ++i) {
        const unsigned differ = own[i] ^ std::to_integer<unsigned>(theirs[i]);
        common += differ == 0 ? 8 : static_cast<unsigned>(std::countl_zero(differ)) - 24;
        if (differ != 0) {
            break;
        }
    }
    return std::min(common, most);
}

}  // namespace

Engine::RdmaPeer& Engine::rdma_peer(Peer& peer) {
    if (peer.rdma == nullptr) {
        rdma_->peers.push_back(std::make_unique<RdmaPeer>());
        RdmaPeer& made = *rdma_->peers.back();
        made.engine = this;
        made.peer = &peer;
        made.connection.owner = &made;
        peer.rdma = &made;
    }
    return *static_cast<RdmaPeer*>(peer.rdma);
}

/// The process that names itself so in a message; null when there is none.
Engine::RdmaPeer* Engine::rdma_named(std::uint64_t name) {
    for (; rdma_->named < peers_.size(); ++rdma_->named) {
        Peer& peer = *peers_[rdma_->named];
        rdma_->names[name_of(peer.address.ucx)] = &peer;
    }
    const auto found = rdma_->names.find(name);
    if (found == rdma_->names.end() || found->second->same_process) {
        log_once(LogLevel::kError, "rdma.stranger",
                 "a process that this one does not know wants to talk by RDMA: ignored");
        return nullptr;
    }
    return &rdma_peer(*found->second);
}

bool Engine::any_connected(const RdmaPeer& to) const noexcept {
    for (unsigned rail = 0; rail < rdma_->rails.size(); ++rail) {
        if (to.connection.connected(rail)) {
            return true;
        }
    }
    return false;
}

/// kOk: there is one; kRetry: it is being made; otherwise there is none now. A new one, or one with
/// more rails, is started only when `may_start`.
Status Engine::rdma_connection(RdmaPeer& to, bool may_start) {
    switch (to.state) {
        case RdmaPeer::State::kRefused:
            return Status::kUnsupported;
        case RdmaPeer::State::kConnecting:
            return Status::kRetry;
        case RdmaPeer::State::kReady: {
            bool broken = false;
            for (unsigned rail = 0; rail < rdma_->rails.size(); ++rail) {
                broken = broken || (to.connection.links[rail].state == Link::State::kBroken &&
                                    rdma_->rails[rail]->up);
            }
            const bool idle = to.sends == 0 && to.receives == 0;
            if (any_connected(to) &&
                !(may_start && broken && idle && Clock::now() >= to.repair_at)) {
                return Status::kOk;
            }
            if (!may_start || !idle || Clock::now() < to.retry_at) {
                return Status::kUnreachable;
            }
            break;
        }
        case RdmaPeer::State::kNone:
            if (!may_start || Clock::now() < to.retry_at) {
                return Status::kUnreachable;
            }
            break;
    }
    // A port that is down would keep the message waiting until the test's time is over.
    const bool any_up = std::any_of(rdma_->rails.begin(), rdma_->rails.end(),
                                    [](const mover::verbs::Port* port) { return port->up; });
    if (!any_up) {
        return Status::kUnreachable;
    }
    if (!open_end(to)) {
        connection_failed(to);
        return Status::kUnreachable;
    }
    send_end(to);
    return Status::kRetry;
}

/// Makes a new end; false when no rail has one.
bool Engine::open_end(RdmaPeer& to) {
    close_end(to);
    end_test(to);
    make_room();
    std::uint64_t drawn = random_secret();
    to.epoch = static_cast<std::uint32_t>(drawn) | 1U;
    to.peer_epoch = 0;
    to.peer_connected = false;
    to.tested = 0;
    to.confirmed = 0;
    to.test_told = {};
    void* memory = std::aligned_alloc(4096, kTestBytes);
    if (memory == nullptr) {
        return false;
    }
    to.test_memory = static_cast<std::byte*>(memory);
    std::memset(memory, 0, kTestBytes);
    auto region = rdma_->regions->add_host(memory, kTestBytes, rdma_->ports);
    if (!region) {
        end_test(to);
        return false;
    }
    to.test_region = *region;
    to.landing = rdma_->landings.take(*rdma_->regions, rdma_->device, rdma_->ports);
    bool any = false;
    for (unsigned rail = 0; rail < rdma_->rails.size(); ++rail) {
        drawn = drawn * 6364136223846793005U + 1;
        any = rdma_->lane->open(to.connection, rail, static_cast<std::uint32_t>(drawn >> 40)) ==
                  Status::kOk ||
              any;
    }
    if (!any) {
        close_end(to);
        end_test(to);
        return false;
    }
    to.state = RdmaPeer::State::kConnecting;
    by_rdma_ = true;
    return true;
}

/// Whether there is a connection that could be closed without harm.
bool Engine::is_unused(const RdmaPeer& peer) const noexcept {
    return peer.epoch != 0 && peer.state == RdmaPeer::State::kReady && peer.sends == 0 &&
           peer.receives == 0 && peer.tests == 0 && !mover::verbs::Lane::busy(peer.connection);
}

/// Closes a connection, and tells the other end.
void Engine::close_unused(RdmaPeer& peer) {
    wire::RdmaRails message;
    message.from = own_name();
    message.epoch = peer.epoch;
    message.peer_epoch = peer.peer_epoch;
    message.closed = wire::detail::kRailBits;
    close_end(peer);
    control(*peer.peer, std::as_bytes(std::span(&message, 1)));
}

/// Closes the connections that nobody has used for pml_beeline_rdma_idle.
void Engine::close_idle() {
    const auto now = Clock::now();
    for (const auto& peer : rdma_->peers) {
        if (peer->used != peer->used_before || !is_unused(*peer)) {
            peer->used_before = peer->used;
            peer->idle_since = now;
            rdma_->lane->hurry(peer->connection);
        } else if (now - peer->idle_since >= std::chrono::seconds(params_.pml_rdma_idle)) {
            ++rdma_->counters.closed;
            close_unused(*peer);
        }
    }
}

/// Closes the connection that was not used for longest, if there are as many as may be.
void Engine::make_room() {
    const auto open = [&](const RdmaPeer& peer) { return peer.epoch != 0; };
    RdmaPeer* oldest = nullptr;
    std::size_t count = 0;
    for (const auto& peer : rdma_->peers) {
        count += open(*peer) ? 1 : 0;
        if (is_unused(*peer) && (oldest == nullptr || peer->used < oldest->used)) {
            oldest = peer.get();
        }
    }
    if (count < static_cast<std::size_t>(params_.pml_rdma_connections)) {
        return;
    }
    if (oldest != nullptr) {
        close_unused(*oldest);
        return;
    }
    for (const auto& peer : rdma_->peers) {  // so that there is one the next time
        rdma_->lane->hurry(peer->connection);
    }
}

/// Closes all rails: the shares under way end, and their messages are moved another way.
void Engine::close_end(RdmaPeer& to) {
    for (unsigned rail = 0; rail < rdma_->rails.size(); ++rail) {
        rdma_->lane->close(to.connection, rail, false);
    }
    to.state = RdmaPeer::State::kNone;
    to.epoch = 0;
    to.confirmed = 0;
}

void Engine::send_end(RdmaPeer& to) {
    wire::RdmaConnect message;
    message.from = own_name();
    message.epoch = to.epoch;
    message.peer_epoch = to.peer_epoch;
    message.message_bytes = static_cast<std::uint32_t>(rdma_->lane->message_bytes());
    message.test_address =
        reinterpret_cast<std::uint64_t>(to.landing != nullptr ? to.landing : to.test_memory);
    const mover::verbs::Region& into =
        to.landing != nullptr ? *rdma_->landings.region() : *to.test_region;
    for (unsigned rail = 0; rail < rdma_->rails.size(); ++rail) {
        const Link& link = to.connection.links[rail];
        if (link.state != Link::State::kMade && link.state != Link::State::kConnected) {
            continue;
        }
        const mover::verbs::PairEnd& end = link.end();
        wire::RailEnd& out = message.ends[rail];
        std::memcpy(out.gid.data(), end.gid.data(), out.gid.size());
        for (unsigned channel = 0; channel < link.count; ++channel) {
            out.queue_pairs[channel] = link.end(channel).number;
        }
        out.credits = static_cast<std::uint16_t>(link.granted);
        out.sequence = end.sequence;
        out.lid = end.lid;
        out.mtu = end.mtu;
        message.test_keys[rail] = into.keys[rdma_->rails[rail]->rail].remote;
    }
    control(*to.peer, std::as_bytes(std::span(&message, 1)));
}

void Engine::on_rdma_connect(const wire::RdmaConnect& message) {
    if (!start_rdma()) {
        if (message.status == 0) {
            refuse_connection(message.from, Reason::kNoRdmaDevice);
        }
        return;
    }
    RdmaPeer* found = rdma_named(message.from);
    if (found == nullptr) {
        return;
    }
    RdmaPeer& to = *found;
    if (message.status != 0) {
        close_end(to);
        end_test(to);
        if (message.status == static_cast<std::uint8_t>(Reason::kNoRdmaDevice)) {
            to.state = RdmaPeer::State::kRefused;
            to.peer->rdma_refused = true;
        } else {
            connection_failed(to);
        }
        rdma_->changed.push_back(&to);
        return;
    }
    if (message.peer_epoch != 0 && message.peer_epoch != to.epoch) {
        return;  // an answer to an end that is gone
    }
    if (to.epoch == 0 || message.epoch != to.peer_epoch) {
        const bool fresh = to.epoch != 0 && to.peer_epoch == 0;
        bool connected = fresh || open_end(to);
        if (connected) {
            connect_end(to, message);
            connected = any_connected(to);
        }
        if (!connected) {  // the other end waits for an answer
            close_end(to);
            end_test(to);
            connection_failed(to);
            rdma_->changed.push_back(&to);
            refuse_connection(message.from, Reason::kRdmaFailed);
            return;
        }
        send_end(to);
    }
    if (message.peer_epoch == to.epoch && !to.peer_connected) {
        to.peer_connected = true;
        start_test(to);
    }
    rdma_->changed.push_back(&to);
}

/// Which rails face each other: those whose addresses have most in common, as the ports of one
/// subnet have, then those that come first on both sides. Both ends find the same.
void Engine::pair_rails(RdmaPeer& to, const wire::RdmaConnect& message) {
    struct Facing {
        unsigned common;  // bits of the addresses
        unsigned own;
        unsigned theirs;
    };
    std::vector<Facing> all;
    for (unsigned own = 0; own < rdma_->rails.size(); ++own) {
        for (unsigned theirs = 0; theirs < wire::kMaxRails; ++theirs) {
            if (to.connection.links[own].state == Link::State::kMade &&
                message.ends[theirs].queue_pairs[0] != 0) {
                all.push_back(
                    {common_bits(to.connection.links[own].end().gid, message.ends[theirs].gid), own,
                     theirs});
            }
        }
    }
    const bool first = own_name() < message.from;
    std::sort(all.begin(), all.end(), [first](const Facing& a, const Facing& b) {
        return std::tuple(b.common, a.own + a.theirs, first ? a.own : a.theirs) <
               std::tuple(a.common, b.own + b.theirs, first ? b.own : b.theirs);
    });
    to.other.fill(RdmaPeer::kNoRail);
    RailBits taken = 0;
    for (const Facing& pair : all) {
        if (to.other[pair.own] == RdmaPeer::kNoRail && (taken & bit(pair.theirs)) == 0) {
            to.other[pair.own] = static_cast<std::uint8_t>(pair.theirs);
            taken |= bit(pair.theirs);
        }
    }
}

void Engine::connect_end(RdmaPeer& to, const wire::RdmaConnect& message) {
    pair_rails(to, message);
    to.peer_epoch = message.epoch;
    for (unsigned rail = 0; rail < rdma_->rails.size(); ++rail) {
        if (to.connection.links[rail].state != Link::State::kMade) {
            continue;
        }
        if (to.other[rail] == RdmaPeer::kNoRail) {
            rdma_->lane->close(to.connection, rail, false);
            continue;
        }
        const wire::RailEnd& end = message.ends[to.other[rail]];
        std::array<mover::verbs::PairEnd, wire::kMaxPairs> others;
        std::size_t count = 0;
        for (; count < others.size() && end.queue_pairs[count] != 0; ++count) {
            mover::verbs::PairEnd& other = others[count];
            std::memcpy(other.gid.data(), end.gid.data(), end.gid.size());
            other.number = end.queue_pairs[count];
            other.sequence = end.sequence;
            other.lid = end.lid;
            other.mtu = end.mtu;
        }
        if (rdma_->lane->connect(to.connection, rail, std::span(others).first(count),
                                 end.credits) != Status::kOk) {
            rdma_->lane->close(to.connection, rail, true);
        }
    }
    to.message_bytes = message.message_bytes;
    to.test_address = message.test_address;
    to.test_keys = message.test_keys;
}

}  // namespace beeline::engine
