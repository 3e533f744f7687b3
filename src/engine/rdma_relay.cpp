// SPDX-License-Identifier: BSD-3-Clause
// RDMA where the memory of one side cannot be registered, or is not in a row: that side relays the
// message through pinned chunks, which are registered once. A sender fills chunks and writes them
// into the receiver's memory; a receiver reads the sender's memory into chunks and empties them.
// The other side does not notice.
#include <algorithm>
#include <bit>
#include <utility>

#include "engine/rdma_state.hpp"

namespace beeline::engine {

using mover::verbs::Share;

/// Whether there are chunks that the cards reach; makes and registers them when asked first.
bool Engine::may_relay(const memory::Pointer& side) {
    if (!start_rdma()) {
        return false;
    }
    if (!rdma_->relay_tried) {
        rdma_->relay_tried = true;
        if (std::byte* chunk = staging_.take(side); chunk != nullptr) {
            const std::span<std::byte> all = staging_.memory();
            // Without a word where it fails: the memory's own refusal has said what is missing.
            auto region =
                rdma_->regions->add_host(all.data(), all.size(), rdma_->ports, LogLevel::kInfo);
            rdma_->relay_region = region ? *region : nullptr;
            staging_.give_back(chunk);
        }
    }
    return rdma_->relay_region != nullptr;
}

/// Starts a move by way of chunks; the receiver of a write hears of its end on every rail.
void Engine::start_relay(RdmaMove& move, std::uint8_t rails, std::uint64_t remote,
                         const std::array<std::uint32_t, wire::kMaxRails>& keys,
                         std::size_t bytes) {
    ++rdma_->moves;
    move.failed = false;
    move.relayed = true;
    move.left = 0;
    auto relay = std::make_unique<RdmaRelay>();
    relay->move = &move;
    relay->rails = rails;
    relay->remote = remote;
    relay->keys = keys;
    relay->bytes = bytes;
    relay->parts.resize(static_cast<std::size_t>(params_.pml_staging_depth));
    rdma_->relays.push_back(std::move(relay));
}

/// Relays go on, and end, from the progress loop only.
void Engine::poll_relays(int& events) {
    for (std::size_t i = 0; i < rdma_->relays.size();) {
        if (!advance_relay(*rdma_->relays[i], events)) {
            ++i;
            continue;
        }
        const std::unique_ptr<RdmaRelay> ended = std::move(rdma_->relays[i]);
        rdma_->relays.erase(rdma_->relays.begin() + static_cast<std::ptrdiff_t>(i));
        move_ended(*ended->move);
    }
}

/// True when nothing of it is under way any more.
bool Engine::advance_relay(RdmaRelay& relay, int& events) {
    RdmaMove& move = *relay.move;
    bool busy = false;
    for (RdmaPart& part : relay.parts) {
        events += step_part(relay, part) ? 1 : 0;
        if (part.state == RdmaPart::State::kFree && !move.failed && relay.started != relay.bytes) {
            start_part(relay, part);
        }
        busy = busy || part.state != RdmaPart::State::kFree;
    }
    if (busy || (!move.failed && relay.started != relay.bytes)) {
        return false;
    }
    if (!move.failed && !move.read && !relay.telling) {
        tell_relayed(relay);
    }
    return move.left == 0;
}

/// Takes a part to its next state if that has come; whether it has.
bool Engine::step_part(RdmaRelay& relay, RdmaPart& part) {
    using State = RdmaPart::State;
    RdmaMove& move = *relay.move;
    switch (part.state) {
        case State::kFree:
        case State::kMoving:
            return false;
        case State::kCopying: {
            const Status status = part.piece.copy.poll();
            if (status == Status::kRetry) {
                return false;
            }
            move.failed = move.failed || status != Status::kOk;
            if (move.read || move.failed) {
                free_part(part);
            } else {
                move_part(relay, part);
            }
            return true;
        }
        case State::kMoved:
            if (!move.read || move.failed) {
                free_part(part);
            } else if (auto copy = spread(*move.request, part.piece)) {
                part.piece.copy = std::move(*copy);
                part.state = State::kCopying;
            } else {
                move.failed = true;
                free_part(part);
            }
            return true;
    }
    return false;
}

/// The next chunk of the message; without one in the pool another time.
void Engine::start_part(RdmaRelay& relay, RdmaPart& part) {
    RdmaMove& move = *relay.move;
    std::byte* chunk = staging_.take(move.request->where_);
    if (chunk == nullptr) {
        return;
    }
    part.piece.home = Piece::Home::kStaging;
    part.piece.memory = chunk;
    part.piece.offset = relay.started;
    part.piece.length = std::min(relay.bytes - relay.started, staging_.chunk_bytes());
    relay.started += part.piece.length;
    if (move.read) {
        move_part(relay, part);
        return;
    }
    auto copy = fill(*move.request, part.piece);
    if (!copy) {
        move.failed = true;
        free_part(part);
        return;
    }
    part.piece.copy = std::move(*copy);
    part.state = RdmaPart::State::kCopying;
}

/// Between the chunk and the other side, by the rails in turn.
void Engine::move_part(RdmaRelay& relay, RdmaPart& part) {
    unsigned rail = relay.rail;
    do {
        rail = (rail + 1) % wire::kMaxRails;
    } while ((relay.rails & bit(rail)) == 0);
    relay.rail = rail;
    Share& share = part.share;
    share = {};
    share.owner = &part;
    share.engine = &relay;
    share.done = [](Share* ended, Status status) {
        auto& of = *static_cast<RdmaRelay*>(ended->engine);
        of.move->failed = of.move->failed || status != Status::kOk;
        static_cast<RdmaPart*>(ended->owner)->state = RdmaPart::State::kMoved;
    };
    share.verb = relay.move->read ? Share::Verb::kRead : Share::Verb::kWrite;
    share.local = reinterpret_cast<std::uint64_t>(part.piece.memory);
    share.local_key = rdma_->relay_region->keys[rdma_->rails[rail]->rail].local;
    share.remote = relay.remote + part.piece.offset;
    share.remote_key = relay.keys[rail];
    share.bytes = part.piece.length;
    part.state = RdmaPart::State::kMoving;
    rdma_->lane->start(relay.move->to->connection, rail, share);
}

void Engine::free_part(RdmaPart& part) {
    staging_.give_back(std::exchange(part.piece.memory, nullptr));
    part.state = RdmaPart::State::kFree;
}

/// All is written: every rail says so.
void Engine::tell_relayed(RdmaRelay& relay) {
    RdmaMove& move = *relay.move;
    relay.telling = true;
    move.left = static_cast<unsigned>(std::popcount(relay.rails));
    for (unsigned rail = 0; rail < wire::kMaxRails; ++rail) {
        if ((relay.rails & bit(rail)) == 0) {
            continue;
        }
        Share& share = move.shares[rail];
        share = {};
        share.owner = &move;
        share.done = [](Share* ended, Status status) {
            auto& of = *static_cast<RdmaMove*>(ended->owner);
            of.failed = of.failed || status != Status::kOk;
            --of.left;
        };
        share.tells = true;
        share.immediate = move.immediate;
        share.remote = relay.remote;
        share.remote_key = relay.keys[rail];
        rdma_->lane->start(move.to->connection, rail, share);
    }
}

}  // namespace beeline::engine
