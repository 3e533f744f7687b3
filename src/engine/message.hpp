// SPDX-License-Identifier: BSD-3-Clause
// A message to be matched: as it arrives, and as it is kept until a receive wants it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "match/matcher.hpp"
#include "match/sequencer.hpp"
#include "mover/ucx/lane.hpp"
#include "protocol/path.hpp"
#include "wire/headers.hpp"

namespace beeline::engine {

struct Request;
struct Message;

/// A message whose fragments are still coming, in order.
struct Assembly {
    std::uint32_t sender = 0;  ///< index in the shared memory lane's directory
    std::uint64_t id = 0;      ///< the sender's, unique among its messages
    std::size_t total = 0;
    std::size_t received = 0;
    std::size_t room = 0;        ///< bytes at `into`; what is beyond is dropped (truncation)
    std::byte* into = nullptr;   ///< null: nobody wants the message any more
    Request* request = nullptr;  ///< the receive it goes to, once matched
    Message* message = nullptr;  ///< or the kept message
};

/// Where the data of a message is.
enum class Body : std::uint8_t {
    kEager,          ///< with the header
    kOffers,         ///< at the sender; its RTS says how to get it
    kUcxRendezvous,  ///< at the sender; UCX fetches it
    kSelf,           ///< in a send request of this process
};

struct Arrived {
    static constexpr std::uint32_t kNoSender = UINT32_MAX;
    Body body = Body::kEager;
    bool synchronous = false;
    bool unreadable = false;  ///< kEager: there is no data, the receive fails
    std::uint32_t context = 0;
    wire::Envelope envelope;
    std::span<const std::byte> data;       ///< kEager
    Assembly* assembly = nullptr;          ///< kEager, when `data` is not whole yet: its start
    std::uint32_t shm_sender = kNoSender;  ///< kEager: whose slot `data` lies in
    protocol::Path path = protocol::Path::kUcx;  ///< it came by
    bool refused_early = false;                  ///< kOffers: was a UCX rendezvous, of host memory
    std::span<const wire::Offer> offers;         ///< kOffers: those of device memory, best first
    bool put = false;                            ///< kOffers: the sender offers to write
    bool push = false;                           ///< kOffers: the same, of data with gaps
    bool blocks = false;                         ///< kOffers: host memory, in shared memory blocks
    wire::RdmaOffer rdma;                        ///< kOffers: nothing in it when not offered
    std::uint32_t sender_chunk = 0;  ///< kOffers, kUcxRendezvous: chunk the sender stages by
    mover::ucx::Payload payload;     ///< kUcxRendezvous
    Request* sender = nullptr;       ///< kSelf
};

/// A kept message, with its data or its offers behind it.
struct Message : match::Unexpected, match::Held {
    Arrived arrived;
    Message* next = nullptr;  ///< list of messages for communicators that do not exist here yet
};

}  // namespace beeline::engine
