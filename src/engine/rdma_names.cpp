// SPDX-License-Identifier: BSD-3-Clause
// How processes name themselves to each other in messages about RDMA, and how one says that it has
// none.
#include "engine/engine.hpp"
#include "wire/codec.hpp"

namespace beeline::engine {

/// FNV-1a (Fowler, Noll, Vo) of a process' UCX address, which no other has.
std::uint64_t Engine::name_of(std::span<const std::byte> address) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const std::byte byte : address) {
        hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3U;
    }
    return hash;
}

std::uint64_t Engine::own_name() const noexcept {
    return name_of(ucx_->address());
}

/// Answers a CONNECT: there is no end here to connect to.
void Engine::refuse_connection(std::uint64_t name, protocol::Reason reason) {
    for (const auto& peer : peers_) {
        if (name_of(peer->address.ucx) == name) {
            wire::RdmaConnect refusal;
            refusal.from = own_name();
            refusal.status = static_cast<std::uint8_t>(reason);
            control(*peer, std::as_bytes(std::span(&refusal, 1)));
            return;
        }
    }
}

}  // namespace beeline::engine
