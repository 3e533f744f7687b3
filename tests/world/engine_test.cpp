// SPDX-License-Identifier: BSD-3-Clause
// Random programs of sends and receives between processes, by every path and with every limit
// small: the right bytes arrive in the right order.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <random>

#include "tests/world/message_memory.hpp"
#include "tests/world/processes.hpp"

namespace beeline::world {
namespace {

using memory::Kind;

constexpr Kind kKinds[] = {Kind::kHost, Kind::kDevice, Kind::kManaged, Kind::kPinned};

struct Message {
    int source;
    int destination;
    int tag;
    std::size_t bytes;
    std::size_t room;  ///< of the receive
    Kind from;
    Kind to;
    bool from_gaps;
    bool to_gaps;
    bool synchronous;
    std::size_t skew;
    bool any_source;  ///< when nobody else sends with this tag to this rank
};

/// One stretch of a program; wild: every receive takes what comes.
struct Phase {
    bool wild = false;
    std::vector<Message> messages;
};

class Planner {
 public:
    Planner(unsigned seed, const Job& job) : random_(seed), job_(job) {}

    Phase phase(int messages) {
        Phase made;
        made.wild = chance(3);
        for (int i = 0; i < messages; ++i) {
            made.messages.push_back(message(made.wild));
        }
        return made;
    }

 private:
    unsigned below(std::size_t end) { return static_cast<unsigned>(random_() % end); }
    bool chance(unsigned of) { return below(of) == 0; }

    std::size_t bytes() {
        const config::Params& p = job_.params;
        const std::size_t thresholds[] = {1,
                                          456,  // the most that travels in a cell
                                          p.pml_eager_limit,
                                          p.pml_fragments_limit,
                                          p.pml_ucx_eager_limit,
                                          p.pml_device_eager_limit,
                                          p.pml_staging_chunk,
                                          3 * p.pml_staging_chunk};
        if (chance(3)) {
            return below(chance(4) ? 200000 : 3000);
        }
        return thresholds[below(std::size(thresholds))] + below(3) - 1;
    }

    Message message(bool wild) {
        Message made{};
        made.source = static_cast<int>(below(static_cast<std::size_t>(job_.size)));
        made.destination = static_cast<int>(below(static_cast<std::size_t>(job_.size)));
        made.tag = static_cast<int>(below(3));
        made.bytes = bytes();
        made.from = job_.cuda ? kKinds[below(4)] : Kind::kHost;
        made.to = job_.cuda ? kKinds[below(4)] : Kind::kHost;
        made.from_gaps = chance(6);
        made.to_gaps = chance(6);
        if (made.from_gaps) {
            made.bytes = made.bytes / 24 * 24;
        }
        made.room = made.bytes;
        if (wild) {
            made.room = 4 << 20;
        } else if (chance(5)) {
            made.room += 1 + below(5000);
        } else if (chance(12)) {
            made.room = below(made.bytes + 1);
        }
        made.synchronous = chance(4);
        made.skew = below(9);
        return made;
    }

    std::mt19937 random_;
    const Job& job_;
};

/// A rank's part of a phase.
class Player {
 public:
    Player(Rank& rank, const Phase& phase, unsigned seed)
        : rank_(rank),
          phase_(phase),
          random_(seed + static_cast<unsigned>(rank.rank()) * 1000003U) {}

    void play() {
        std::size_t next_send = 0;
        std::size_t next_receive = 0;
        const std::size_t end = phase_.messages.size();
        while (next_send < end || next_receive < end) {
            const bool send = next_receive == end || (next_send < end && random_() % 2 == 0);
            const std::size_t index = send ? next_send++ : next_receive++;
            const Message& message = phase_.messages[index];
            if (send && message.source == rank_.rank()) {
                start_send(index, message);
            } else if (!send && message.destination == rank_.rank()) {
                start_receive(index, message);
            }
            if (random_() % 4 == 0) {
                rank_.progress(1 + static_cast<int>(random_() % 20));
            }
        }
        for (auto& work : works_) {
            rank_.wait(work.ticket);
        }
        check();
    }

 private:
    struct Work {
        std::size_t index;
        bool send;
        std::unique_ptr<MessageMemory> memory;
        Ticket ticket;
    };

    void start_send(std::size_t index, const Message& message) {
        Work& work = works_.emplace_back();
        work.index = index;
        work.send = true;
        work.memory = std::make_unique<MessageMemory>(rank_.driver(), message.from, message.bytes,
                                                      message.skew, message.from_gaps);
        work.memory->fill(content(message.bytes, static_cast<unsigned>(index)));
        engine::Buffer buffer = work.memory->all();
        std::optional<memory::Pointer> where;
        if (!message.synchronous && buffer.layout == nullptr &&
            rank_.engine().try_send(rank_.world(), message.destination, message.tag, buffer.address,
                                    buffer.bytes, where)) {
            work.ticket.done = true;
            return;
        }
        EXPECT_EQ(rank_.send(work.ticket, message.destination, message.tag, buffer,
                             message.synchronous ? engine::SendMode::kSynchronous
                                                 : engine::SendMode::kStandard),
                  Status::kOk);
    }

