// SPDX-License-Identifier: BSD-3-Clause
// Situations for tests of protocols: typical ones, and any at all.
#pragma once

#include <rapidcheck.h>

#include "protocol/select.hpp"

namespace beeline::protocol {

/// Two processes of a node, every way open.
inline Situation neighbours(std::size_t bytes, bool from_device, bool to_device) {
    Situation situation;
    situation.bytes = bytes;
    situation.same_node = true;
    situation.shared_memory = true;
    situation.sender.on_device = from_device;
    situation.receiver.on_device = to_device;
    situation.sender.exports = Reason::kDirect;
    situation.receiver.exports = Reason::kDirect;
    return situation;
}

inline rc::Gen<Side> any_side() {
    return rc::gen::build<Side>(
        rc::gen::set(&Side::on_device), rc::gen::set(&Side::pinned),
        rc::gen::set(&Side::contiguous),
        rc::gen::set(&Side::exports, rc::gen::element(Reason::kDirect, Reason::kNotExportable,
                                                      Reason::kExportFailed, Reason::kNotOffered)),
        rc::gen::set(&Side::maps,
                     rc::gen::element(Reason::kDirect, Reason::kOpenFailed, Reason::kNotOffered)));
}

/// Any that can be: processes of one node may lack shared memory, those of two have none.
inline Situation any_situation() {
    Situation situation;
    situation.bytes = *rc::gen::apply(
        [](unsigned shift, unsigned low) { return (std::size_t{1} << shift) + low; },
        rc::gen::inRange(0U, 31U), rc::gen::inRange(0U, 1000U));
    situation.same_node = *rc::gen::arbitrary<bool>();
    situation.same_process = situation.same_node && *rc::gen::inRange(0, 8) == 0;
    situation.shared_memory = situation.same_node && *rc::gen::arbitrary<bool>();
    situation.ipc_enabled = *rc::gen::inRange(0, 4) != 0;
    situation.bounce = *rc::gen::element(Reason::kDirect, Reason::kRefused, Reason::kNotOffered);
    situation.rdma = *rc::gen::element(Reason::kDirect, Reason::kNoRdmaDevice, Reason::kNotOffered);
    situation.sender = *any_side();
    situation.receiver = *any_side();
    return situation;
}

inline Link any_link() {
    return link_of(*rc::gen::inRange(0, 100000), *rc::gen::inRange(1, 1000000));
}

inline Costs any_costs() {
    Costs costs;
    costs.shm = any_link();
    costs.ucx = any_link();
    costs.cma = any_link();
    costs.rdma = any_link();
    costs.rdma_read = any_link();
    costs.host_copy = any_link();
    costs.device_copy = any_link();
    costs.mapping = *rc::gen::inRange(0, 100);
    costs.slot = *rc::gen::inRange<std::size_t>(64, 65536);
    costs.block = *rc::gen::inRange<std::size_t>(4096, 1 << 20);
    costs.bounce_chunk = *rc::gen::inRange<std::size_t>(4096, 1 << 24);
    costs.chunk = *rc::gen::inRange<std::size_t>(4096, 1 << 24);
    return costs;
}

}  // namespace beeline::protocol
