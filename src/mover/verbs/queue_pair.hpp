// SPDX-License-Identifier: BSD-3-Clause
// One end of a reliable connection between two network cards.
#pragma once

#include <cstdint>
#include <utility>

#include "base/result.hpp"
#include "mover/verbs/gid.hpp"

struct ibv_cq;
struct ibv_qp;
struct ibv_srq;

namespace beeline::mover::verbs {

struct Port;

/// How queue pairs behave; the parameters pml_beeline_rdma_*.
struct PairSettings {
    unsigned depth = 128;               ///< work requests under way
    unsigned reads = 16;                ///< reads under way, asked for or answered
    std::uint8_t timeout = 18;          ///< a packet is sent again after 4.096 us * 2^timeout
    std::uint8_t retries = 7;           ///< times, then the connection is broken
    std::uint8_t receiver_retries = 7;  ///< while the receiver has no room; 7: for ever
    std::uint8_t receiver_timer = 12;   ///< how long it asks to wait then, in IBTA's code: 0.64 ms
    std::uint8_t hop_limit = 64;
    std::uint8_t traffic_class = 0;
    std::uint8_t service_level = 0;
    unsigned parts = 1;         ///< pieces of memory that one work request gathers
    unsigned inline_bytes = 0;  ///< of a work request that the card is given by value; a wish
};

/// What one end tells the other.
struct PairEnd {
    Gid gid{};
    std::uint32_t number = 0;
    std::uint32_t sequence = 0;  ///< of the first packet it sends
    std::uint16_t lid = 0;
    std::uint8_t mtu = 0;  ///< as ibv_mtu
};

/// Move-only; destroyed with its object, after which the card neither reads nor writes anything for
/// it.
class QueuePair {
 public:
    QueuePair() = default;
    ~QueuePair() { destroy(); }
    QueuePair(QueuePair&& other) noexcept
        : port_(other.port_),
          pair_(std::exchange(other.pair_, nullptr)),
          end_(other.end_),
          inline_bytes_(other.inline_bytes_) {}
    QueuePair& operator=(QueuePair&& other) noexcept {
        destroy();
        port_ = other.port_;
        pair_ = std::exchange(other.pair_, nullptr);
        end_ = other.end_;
        inline_bytes_ = other.inline_bytes_;
        return *this;
    }

    /// A queue pair that waits to be connected. kNoMemory, logged once, when the card gives none.
    /// `sequence`: 24 bits, any.
    static Result<QueuePair> create(const Port& port, ibv_cq* completions, ibv_srq* receives,
                                    const PairSettings& settings, std::uint32_t sequence) noexcept;
    /// Connects to the other end with the smaller of the two MTUs: ready to receive and to send.
    /// kIo, logged once, when the card refuses.
    Status connect(const PairEnd& peer, const PairSettings& settings) noexcept;
    void destroy() noexcept;

    explicit operator bool() const noexcept { return pair_ != nullptr; }
    ibv_qp* get() const noexcept { return pair_; }
    const Port& port() const noexcept { return *port_; }
    /// What the other end needs to connect to this one.
    const PairEnd& end() const noexcept { return end_; }
    /// What came of the wish.
    unsigned inline_bytes() const noexcept { return inline_bytes_; }

 private:
    const Port* port_ = nullptr;
    ibv_qp* pair_ = nullptr;
    PairEnd end_;
    unsigned inline_bytes_ = 0;
};

}  // namespace beeline::mover::verbs
