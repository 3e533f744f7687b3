// SPDX-License-Identifier: BSD-3-Clause
// One collective call on host copies of its device buffers: in pieces that the blocking,
// non-blocking and persistent forms put together.
#pragma once

#include "plugin/coll/resolve.hpp"
#include "plugin/staging.hpp"

namespace beeline::plugin::coll {

/// Which buffers of a call only a device can reach.
struct Needs {
    bool send = false;
    bool receive = false;
    bool any() const noexcept { return send || receive; }
};

/// Asks the driver about the buffers that hold data on this rank.
inline Needs find_device_buffers(const Buffers& buffers) {
    return {on_device(buffers.send),
            on_device(buffers.receive_out) || on_device(buffers.receive_in)};
}

/// The host copies of one call.
class StagedCall {
 public:
    /// Makes room for the buffers in need. `name` is kept and must outlive the call.
    Status prepare(const char* name, const Buffers& buffers, Needs needs) {
        if (needs.send) {
            if (const Status status = send_.prepare(name, buffers.send, Buffer{});
                status != Status::kOk) {
                return status;
            }
        }
        return needs.receive ? receive_.prepare(name, buffers.receive_in, buffers.receive_out)
                             : Status::kOk;
    }

    /// Brings what the call reads.
    Status fetch() {
        if (send_.used()) {
            if (const Status status = send_.fetch(); status != Status::kOk) {
                return status;
            }
        }
        return receive_.used() ? receive_.fetch() : Status::kOk;
    }

    /// Takes back what the call wrote.
    Status deliver() { return receive_.used() ? receive_.deliver() : Status::kOk; }

    const HostCopy& send() const noexcept { return send_; }
    const HostCopy& receive() const noexcept { return receive_; }

 private:
    HostCopy send_;
    HostCopy receive_;
};

}  // namespace beeline::plugin::coll
