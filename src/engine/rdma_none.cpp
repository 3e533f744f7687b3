// SPDX-License-Identifier: BSD-3-Clause
// Built without verbs: nothing is offered by RDMA, and nothing that is offered is taken.
#include "engine/engine.hpp"
#include "engine/rdma_state.hpp"
#include "engine/ways.hpp"
#include "wire/codec.hpp"

namespace beeline::engine {

bool Engine::offer_rdma(Request&, wire::Rts&) {
    return false;
}

void Engine::consider_rdma(const Request&, const Arrived&, Ways& ways) noexcept {
    ways.situation.rdma = protocol::Reason::kNoRdmaDevice;
}

bool Engine::rdma_for_host_sender(Request&, std::uint32_t) {
    return false;
}

Status Engine::take_rdma(Request&, Ways& ways, bool) {
    ways.situation.rdma = protocol::Reason::kNoRdmaDevice;
    return Status::kUnsupported;
}

/// A peer that has cards may ask for a connection, to write host memory to its device.
void Engine::on_rdma_control(std::span<const std::byte> in) {
    wire::RdmaConnect connect;
    if (wire::decode(in, connect) && connect.status == 0) {
        refuse_connection(connect.from, protocol::Reason::kNoRdmaDevice);
    } else {
        malformed(in, "control");
    }
}

void Engine::drop_region(Request&, bool) noexcept {}
void Engine::early_puts() {}
void Engine::poll_rdma(int&) {}
bool Engine::may_reach_by_rdma(const Peer&) {
    return false;
}
bool Engine::say_by_rdma(Peer&, std::span<const std::byte>) {
    return false;
}
bool Engine::try_send_rdma(Communicator&, int, int, const void*, std::size_t,
                           std::optional<memory::Pointer>&) {
    return false;
}
Status Engine::eager_rdma(Request&) {
    return Status::kUnsupported;
}
bool Engine::may_come_twice() const noexcept {
    return false;
}
bool Engine::rdma_idle() const noexcept {
    return true;
}
void Engine::close_rdma() noexcept {}
RdmaCounters Engine::rdma_counters() const noexcept {
    return {};
}

}  // namespace beeline::engine
