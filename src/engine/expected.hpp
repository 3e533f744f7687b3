// SPDX-License-Identifier: BSD-3-Clause
// The short way of a small message that comes in its turn and is waited for.
#pragma once

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

}  // namespace beeline::engine
