// SPDX-License-Identifier: BSD-3-Clause
// What the parts of a message's way cost: a latency and a bandwidth for each, from the parameters
// pml_beeline_cost_*.
#pragma once

#include <algorithm>
#include <cstddef>

#include "config/config.hpp"

namespace beeline::protocol {

/// Time of n bytes: latency + n / bandwidth.
struct Link {
    double latency = 0;   ///< microseconds
    double per_byte = 0;  ///< microseconds
    double bytes(std::size_t count) const noexcept { return static_cast<double>(count) * per_byte; }
    double message(std::size_t count) const noexcept { return latency + bytes(count); }
};

struct Costs {
    Link shm;            ///< handing a message to a process of the node; one copy by the CPU
    Link ucx;            ///< one message by UCX
    Link cma;            ///< the same inside a node, where the kernel copies for it
    Link host_copy;      ///< a copy between device and pinned host memory, started and waited for
    Link device_copy;    ///< the same between two devices, or two buffers of one
    Link rdma;           ///< one write by an RDMA device
    Link rdma_read;      ///< one read by an RDMA device, its request included
    double mapping = 0;  ///< opening a peer's memory, spread over the messages that use the mapping
    std::size_t slot = 0;          ///< bytes of a shared memory slot
    std::size_t block = 0;         ///< bytes of a shared memory block
    std::size_t chunk = 0;         ///< bytes of a staging chunk
    std::size_t bounce_chunk = 0;  ///< bytes of a slot of a bounce buffer

    /// The lane of a pair of processes.
    const Link& lane(bool shared_memory) const noexcept { return shared_memory ? shm : ucx; }
};

inline Link link_of(int nanoseconds, int megabytes_per_second) noexcept {
    return {nanoseconds / 1e3, 1.0 / std::max(1, megabytes_per_second)};
}

inline Costs costs_of(const config::Params& params) noexcept {
    Costs costs;
    costs.shm = link_of(params.pml_cost_shm_latency, params.pml_cost_shm_bandwidth);
    costs.ucx = link_of(params.pml_cost_ucx_latency, params.pml_cost_ucx_bandwidth);
    costs.cma = link_of(params.pml_cost_cma_latency, params.pml_cost_cma_bandwidth);
    costs.host_copy =
        link_of(params.pml_cost_host_copy_latency, params.pml_cost_host_copy_bandwidth);
    costs.device_copy =
        link_of(params.pml_cost_device_copy_latency, params.pml_cost_device_copy_bandwidth);
    costs.rdma = link_of(params.pml_cost_rdma_latency, params.pml_cost_rdma_bandwidth);
    costs.rdma_read =
        link_of(params.pml_cost_rdma_read_latency, params.pml_cost_rdma_read_bandwidth);
    costs.mapping = params.pml_cost_mapping / 1e3;
    costs.slot = std::max(params.pml_eager_limit, params.pml_device_eager_limit);
    costs.block = params.pml_shm_block;
    costs.chunk = params.pml_staging_chunk;
    costs.bounce_chunk = params.pml_bounce_chunk;
    return costs;
}

}  // namespace beeline::protocol
