// SPDX-License-Identifier: BSD-3-Clause
// Small host messages through shared memory, which must cost no more than they have to: the common
// case of what send.cpp, arrival.cpp and receive.cpp do in general. Whatever is out of the ordinary
// is left to them.
#include <algorithm>
#include <climits>
#include <cstring>

#include "cuda/driver.hpp"
#include "engine/engine.hpp"
#include "engine/expected.hpp"
#include "engine/piece.hpp"
#include "memory/always_host.hpp"

namespace beeline::engine {
namespace {

/// As many as a window of benchmarks holds; more would keep other work waiting.
constexpr int kMessagesPerPoll = 64;

}  // namespace

bool Engine::try_send(Communicator& communicator, int destination, int tag, const void* data,
                      std::size_t bytes, std::optional<memory::Pointer>& where) {
    Communicator::PerPeer& to = communicator.at(destination);
    Peer* peer = to.process;
    if (peer != nullptr && peer->link == nullptr && peer->rdma != nullptr) {
        return try_send_rdma(communicator, destination, tag, data, bytes, where);
    }
    if (peer == nullptr || peer->link == nullptr || bytes > limits_.eager ||
        !waiting_sends_.empty() || tracing_) {
        return false;
    }
    if (bytes != 0 && cuda::Driver::find() != nullptr && !memory::always_host(data)) {
        where = memory::classify(data);
        if (where->on_device()) {
            return false;
        }
    }
    wire::Eager header;
    header.common.context = communicator.id;
    header.envelope = envelope_of(communicator, tag, to.order.peek_to_send(), bytes, 0);
    if (sizeof header + bytes <= mover::shm::Lane::kInlineBytes) {
        if (!shm_->send_inline(*peer->link, std::as_bytes(std::span(&header, 1)),
                               {static_cast<const std::byte*>(data), bytes})) {
            return false;
        }
    } else {
        std::uint32_t index = 0;
        std::byte* slot = shm_->take_slot(index);
        if (slot == nullptr) {
            return false;
        }
        std::memcpy(slot, &header, sizeof header);
        std::memcpy(slot + sizeof header, data, bytes);
        if (!shm_->send_slot(*peer->link, index, sizeof header + bytes)) {
            shm_->drop_slot(index);
            return false;
        }
    }
    to.order.next_to_send();
    ++counters_.messages[static_cast<std::size_t>(protocol::Path::kShm)];
    counters_.bytes[static_cast<std::size_t>(protocol::Path::kShm)] += bytes;
    return true;
}

/// All that is expected, and then no more: what comes too early is kept and copied twice. Where
/// processors are shared a full queue costs its sender a turn, which is worse, and all is taken.
int Engine::take_arrived() {
    resting_ = false;
    int taken = 0;
    do {
        early_ = false;
        if (shm_->progress(
                1, [this](const mover::shm::Arrival& arrival) { on_message(arrival); }) == 0) {
            break;
        }
        ++taken;
    } while (taken < kMessagesPerPoll && (yields || !early_));
    return taken;
}

inline void Engine::on_message(const mover::shm::Arrival& arrival) {
    wire::Eager eager;
    if (Request* request = take_expected(arrival.message, eager); request != nullptr) {
        // Asked first: the receive's end may be that of its communicator.
        const bool last = request->communicator_->matcher.posted_count() == 0;
        place(*request, eager, arrival);
        early_ = last;
        return;
    }
    on_shm(this, arrival);
}

inline void Engine::place(Request& request, const wire::Eager& eager,
                          const mover::shm::Arrival& arrival) {
    const wire::Envelope& envelope = eager.envelope;
    const std::span<const std::byte> data = arrival.message.subspan(sizeof eager);
    const Buffer& buffer = request.buffer_;
    const std::size_t bytes = std::min<std::size_t>(data.size(), buffer.bytes);
    if (bytes != 0 && (buffer.layout != nullptr ||
                       (cuda::Driver::find() != nullptr && !memory::always_host(buffer.address)))) {
        Arrived arrived;
        arrived.context = eager.common.context;
        arrived.envelope = envelope;
        arrived.data = data;
        arrived.shm_sender = arrival.in_slot ? arrival.sender : Arrived::kNoSender;
        deliver(request, arrived);
        return;
    }
    put_expected(request, eager, data, protocol::Path::kShm);
}

}  // namespace beeline::engine
