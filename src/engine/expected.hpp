// SPDX-License-Identifier: BSD-3-Clause
// The short way of a small message that comes in its turn and is waited for.
#pragma once

#include <algorithm>
#include <climits>
#include <cstring>

#include "engine/engine.hpp"
#include "wire/headers.hpp"

namespace beeline::engine {

/// The receive that waits for a whole message, if it is the next one of its sender and nothing is
/// asked of the receiver but its data; both have taken their turn then. Null: nothing has happened.
inline Request* Engine::take_expected(std::span<const std::byte> message, wire::Eager& eager) {
    if (aside_ || message.size() < sizeof eager) {
        return nullptr;
    }
    std::memcpy(&eager, message.data(), sizeof eager);
    const wire::Envelope& envelope = eager.envelope;
    Communicator* communicator = find(eager.common.context);
    if (eager.common.type != wire::MessageType::kEager || eager.common.version != wire::kVersion ||
        eager.common.flags != 0 || envelope.bytes != message.size() - sizeof eager ||
        envelope.tag == INT_MIN || communicator == nullptr ||
        !communicator->valid(envelope.source)) {
        return nullptr;
    }
    match::Sequencer& order = communicator->at(envelope.source).order;
    if (order.awaited() != envelope.sequence || order.holds_any()) {
        return nullptr;
    }
    match::Posted* posted = communicator->matcher.arrive(envelope.source, envelope.tag);
    if (posted == nullptr) {
        return nullptr;
    }
    order.accept(envelope.sequence);
    return static_cast<Request*>(posted);
}

/// Ends the receive with the message's data in its buffer, which has no gaps and which the
/// processor may write.
inline void Engine::put_expected(Request& request, const wire::Eager& eager,
                                 std::span<const std::byte> data, protocol::Path path) {
    const Buffer& buffer = request.buffer_;
    const std::size_t bytes = std::min<std::size_t>(data.size(), buffer.bytes);
    if (bytes != 0) {
        std::memcpy(buffer.address, data.data(), bytes);
    }
    Outcome& outcome = request.outcome;
    outcome.source = eager.envelope.source;
    outcome.tag = eager.envelope.tag;
    outcome.bytes = bytes;
    outcome.path = path;
    outcome.reason = protocol::Reason::kSmall;
    finish(request, data.size() > buffer.bytes ? Status::kTruncated : Status::kOk);
}

}  // namespace beeline::engine
