// SPDX-License-Identifier: BSD-3-Clause
// One registration with one card, by whatever means the machine has.
#pragma once

#include <cstdint>

#include "memory/pointer.hpp"
#include "mover/verbs/device.hpp"
#include "mover/verbs/parts.hpp"
#include "mover/verbs/refusal.hpp"

struct ibv_mr;

namespace beeline::mover::verbs {

/// What may be tried.
struct Allowed {
    bool dma_buf = true;
    bool peer_memory = true;
    bool relaxed_ordering = true;
};

/// A range of device memory about to be registered with one card or several. Holds the dma-buf's
/// descriptor while it lives: for the length of one call of Regions, never longer.
class Registration {
 public:
    Registration(const memory::Pointer& where, const Extent& extent) noexcept;
    ~Registration();
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

    /// Tries what is allowed, dma-buf first; null when all was refused: see refusal(). What a means
    /// has answered to this card is in dma_buf() and peer_memory().
    ibv_mr* with(const Port& port, const Allowed& allowed) noexcept;

    const Refusal& refusal() const noexcept { return refusal_; }
    Means means() const noexcept { return means_; }
    /// The last attempts; kNothing when it succeeded or was not made.
    Missing dma_buf() const noexcept { return dma_buf_; }
    Missing peer_memory() const noexcept { return peer_memory_; }

 private:
    void export_descriptor() noexcept;
    ibv_mr* by_dma_buf(const Port& port, const Allowed& allowed) noexcept;
    ibv_mr* by_peer_memory(const Port& port, const Allowed& allowed) noexcept;
    Refusal explain(Means means, int error, const Port& port) const noexcept;

    const memory::Pointer& where_;
    std::uint64_t base_;
    std::uint64_t bytes_;
    bool is_vmm_;
    int descriptor_ = -1;
    std::uint64_t offset_ = 0;  // of base_ in the dma-buf
    bool exported_ = false;     // tried to
    Refusal export_refusal_;
    Refusal refusal_;
    Means means_ = Means::kDmaBuf;
    Missing dma_buf_ = Missing::kNothing;
    Missing peer_memory_ = Missing::kNothing;
};

/// Registers host memory; null with `refusal` filled in.
ibv_mr* register_host(const Port& port, void* base, std::size_t bytes, bool relaxed_ordering,
                      Refusal& refusal) noexcept;

/// Whether the GPU offers GPUDirect RDMA at all; yes when the driver cannot say.
bool gpu_offers_rdma(const memory::Pointer& where) noexcept;

}  // namespace beeline::mover::verbs
