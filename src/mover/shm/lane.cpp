// SPDX-License-Identifier: BSD-3-Clause
// The queue protocol: a bounded multi-producer queue of cells (D. Vyukov's, with one consumer), and
// slot reuse.
#include "mover/shm/lane.hpp"

#include <atomic>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/log.hpp"

namespace beeline::mover::shm {
namespace {

constexpr std::size_t kSlotsInTurn = 16;

}  // namespace

Lane::Lane(Segment own, Receiver receiver) noexcept : own_(std::move(own)), receiver_(receiver) {}

Result<std::unique_ptr<Lane>> Lane::create(const Geometry& geometry, Receiver receiver) noexcept {
    auto segment = Segment::create(geometry);
    if (!segment) {
        return segment.status();
    }
    std::unique_ptr<Lane> lane(new Lane(std::move(*segment), receiver));
    lane->free_slots_.reserve(geometry.slots);
    for (std::uint32_t i = geometry.slots; i > 0; --i) {
        lane->free_slots_.push_back(i - 1);
    }
    lane->sent_slots_.resize(geometry.slots);
    lane->free_blocks_.reserve(geometry.blocks);
    for (std::uint32_t i = geometry.blocks; i > 0; --i) {
        lane->free_blocks_.push_back(i - 1);
    }
    return lane;
}

Result<std::unique_ptr<Link>> Lane::connect(const Location& peer) noexcept {
    auto link = std::make_unique<Link>();
    if (peer == own_.location()) {
        return Status::kInvalid;
    }
    auto segment = Segment::open(peer);
    if (!segment) {
        return segment.status();
    }
    link->segment = std::move(*segment);
    Header& header = link->segment.header();
    const std::uint32_t index = header.senders.fetch_add(1, std::memory_order_acq_rel);
    if (index >= kMaxSenders) {
        header.senders.fetch_sub(1, std::memory_order_acq_rel);
        return Status::kNoMemory;
    }
    Sender& entry = link->segment.sender(index);
    entry.pid = own_.location().pid;
    entry.start_time = own_.location().start_time;
    entry.nonce = own_.location().nonce;
    entry.descriptor = own_.location().descriptor;
    entry.ready.store(1, std::memory_order_release);
    link->index = static_cast<std::uint16_t>(index);
    return link;
}

std::byte* Lane::take_slot(std::uint32_t& index) noexcept {
    // Few slots in turn stay in the cache; looking at many returned ones at once overlaps the cache
    // misses.
    const bool few = sent_count_ < kSlotsInTurn && !free_slots_.empty();
    while (!few && sent_count_ > 0) {
        const std::uint32_t oldest = sent_slots_[sent_begin_];
        if (own_.slot(oldest).busy.load(std::memory_order_acquire) != 0) {
            break;
        }
        sent_begin_ = sent_begin_ + 1 == sent_slots_.size() ? 0 : sent_begin_ + 1;
        --sent_count_;
        free_slots_.push_back(oldest);
    }
    if (free_slots_.empty()) {
        return nullptr;
    }
    index = free_slots_.back();  // the one used last is the one in the cache
    free_slots_.pop_back();
    return own_.slot_body(index);
}

bool Lane::send_slot(Link& to, std::uint32_t index, std::size_t bytes) noexcept {
    const std::uint64_t position = claim<Queue::kNarrow>(to);
    if (position == kFull) {
        return false;
    }
    Cell& cell = to.segment.cell<Queue::kNarrow>(position);
    own_.slot(index).busy.store(1, std::memory_order_relaxed);
    cell.bytes = static_cast<std::uint32_t>(bytes) & 0x7fffffffU;
    cell.in_slot = 1;
    cell.slot = static_cast<std::uint16_t>(index);
    cell.sender = to.index;
    cell.sequence.store(position + 1, std::memory_order_release);
    const std::size_t end = sent_begin_ + sent_count_;
    sent_slots_[end < sent_slots_.size() ? end : end - sent_slots_.size()] = index;
    ++sent_count_;
    return true;
}

void Lane::drop_slot(std::uint32_t index) noexcept {
    free_slots_.push_back(index);
}

std::byte* Lane::take_chunk(std::uint32_t& index) noexcept {
    for (std::uint32_t i = 0; i < own_.geometry().chunks; ++i) {
        auto& busy = own_.header().chunk_busy[i];
        if (busy.load(std::memory_order_acquire) == 0) {
            busy.store(1, std::memory_order_relaxed);
            index = i;
            return own_.chunk(i);
        }
    }
    return nullptr;
}

void Lane::drop_chunk(std::uint32_t index) noexcept {
    own_.header().chunk_busy[index].store(0, std::memory_order_release);
}

int Lane::progress(int limit) noexcept {
    return progress(limit,
                    [&](const Arrival& arrival) { receiver_.arrived(receiver_.self, arrival); });
}

void Lane::overlong(const Cell& cell, std::uint32_t bytes, std::size_t room) noexcept {
    log_once(LogLevel::kError, "shm.cell",
             "a local peer (entry %u) claims %u bytes in a cell of %zu: ignored",
             unsigned{cell.sender}, bytes, room);
}

/// The segment of the sender whose slot a cell names; null, logged, when there is no such slot.
Segment* Lane::named_slot(std::uint32_t sender, std::uint32_t slot) noexcept {
    Segment* from = segment_of(sender);
    if (from == nullptr || slot >= from->geometry().slots) {
        log_once(
            LogLevel::kError, "shm.slot",
            "a local peer (entry %u) names slot %u, which cannot be reached: its message is lost",
            sender, slot);
        return nullptr;
    }
    return from;
}

Segment* Lane::segment_of(std::uint32_t sender) noexcept {
    if (sender >= kMaxSenders) {
        return nullptr;
    }
    if (sender < senders_.size() && senders_[sender] != nullptr) {
        return senders_[sender].get();
    }
    const Sender& entry = own_.sender(sender);
    if (entry.ready.load(std::memory_order_acquire) != 1) {
        return nullptr;
    }
    auto segment = Segment::open({entry.pid, entry.start_time, entry.nonce, entry.descriptor});
    if (!segment) {
        return nullptr;
    }
    if (senders_.size() <= sender) {
        senders_.resize(sender + 1);
    }
    senders_[sender] = std::make_unique<Segment>(std::move(*segment));
    return senders_[sender].get();
}

std::span<std::byte> Lane::chunk_of(std::uint32_t sender, std::uint32_t index) noexcept {
    Segment* from = segment_of(sender);
    if (from == nullptr || index >= from->geometry().chunks) {
        return {};
    }
    return {from->chunk(index), from->geometry().chunk_bytes};
}

void Lane::release_chunk(std::uint32_t sender, std::uint32_t index) noexcept {
    Segment* from = segment_of(sender);
    if (from != nullptr && index < from->geometry().chunks) {
        from->header().chunk_busy[index].store(0, std::memory_order_release);
    }
}

bool Lane::lease_block(std::uint32_t& index) noexcept {
    // The one returned last is the one in the cache.
    for (std::size_t i = free_blocks_.size(); i > 0; --i) {
        index = free_blocks_[i - 1];
        if (idle_block(index) != nullptr) {
            free_blocks_.erase(free_blocks_.begin() + static_cast<std::ptrdiff_t>(i - 1));
            return true;
        }
    }
    return false;
}

std::span<std::byte> Lane::block_of(std::uint32_t sender, std::uint32_t index) noexcept {
    Segment* from = segment_of(sender);
    if (from == nullptr || index >= from->geometry().blocks) {
        return {};
    }
    return {from->block_body(index), from->geometry().block_bytes};
}

void Lane::release_block(std::uint32_t sender, std::uint32_t index) noexcept {
    Segment* from = segment_of(sender);
    if (from != nullptr && index < from->geometry().blocks) {
        from->block(index).busy.store(0, std::memory_order_release);
    }
}

std::span<std::byte> Lane::payload_of(std::uint32_t sender) noexcept {
    Segment* from = segment_of(sender);
    return from != nullptr ? from->payload() : std::span<std::byte>{};
}

std::uint64_t Lane::nonce_of(std::uint32_t sender) noexcept {
    return sender < kMaxSenders ? own_.sender(sender).nonce : 0;
}

std::int64_t Lane::pid_of(std::uint32_t sender) noexcept {
    return sender < kMaxSenders ? own_.sender(sender).pid : 0;
}

template <Queue kQueue>
void Lane::check_head() noexcept {
    constexpr auto kIndex = static_cast<std::size_t>(kQueue);
    std::uint64_t& head = head_[kIndex];
    Cell& cell = own_.cell<kQueue>(head);
    std::uint64_t sequence = cell.sequence.load(std::memory_order_acquire);
    // Filled, never filled, filled a lap ago, or not taken by a sender, who would overwrite it.
    if (sequence == head + 1 || sequence == 0 || sequence == head + 1 - own_.cells<kQueue>() ||
        own_.tail<kQueue>().load(std::memory_order_acquire) == head ||
        !cell.sequence.compare_exchange_strong(sequence, head + 1)) {
        return;
    }
    log_once(LogLevel::kError, "shm.damaged",
             "this process's shared memory queue is damaged at position %llu, which process %lld "
             "wrote last: a message may be lost",
             static_cast<unsigned long long>(head), static_cast<long long>(pid_of(cell.sender)));
    ++head;
    if (draining_[kIndex] == 0) {
        own_.read<kQueue>().store(head, std::memory_order_release);
    }
}

void Lane::check() noexcept {
    check_head<Queue::kNarrow>();
    check_head<Queue::kWide>();
}

}  // namespace beeline::mover::shm
