// SPDX-License-Identifier: BSD-3-Clause
// The short way of small messages between memories that the processor reaches: no request of their
// own, and nobody asked but for the id of a device's buffer.
#include <algorithm>
#include <cstring>

#include "engine/expected.hpp"
#include "engine/rdma_state.hpp"
#include "memory/copy.hpp"

namespace beeline::engine {

/// Sends a message by copying it into a parcel; false when it has to go the long way. `where`, when
/// it is set then, says what the memory is.
bool Engine::try_send_rdma(Communicator& communicator, int destination, int tag, const void* data,
                           std::size_t bytes, std::optional<memory::Pointer>& where) {
    Communicator::PerPeer& per_peer = communicator.at(destination);
    Peer& peer = *per_peer.process;
    if (bytes > limits_.device_eager || peer.same_process || tracing_ ||
        preference_ == protocol::Preference::kStaged || !waiting_sends_.empty()) {
        return false;
    }
    if (bytes != 0) {
        where = memory::look_at(data);
        if (!memory::is_direct(*where, data, bytes) ||
            bytes > limits_.eager_rdma(where->on_device())) {
            return false;
        }
    }
    auto& to = *static_cast<RdmaPeer*>(peer.rdma);
    const unsigned rail = message_rail(to);
    if (rail == wire::kMaxRails ||
        sizeof(wire::Eager) + bytes > std::min(to.message_bytes, rdma_->lane->message_bytes())) {
        return false;
    }
    mover::verbs::Parcel* parcel = rdma_->lane->take(to.connection, rail);
    if (parcel == nullptr) {
        return false;
    }
    wire::Eager header;
    header.common.context = communicator.id;
    header.envelope = envelope_of(communicator, tag, per_peer.order.next_to_send(), bytes, 0);
    std::memcpy(parcel->memory, &header, sizeof header);
    if (bytes != 0) {
        std::memcpy(parcel->memory + sizeof header, data, bytes);
    }
    parcel->length = sizeof header + bytes;
    send_copied(to, rail, *parcel);
    count(protocol::Path::kRdma, bytes, protocol::Reason::kSmall);
    return true;
}

/// Receives a message that came by RDMA and is expected, where the processor may put it in its
/// place; false when it has to be received the long way.
bool Engine::take_eager_rdma(std::span<const std::byte> message) {
    wire::Eager eager;
    Request* request = tracing_ ? nullptr : take_expected(message, eager);
    if (request == nullptr) {
        return false;
    }
    const std::span<const std::byte> data = message.subspan(sizeof eager);
    const Buffer& buffer = request->buffer_;
    const std::size_t bytes = std::min<std::size_t>(data.size(), buffer.bytes);
    if (bytes != 0 && !request->looked_) {
        classify(*request);
    }
    const memory::Pointer& where = request->where_;
    if (bytes != 0 &&
        (buffer.layout != nullptr || !memory::is_direct(where, buffer.address, bytes))) {
        const memory::KnownScope known({&where, 1});
        Arrived arrived;
        arrived.context = eager.common.context;
        arrived.envelope = eager.envelope;
        arrived.data = data;
        arrived.path = protocol::Path::kRdma;
        deliver(*request, arrived);
        return true;
    }
    put_expected(*request, eager, data, protocol::Path::kRdma);
    return true;
}

}  // namespace beeline::engine
