// SPDX-License-Identifier: BSD-3-Clause
// What a schedule needs from point-to-point: ordered messages between the ranks of one
// communicator.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.hpp"

namespace beeline::coll::exec {

/// A message under way. Made by the transport; the executor only stores and passes it on.
using Handle = void*;

/// Point-to-point as the executors see it. Addresses may be host or device memory, on either side
/// independently. Messages of one (peer, channel, direction) arrive in the order they were posted.
/// Collectives that are under way at the same time need a transport each, whose messages never meet
/// those of another.
class Transport {
 public:
    virtual ~Transport() = default;
    virtual int rank() const noexcept = 0;
    virtual int size() const noexcept = 0;
    /// Starts sending `bytes` at `address`; the memory must stay as it is until the message is
    /// complete.
    virtual Result<Handle> send(const void* address, std::size_t bytes, int peer,
                                int channel) noexcept = 0;
    /// Starts receiving `bytes` into `address`. A message of another length is a failure: of too
    /// few bytes, one of its sender's.
    virtual Result<Handle> receive(void* address, std::size_t bytes, int peer,
                                   int channel) noexcept = 0;
    /// Waits until all are complete, whatever their outcome, and forgets them; the first failure is
    /// returned.
    virtual Status wait(std::span<Handle> handles) noexcept = 0;
    /// True when the message is complete; it is then forgotten, and `outcome` says how it went.
    /// Moves nothing by itself.
    virtual bool test(Handle handle, Status& outcome) noexcept = 0;
};

}  // namespace beeline::coll::exec
