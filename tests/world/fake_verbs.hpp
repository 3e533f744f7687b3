// SPDX-License-Identifier: BSD-3-Clause
// Network cards in software, for tests: queue pairs of one process that move bytes by copying, with
// faults on request. What the verbs promise is checked as a card would.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mover/verbs/api.hpp"

namespace beeline::world {

/// The cards of this process; reset() before use.
class FakeCards {
 public:
    static constexpr unsigned kMost = 4;

    /// `count` cards named fake0, fake1, ... without faults.
    static void reset(unsigned count);
    static const mover::verbs::Api& api();

    /// How bytes get from one address to another; memcpy at first.
    static void set_copy(void (*copy)(void* to, const void* from, std::size_t bytes));

    struct Fault {
        bool garbles = false;      ///< a byte of every write comes wrong
        bool hangs = false;        ///< work requests never complete
        bool held = false;         ///< nothing moves until it is not held any more
        bool cut = false;          ///< work requests fail with "retry exceeded", and move nothing
        bool refuses = false;      ///< no queue pair can be made
        bool unreachable = false;  ///< no queue pair can be connected
        bool takes_no_device = false;  ///< device memory cannot be registered
        std::uint64_t fails_at = 0;    ///< this work request (from 1) moves its data, but ends with
                                       ///< "retry exceeded" instead of being acknowledged
        std::uint64_t cuts_at = 0;     ///< as `cut`, from this work request on
        std::uint64_t fails_at_message = 0;          ///< as fails_at, this message
        std::uint64_t most_registered = UINT64_MAX;  ///< bytes of host memory in one region
    };
    static Fault& fault(unsigned card);
    /// Makes all keys wrong that were given out for this memory.
    static void revoke(const void* address);
    /// Something happens at a port of a card: everyone who has opened it is told.
    static void happens(unsigned card, ibv_event_type type, int port);
    /// Moves what can be moved.
    static void run();

    static std::uint64_t requests(unsigned card);            ///< writes and reads that were begun
    static std::uint64_t signalled(unsigned card);           ///< of those
    static std::uint64_t bytes(unsigned card);               ///< and moved by them
    static std::uint64_t messages(unsigned card);            ///< sends that were begun
    static std::uint64_t signalled_messages(unsigned card);  ///< of those
    static std::uint64_t registrations();                    ///< made so far
    static std::size_t pairs();                              ///< that exist
    /// Of those, how many have begun so many writes and reads.
    static std::size_t pairs_at_work(std::uint64_t requests);
    static std::size_t regions();  ///< that exist
    static std::size_t queues();   ///< completion and receive queues that exist
};

}  // namespace beeline::world
