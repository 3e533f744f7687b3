// SPDX-License-Identifier: BSD-3-Clause
// Who may say what: whether a message may name a request, and how much is kept for communicators
// that do not exist here yet.
#include <sys/random.h>

#include "base/log.hpp"
#include "engine/engine.hpp"
#include "wire/codec.hpp"

namespace beeline::engine {
namespace {

// Bounds on what peers can make this process keep for communicators that it has not made. Far
// above what a sender gets sent while its peer is still in MPI_Comm_dup.
constexpr std::size_t kMaxOrphans = std::size_t{1} << 18;
constexpr std::size_t kMaxOrphanBytes = std::size_t{256} << 20;

/// The id a message names at its receiver; 0 when it names none.
std::uint64_t named(std::span<const std::byte> in) noexcept {
    wire::Cts cts;
    wire::Data data;
    wire::Fin fin;
    wire::Ack ack;
    wire::Nack nack;
    wire::Want want;
    wire::Descriptors descriptors;
    wire::DataAck data_ack;
    wire::Put put;
    wire::PutDone put_done;
    wire::RdmaPut rdma_put;
    wire::RdmaFailed rdma_failed;
    if (wire::decode(in, data)) {
        return data.receiver_request;
    }
    if (wire::decode(in, fin)) {
        return fin.sender_request;
    }
    if (wire::decode(in, ack)) {
        return ack.sender_request;
    }
    if (wire::decode(in, cts)) {
        return cts.sender_request;
    }
    if (wire::decode(in, nack)) {
        return nack.sender_request != 0 ? nack.sender_request : nack.receiver_request;
    }
    if (wire::decode(in, data_ack)) {
        return data_ack.sender_request;
    }
    if (wire::decode(in, want)) {
        return want.sender_request;
    }
    if (wire::decode(in, descriptors)) {
        return descriptors.receiver_request;
    }
    if (wire::decode(in, put)) {
        return put.sender_request;
    }
    if (wire::decode(in, put_done)) {
        return put_done.receiver_request;
    }
    if (wire::decode(in, rdma_put)) {
        return rdma_put.sender_request;
    }
    if (wire::decode(in, rdma_failed)) {
        return rdma_failed.receiver_request;
    }
    return 0;
}

std::size_t room_of(const Arrived& arrived) noexcept {
    if (arrived.body != Body::kEager) {
        return 0;
    }
    return arrived.assembly != nullptr ? arrived.assembly->total : arrived.data.size();
}

/// The same of a message that keep() has made.
std::size_t kept_bytes(const Message& message) noexcept {
    return message.arrived.body == Body::kEager ? message.arrived.data.size() : 0;
}

}  // namespace

std::uint64_t Engine::random_secret() noexcept {
    std::uint64_t secret = 0;
    if (getrandom(&secret, sizeof secret, 0) != sizeof secret) {
        secret = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&secret));
    }
    return secret != 0 ? secret : 1;
}

/// Whether the local peer with this entry in our directory is the one that the request it names
/// belongs to. Requests that do not exist are the handler's to report.
bool Engine::may_name(std::span<const std::byte> in, std::uint32_t sender) noexcept {
    const std::uint64_t id = named(in);
    const Request* request = table_.find(id);
    if (request == nullptr || request->peer_ == nullptr ||
        request->peer_->address.shm.nonce == shm_->nonce_of(sender)) {
        return true;
    }
    log_once(LogLevel::kError, "engine.foreign_request",
             "process %lld answers request %#llx, which is one of process %lld: ignored",
             static_cast<long long>(shm_->pid_of(sender)), static_cast<unsigned long long>(id),
             static_cast<long long>(request->peer_->address.shm.pid));
    return false;
}

/// Whether control messages can get to this peer; why not has been logged.
bool Engine::reachable(Peer& peer) {
    return peer.same_process || link(peer) != nullptr || endpoint(peer) != nullptr;
}

/// Keeps a message for a communicator that this process has yet to make. Too much of it is kept
/// without its data, so that its receive fails instead of waiting; much too much is dropped.
void Engine::keep_orphan(const Arrived& arrived) {
    const std::size_t room = room_of(arrived);
    const bool too_many = orphan_count_ >= kMaxOrphans;
    const bool too_large = room > kMaxOrphanBytes - orphan_bytes_;
    if (!too_many && !too_large) {
        if (Message* message = keep(arrived)) {
            message->next = orphans_;
            orphans_ = message;
            ++orphan_count_;
            orphan_bytes_ += kept_bytes(*message);
        }
        return;
    }
    log_once(
        LogLevel::kError, "engine.orphans",
        "%zu messages of %zu bytes wait for communicators that do not exist here; the next, of "
        "%llu bytes from rank %d of communicator %u, is %s",
        orphan_count_, orphan_bytes_, static_cast<unsigned long long>(arrived.envelope.bytes),
        arrived.envelope.source, arrived.context,
        too_many ? "dropped" : "kept without its data: its receive fails");
    refuse_unmatched(arrived);
    if (too_many) {
        return;
    }
    Arrived bare;
    bare.unreadable = true;
    bare.context = arrived.context;
    bare.envelope = arrived.envelope;
    bare.synchronous = arrived.synchronous;
    bare.path = arrived.path;
    keep_orphan(bare);
}

/// An orphan has found its communicator.
void Engine::forget_orphan(const Message& message) noexcept {
    --orphan_count_;
    orphan_bytes_ -= kept_bytes(message);
}

}  // namespace beeline::engine
