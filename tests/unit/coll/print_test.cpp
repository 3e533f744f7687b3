// SPDX-License-Identifier: BSD-3-Clause
// A schedule as text says all of it.
#include <gtest/gtest.h>

#include "coll/plan/algorithm.hpp"

namespace beeline::coll::plan {
namespace {

Schedule allreduce(const char* name, int size, int rank, bool in_place) {
    Request request;
    request.size = size;
    request.rank = rank;
    request.in_place = in_place;
    return find(Collective::kAllreduce, name)->build(request);
}

TEST(Print, TwoRanks) {
    EXPECT_EQ(print(allreduce("recursive_doubling", 2, 1, false)),
              "allreduce recursive_doubling rank 1 of 2: 1 chunks even, 0 mirrors, 0 slots, 3 ops\n"
              "   0 receive output[0] from 0 on 0\n"
              "   1 send input[0] to 0 on 0\n"
              "   2 reduce output[0] = output[0] (op) input[0] after 0\n");
}

TEST(Print, OneRankCopies) {
    EXPECT_EQ(print(allreduce("ring", 1, 0, false)),
              "allreduce ring rank 0 of 1: 1 chunks even, 0 mirrors, 0 slots, 1 ops\n"
              "   0 copy output[0] = input[0]\n");
    EXPECT_EQ(print(allreduce("ring", 1, 0, true)),
              "allreduce ring rank 0 of 1 in place: 1 chunks even, 0 mirrors, 0 slots, 0 ops\n");
}

TEST(Print, FusedAndEmptyMessages) {
    Schedule schedule;
    schedule.size = 2;
    schedule.phases = {"inside"};
    Op op;
    op.kind = OpKind::kReceiveReduce;
    op.peer = 1;
    op.count = 2;
    op.second = {Buffer::kInput, 3, 0};
    append(schedule, op, {});
    op.second_first = true;
    append(schedule, op, {});
    op.kind = OpKind::kReceive;
    op.count = 0;
    op.channel = 4;
    const std::int32_t after[] = {0, kNone, 1};
    append(schedule, op, after);
    EXPECT_EQ(print(schedule),
              "allreduce  rank 0 of 2: 1 chunks even, 0 mirrors, 0 slots, 3 ops\n"
              "   0 receive_reduce output[0..2) = message from 1 on 0 (op) input[3..5)  (inside)\n"
              "   1 receive_reduce output[0..2) = input[3..5) (op) message from 1 on 0  (inside)\n"
              "   2 receive nothing from 1 on 4 after 0,1  (inside)\n");
}

}  // namespace
}  // namespace beeline::coll::plan
