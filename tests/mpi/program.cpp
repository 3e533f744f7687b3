// SPDX-License-Identifier: BSD-3-Clause
// Drawing random programs, and matching their messages to receives.
#include "program.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace beeline::test {
namespace {

/// The limits between protocols, of the defaults and of the small settings the tests use.
constexpr std::size_t kEdges[] = {8, 64, 128, 416, 456, 512, 4096, 8192, 65536, 131072, 262144};

class Maker {
 public:
    Maker(std::uint64_t seed, int ranks, int memories, int truncate)
        : choose_(seed), ranks_(ranks), memories_(memories), truncate_(truncate) {}

    Phase phase() {
        Phase phase;
        phase.barrier = choose_.percent(40);
        phase.anything = choose_.percent(40);
        phase.cancels = choose_.percent(20);
        const int count = choose_.percent(15) ? 20 + choose_.below(40) : 1 + choose_.below(12);
        const int wildcards = choose_.below(3) * 30;
        for (int i = 0; i < count; ++i) {
            add(phase, wildcards);
        }
        shuffle(phase.receives);
        std::stable_partition(phase.receives.begin(), phase.receives.end(),
                              [](const Receive& receive) { return receive.early; });
        settle(phase);
        for (Receive& receive : phase.receives) {
            make_room(phase, receive);
        }
        return phase;
    }
    int below(int limit) { return choose_.below(limit); }

 private:
    static bool open(const Phase& phase, int communicator) {
        return phase.anything && communicator == kOpenCommunicator;
    }

    template <class T>
    void shuffle(std::vector<T>& all) {
        for (std::size_t i = all.size(); i > 1; --i) {
            std::swap(all[i - 1], all[static_cast<std::size_t>(below(static_cast<int>(i)))]);
        }
    }

    std::size_t size() {
        const int kind = below(20);
        if (kind < 1) {
            return 0;
        }
        if (kind < 10) {
            return static_cast<std::size_t>(below(600));
        }
        if (kind < 13) {
            return static_cast<std::size_t>(below(20000));
        }
        if (kind < 19) {
            const auto edge =
                kEdges[static_cast<std::size_t>(below(static_cast<int>(std::size(kEdges))))];
            return edge + static_cast<std::size_t>(below(3)) - 1;
        }
        return static_cast<std::size_t>(below(1 << 20));
    }

    void add(Phase& phase, int wildcards) {
        Message message;
        message.source = below(ranks_);
        message.destination = below(ranks_);
        message.communicator = below(kCommunicators);
        // No two sources share a tag, so that MPI_ANY_SOURCE has one right outcome.
        message.tag = message.source * kTagsPerSource + below(kTagsPerSource);
        message.data.memory = below(memories_);
        message.data.shape = choose_.percent(60) ? 0 : below(static_cast<int>(shapes().size()));
        message.data.count =
            size() / shapes()[static_cast<std::size_t>(message.data.shape)].packed();
        const bool is_open = open(phase, message.communicator);
        message.call = static_cast<Send>(below(is_open ? kLocalSends : kSends));
        if ((message.call == Send::kIbsend || message.call == Send::kBsend) &&
            message.data.bytes() > kLargestBuffered) {
            message.call = Send::kIsend;
        }
        if (message.call == Send::kRsend && !phase.barrier) {
            message.call = Send::kSend;
        }
        Receive receive;
        receive.destination = message.destination;
        receive.communicator = message.communicator;
        receive.own_source = message.source;
        receive.own_tag = message.tag;
        receive.source = is_open || choose_.percent(wildcards) ? kAnything : message.source;
        receive.tag = message.tag;
        if (is_open || (receive.source != kAnything && choose_.percent(wildcards))) {
            receive.tag = kAnything;
        }
        receive.early = needs_posted(message.call) || choose_.percent(40);
        receive.call = static_cast<Take>(below(receive.early ? 2 : kTakes));
        receive.data.memory = below(memories_);
        receive.data.shape = choose_.percent(60) ? 0 : below(static_cast<int>(shapes().size()));
        phase.messages.push_back(message);
        phase.receives.push_back(receive);
    }

    static bool accepts(const Receive& receive, const Message& message) {
        return receive.destination == message.destination &&
               receive.communicator == message.communicator &&
               (receive.source == kAnything || receive.source == message.source) &&
               (receive.tag == kAnything || receive.tag == message.tag);
    }

    /// Matches until every message has a receive, and those that need one posted early have that.
    void settle(Phase& phase) {
        while (!matched(phase)) {
        }
    }

    /// Between one source and one receiver both sides have one order, that of sending and that of
    /// posting, and each prefers what is first on the other side: there is exactly one outcome,
    /// whatever happens first. False when something had to be changed in the program.
    static bool matched(Phase& phase) {
        for (Receive& receive : phase.receives) {
            receive.message = -1;
        }
        for (const bool last : {false, true}) {
            for (std::size_t i = 0; i < phase.messages.size(); ++i) {
                Message& message = phase.messages[i];
                if ((message.call == Send::kSendrecv) != last ||
                    open(phase, message.communicator)) {
                    continue;
                }
                Receive* const receive = take(phase, message);
                if (receive == nullptr) {
                    without_wildcards(phase, message);
                    return false;
                }
                receive->message = static_cast<int>(i);
                if (needs_posted(message.call) && !receive->early) {
                    message.call = Send::kIsend;
                    return false;
                }
            }
        }
        return true;
    }

    static Receive* take(Phase& phase, const Message& message) {
        for (Receive& receive : phase.receives) {
            if (receive.message < 0 && accepts(receive, message)) {
                return &receive;
            }
        }
        return nullptr;
    }

    /// A wildcard took what an exact receive after it needs.
    static void without_wildcards(Phase& phase, const Message& message) {
        for (Receive& receive : phase.receives) {
            if (receive.destination == message.destination &&
                receive.communicator == message.communicator) {
                receive.source = receive.own_source;
                receive.tag = receive.own_tag;
            }
        }
    }

    void make_room(const Phase& phase, Receive& receive) {
        std::size_t needed = 0;
        if (receive.message >= 0) {
            needed = phase.messages[static_cast<std::size_t>(receive.message)].data.bytes();
        } else {
            for (const Message& message : phase.messages) {
                if (accepts(receive, message)) {
                    needed = std::max(needed, message.data.bytes());
                }
            }
        }
        const std::size_t packed = shapes()[static_cast<std::size_t>(receive.data.shape)].packed();
        receive.data.count =
            (needed + packed - 1) / packed + static_cast<std::size_t>(choose_.below(3));
        if (receive.message >= 0 && needed > packed && choose_.percent(truncate_)) {
            // Too small: MPI_ERR_TRUNCATE.
            receive.data.count =
                (needed - 1) / packed / static_cast<std::size_t>(1 + choose_.below(3));
        }
    }

    Choices choose_;
    int ranks_;
    int memories_;
    int truncate_;
};

}  // namespace

std::vector<Phase> make_program(std::uint64_t seed, int ranks, int memories, int truncate) {
    Maker maker(seed, ranks, memories, truncate);
    std::vector<Phase> program(static_cast<std::size_t>(1 + maker.below(3)));
    for (Phase& phase : program) {
        phase = maker.phase();
    }
    return program;
}

}  // namespace beeline::test