    void start_receive(std::size_t index, const Message& message) {
        Work& work = works_.emplace_back();
        work.index = index;
        work.send = false;
        const std::size_t room = phase_.wild ? largest() : message.room;
        work.memory = std::make_unique<MessageMemory>(rank_.driver(), message.to, room,
                                                      message.skew, message.to_gaps);
        EXPECT_EQ(rank_.receive(work.ticket, phase_.wild ? match::kAnySource : message.source,
                                phase_.wild ? match::kAnyTag : message.tag, work.memory->all()),
                  Status::kOk);
    }

    std::size_t largest() const {
        std::size_t most = 0;
        for (const Message& message : phase_.messages) {
            most = std::max(most, message.bytes);
        }
        return most;
    }

    /// The message a receive should have taken: in a wild phase the next of the source it names.
    std::size_t taken_by(const Work& work) {
        if (!phase_.wild) {
            return work.index;
        }
        const int source = work.ticket.outcome().source;
        std::size_t& next = next_of_[static_cast<std::size_t>(source)];
        while (next < phase_.messages.size() &&
               (phase_.messages[next].source != source ||
                phase_.messages[next].destination != rank_.rank())) {
            ++next;
        }
        return next++;
    }

    void check() {
        for (auto& work : works_) {
            const engine::Outcome& outcome = work.ticket.outcome();
            if (work.send) {
                EXPECT_EQ(outcome.status, Status::kOk);
                EXPECT_LE(work.ticket.calls, 1);
                continue;
            }
            const std::size_t index = taken_by(work);
            ASSERT_LT(index, phase_.messages.size());
            const Message& message = phase_.messages[index];
            const std::size_t room = work.memory->all().bytes;
            EXPECT_EQ(work.ticket.calls, 1);
            EXPECT_EQ(outcome.source, message.source);
            EXPECT_EQ(outcome.tag, message.tag);
            EXPECT_EQ(outcome.bytes, std::min(message.bytes, room));
            EXPECT_EQ(outcome.status, message.bytes > room ? Status::kTruncated : Status::kOk)
                << describe(message);
            Bytes expected = content(message.bytes, static_cast<unsigned>(index));
            expected.resize(std::min(expected.size(), room));
            EXPECT_TRUE(work.memory->holds(expected)) << describe(message);
        }
    }

    std::string describe(const Message& message) const {
        char text[200];
        std::snprintf(text, sizeof text, "%d to %d, %zu bytes, %s%s to %s%s%s%s", message.source,
                      message.destination, message.bytes, memory::to_string(message.from),
                      message.from_gaps ? " with gaps" : "", memory::to_string(message.to),
                      message.to_gaps ? " with gaps" : "",
                      message.synchronous ? ", synchronous" : "", phase_.wild ? ", wild" : "");
        return text;
    }

    Rank& rank_;
    const Phase& phase_;
    std::mt19937 random_;
    std::deque<Work> works_;
    std::size_t next_of_[Shared::kRanks] = {};
};

void play(const Job& job, int phases, int messages) {
    const char* wished = std::getenv("BEELINE_TEST_SEED");
    const unsigned seed = wished != nullptr ? static_cast<unsigned>(std::atoi(wished)) : 20240229U;
    std::printf("BEELINE_TEST_SEED=%u repeats this\n", seed);
    run_ranks(job, [&](Rank& rank) {
        Planner planner(seed, job);
        for (int i = 0; i < phases && !testing::Test::HasFailure(); ++i) {
            const Phase phase = planner.phase(messages);
            Player(rank, phase, seed + static_cast<unsigned>(i)).play();
            rank.barrier();
        }
        EXPECT_TRUE(rank.world().matcher.empty());
    });
}

struct Variant {
    const char* name;
    bool small;
    bool shm;
    bool ipc;
    bool cuda;
    int size;
    protocol::Preference preference = protocol::Preference::kAuto;
};

class RandomPrograms : public testing::TestWithParam<Variant> {};

TEST_P(RandomPrograms, DeliverEverything) {
    const Variant& variant = GetParam();
    Job job;
    job.size = variant.size;
    job.cuda = variant.cuda;
    if (variant.small) {
        job.params = tiny();
    } else {
        job.params.pml_staging_chunk = 65536;
    }
    job.params.pml_shm = variant.shm;
    job.params.pml_cuda_ipc = variant.ipc;
    job.params.pml_protocol = static_cast<int>(variant.preference);
    play(job, 6, 60);
}

INSTANTIATE_TEST_SUITE_P(
    Engine, RandomPrograms,
    testing::Values(
        Variant{"Usual", false, true, true, true, 3},
        Variant{"UsualWithoutIpc", false, true, false, true, 3},
        Variant{"UsualUcxOnly", false, false, true, true, 3},
        Variant{"UsualHost", false, true, true, false, 4},
        Variant{"Tiny", true, true, true, true, 3},
        Variant{"TinyWithoutIpc", true, true, false, true, 3},
        Variant{"TinyUcxOnly", true, false, true, true, 3},
        Variant{"TinyHost", true, true, true, false, 4},
        Variant{"TinyHostUcxOnly", true, false, true, false, 3},
        Variant{"UsualByUcx", false, true, true, true, 3, protocol::Preference::kRendezvousUcx},
        Variant{"TinyByShm", true, true, true, true, 3, protocol::Preference::kRendezvousShm},
        Variant{"TinyHostByShm", true, true, true, false, 4, protocol::Preference::kRendezvousShm},
        Variant{"Alone", true, true, true, true, 1}),
    [](const testing::TestParamInfo<Variant>& variant) { return variant.param.name; });

}  // namespace
}  // namespace beeline::world
