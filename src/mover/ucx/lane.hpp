// SPDX-License-Identifier: BSD-3-Clause
// Messages over UCX active messages: to other nodes, and large host messages inside a node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"

struct ucp_context;
struct ucp_worker;
struct ucp_ep;

namespace beeline::mover::ucx {

inline constexpr std::size_t kMaxHeader = 256;

/// A send or receive under way. `done` is called once from progress(); the operation is then free
/// again.
struct Operation {
    void (*done)(Operation* operation, Status status) = nullptr;
    void* owner = nullptr;      ///< the caller's
    void* engine = nullptr;     ///< the caller's
    void* user = nullptr;       // the lane
    Operation* next = nullptr;  // free list
    std::size_t header_bytes = 0;
    std::byte header[kMaxHeader];  ///< lives until the send is complete, as UCX asks
};

/// Payload that came with a message.
struct Payload {
    void* data = nullptr;  ///< bytes, or what receive() and reject() take when `rendezvous`
    std::size_t bytes = 0;
    bool rendezvous = false;  ///< still at the sender
};

/// Takes arrived messages. Returns true when the payload was kept (rendezvous payload that was
/// received, rejected or kept counts as kept).
struct Receiver {
    bool (*arrived)(void* self, std::span<const std::byte> header,
                    const Payload& payload) = nullptr;
    void* self = nullptr;
};

/// A connection to one process. Owned by the lane.
using Endpoint = ucp_ep*;

/// One UCX worker. One caller at a time.
class Lane {
 public:
    /// kUnsupported, after logging why, when UCX cannot be started.
    static Result<std::unique_ptr<Lane>> create(Receiver receiver) noexcept;
    ~Lane();
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    /// This worker's address, to be given to the peers.
    std::span<const std::byte> address() const noexcept { return address_; }

    /// Connects to the worker with this address; UCX does the rest at the first message.
    Result<Endpoint> connect(std::span<const std::byte> address) noexcept;
    /// Flushes and closes; calls `progress_host` while waiting when not null.
    void close(Endpoint endpoint, void (*progress_host)()) noexcept;

    /// Takes an operation to fill in; null when memory is out.
    Operation* take() noexcept;
    void give_back(Operation* operation) noexcept;

    /// Sends the operation's header and `bytes` at `data`, which stays valid until done. kOk: done
    /// already, `done` is not called and the operation is free again. kRetry: under way. Otherwise
    /// an error, the operation is free. With `rendezvous`, completes with kOk once the receiver has
    /// fetched the data, and with kCanceled when it rejected the offer.
    Status send(Endpoint to, Operation* operation, const void* data, std::size_t bytes,
                bool rendezvous) noexcept;

    /// Fetches rendezvous payload into host memory. Results as send().
    Status receive(const Payload& payload, void* into, Operation* operation) noexcept;
    /// Refuses rendezvous payload. True: its sender is told kCanceled. False for payload that was
    /// kept beyond its callback: UCX then has no way to say no, and tells the sender kOk.
    bool reject(const Payload& payload) noexcept;
    /// Whether reject() would tell the sender.
    bool can_reject(const Payload& payload) const noexcept { return payload.data == delivering_; }

    /// Number of events handled.
    unsigned progress() noexcept;
    /// Sends and receives not done yet.
    std::size_t outstanding() const noexcept { return outstanding_; }

    /// What became of a delivered message.
    enum class Delivery { kDone, kKept, kRejected };

    /// For the UCX callback only.
    Delivery deliver(std::span<const std::byte> header, const Payload& payload) noexcept;
    void finish(Operation* operation, Status status) noexcept;

 private:
    Lane() = default;
    Status start_worker() noexcept;
    bool open_worker(const char* transports) noexcept;
    Status started(void* request, Operation* operation) noexcept;

    ucp_context* context_ = nullptr;
    ucp_worker* worker_ = nullptr;
    Receiver receiver_;
    std::vector<std::byte> address_;
    std::vector<std::unique_ptr<Operation[]>> blocks_;
    Operation* free_ = nullptr;
    std::size_t outstanding_ = 0;
    const void* delivering_ = nullptr;  // rendezvous payload whose callback runs now
    bool rejected_ = false;             // and it was refused
};

}  // namespace beeline::mover::ucx
