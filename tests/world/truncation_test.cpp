// SPDX-License-Identifier: BSD-3-Clause
// Receives shorter than a rendezvous: what fits arrives, no more is fetched, and the send ends.
#include <gtest/gtest.h>

#include "tests/world/message_memory.hpp"
#include "tests/world/processes.hpp"

namespace beeline::world {
namespace {

constexpr std::size_t kSent = 3000000;

using protocol::Preference;

void receive_part(std::size_t room, bool expected, Preference preference) {
    Job job;
    job.params.pml_protocol = static_cast<int>(preference);
    job.cuda = false;
    run_ranks(job, [&](Rank& rank) {
        Bytes data = content(kSent, 1);
        Bytes small = content(10, 2);
        if (rank.rank() == 0) {
            Ticket large;
            Ticket next;
            if (expected) {
                rank.await(1, 1, true);
            }
            EXPECT_EQ(rank.send(large, 1, 4, {data.data(), kSent, 0, nullptr}), Status::kOk);
            EXPECT_EQ(rank.send(next, 1, 4, {small.data(), small.size(), 0, nullptr}), Status::kOk);
            rank.reach(1);
            rank.wait(large);
            rank.wait(next);
            EXPECT_EQ(large.outcome().status, Status::kOk);
        } else {
            Bytes in(room + 64, 0xEE);
            Bytes after(small.size());
            Ticket large;
            Ticket next;
            if (!expected) {
                rank.await(0, 1, true);
                rank.progress(1000);
            }
            EXPECT_EQ(rank.receive(large, 0, 4, {in.data(), room, 0, nullptr}), Status::kOk);
            EXPECT_EQ(rank.receive(next, 0, 4, {after.data(), after.size(), 0, nullptr}),
                      Status::kOk);
            rank.reach(1);
            rank.wait(large);
            rank.wait(next);
            EXPECT_EQ(large.outcome().status, Status::kTruncated);
            EXPECT_EQ(large.outcome().bytes, room);
            EXPECT_TRUE(std::equal(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(room),
                                   in.begin()));
            EXPECT_EQ(Bytes(in.end() - 64, in.end()), Bytes(64, 0xEE));
            EXPECT_EQ(after, small);
            if (expected && room != 0) {
                // UCX alone would have brought all of it.
                EXPECT_EQ(large.outcome().path, preference == Preference::kRendezvousUcx
                                                    ? protocol::Path::kStaged
                                                    : protocol::Path::kShm);
            }
        }
        rank.barrier();
    });
}

TEST(Truncation, Expected) {
    for (const Preference preference : {Preference::kAuto, Preference::kRendezvousUcx}) {
        receive_part(700001, true, preference);
        receive_part(1, true, preference);
        receive_part(0, true, preference);
    }
}

TEST(Truncation, Unexpected) {
    for (const Preference preference : {Preference::kAuto, Preference::kRendezvousUcx}) {
        receive_part(700001, false, preference);
        receive_part(0, false, preference);
    }
}

}  // namespace
}  // namespace beeline::world
