// SPDX-License-Identifier: BSD-3-Clause
// The list of the protocols.
#include "protocol/protocol.hpp"

namespace beeline::protocol {

std::span<const Protocol* const, kProtocols> table() noexcept {
    static constexpr const Protocol* kTable[kProtocols] = {
        &self_copy,  &eager_host, &fragments,      &rendezvous_shm, &eager_device,
        &eager_rdma, &eager_ucx,  &rendezvous_ucx, &ipc_get,        &ipc_put,
        &ipc_push,   &bounce,     &rdma_write,     &rdma_read,      &staged,
    };
    return kTable;
}

}  // namespace beeline::protocol
