// SPDX-License-Identifier: BSD-3-Clause
// Sequence numbers of one peer: which message is next, and the ones that came early.
#pragma once

#include <cstdint>

namespace beeline::match {

/// Where an arrived message stands in the order its sender gave it.
enum class Order { kNext, kEarly, kDuplicate };

/// Base class of a message that waits for those before it. `sequence` is set before hold().
struct Held {
    std::uint32_t sequence = 0;

 private:
    friend class Sequencer;
    Held* next_ = nullptr;
    Held* previous_ = nullptr;
};

/// Both directions of one peer in one communicator. Numbers wrap around; two are compared rightly
/// as long as less than 2^31 messages lie between them. Owns no message; one caller at a time.
class Sequencer {
 public:
    /// Both ends of a peer start from the same number.
    explicit Sequencer(std::uint32_t first = 0) noexcept : send_(first), awaited_(first) {}

    /// The number of the next message to this peer; counts on.
    std::uint32_t next_to_send() noexcept { return send_++; }
    /// The same number without counting on: for a send that may not come about.
    std::uint32_t peek_to_send() const noexcept { return send_; }

    /// Judges an arrived number. After kNext the following number is awaited: process the message,
    /// then drain ready(). A kEarly message goes to hold(); a kDuplicate is to be dropped.
    Order accept(std::uint32_t sequence) noexcept {
        const auto ahead = static_cast<std::int32_t>(sequence - awaited_);
        if (ahead == 0) {
            ++awaited_;
            return Order::kNext;
        }
        return ahead > 0 ? Order::kEarly : Order::kDuplicate;
    }

    /// Keeps an early message in order; false when one with its number is held already. Searches
    /// from the latest, as lanes that overtake each other are in order themselves.
    bool hold(Held* message) noexcept {
        const std::uint32_t distance = message->sequence - awaited_;
        Held* before = first_ == nullptr ? nullptr : first_->previous_;  // the latest
        while (before != nullptr && before->sequence - awaited_ > distance) {
            before = before == first_ ? nullptr : before->previous_;
        }
        if (before != nullptr && before->sequence == message->sequence) {
            return false;
        }
        insert(message, before);
        return true;
    }

    /// Takes out the held message whose turn it is, and awaits the one after it; null when that has
    /// not come.
    Held* ready() noexcept {
        Held* message = first_;
        if (message == nullptr || message->sequence != awaited_) {
            return nullptr;
        }
        ++awaited_;
        return take_first();
    }

    /// Takes out the earliest held message whether or not its turn has come; null when there is
    /// none. For the end of a communicator.
    Held* drop() noexcept { return first_ == nullptr ? nullptr : take_first(); }

    bool holds_any() const noexcept { return first_ != nullptr; }
    std::uint32_t awaited() const noexcept { return awaited_; }

 private:
    /// Links `message` after `before`, or first when that is null.
    void insert(Held* message, Held* before) noexcept {
        if (first_ == nullptr) {
            message->next_ = message->previous_ = message;
            first_ = message;
            return;
        }
        Held* left = before != nullptr ? before : first_->previous_;
        message->previous_ = left;
        message->next_ = left->next_;
        left->next_->previous_ = message;
        left->next_ = message;
        if (before == nullptr) {
            first_ = message;
        }
    }

    Held* take_first() noexcept {
        Held* message = first_;
        first_ = message->next_ == message ? nullptr : message->next_;
        message->previous_->next_ = message->next_;
        message->next_->previous_ = message->previous_;
        message->next_ = message->previous_ = nullptr;
        return message;
    }

    Held* first_ = nullptr;  // ring in the order of sequence
    std::uint32_t send_;
    std::uint32_t awaited_;
};

}  // namespace beeline::match
