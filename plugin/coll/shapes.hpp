// SPDX-License-Identifier: BSD-3-Clause
// Which argument of a collective call is which part of which buffer: one shape for each family of
// entry points. Blocking, non-blocking and persistent forms of a call share one shape.
#pragma once

#include <cstdint>

#include "plugin/staging.hpp"

namespace beeline::plugin::coll {

/// How an entry point ends: at return, by a request, or by a request that is started again and
/// again.
enum class Form : std::uint8_t { kBlocking, kNonblocking, kPersistent };

/// Whose number the blocks of a buffer are.
enum class Peers : std::uint8_t {
    kGroup,         ///< the group communicated with: the remote one of an inter-communicator
    kLocal,         ///< the local group, also in an inter-communicator
    kSources,       ///< neighbours received from
    kDestinations,  ///< neighbours sent to
};

/// Whose argument counts.
enum class Who : std::uint8_t {
    kEveryone,
    kRoot,      ///< the root only
    kOpposite,  ///< everyone, or in an inter-communicator the group that the root is not in
};

/// One buffer: positions of its arguments, from 0; -1 where there is none.
struct Side {
    Amount amount = Amount::kNothing;
    int address = -1;
    int count = -1;  ///< an int, or the array of counts
    int displacements = -1;
    int type = -1;  ///< a datatype, or the array of them
    Peers peers = Peers::kGroup;
    Who who = Who::kEveryone;
};

/// Where MPI_IN_PLACE may stand.
enum class InPlace : std::uint8_t { kNowhere, kSend, kReceive };

struct Shape {
    Side send = {};
    Side receive = {};
    int root = -1;
    int comm = -1;
    InPlace in_place = InPlace::kNowhere;
    /// With MPI_IN_PLACE as send buffer: what of the receive buffer is input.
    Amount in_place_input = Amount::kNothing;
    /// Some of the receive buffer's data may be left as it was, or is input always.
    bool keeps_receive = false;
    /// The receive buffer is the root's input and everyone else's output.
    bool broadcast = false;
};

inline constexpr Shape kBarrier{.comm = 0};

inline constexpr Shape kBcast{
    .receive = {.amount = Amount::kOne, .address = 0, .count = 1, .type = 2},
    .root = 3,
    .comm = 4,
    .broadcast = true};

inline constexpr Shape kAllgather{
    .send = {.amount = Amount::kOne, .address = 0, .count = 1, .type = 2},
    .receive = {.amount = Amount::kBlocks, .address = 3, .count = 4, .type = 5},
    .comm = 6,
    .in_place = InPlace::kSend,
    .in_place_input = Amount::kOwnBlock};

inline constexpr Shape kAllgatherv{
    .send = {.amount = Amount::kOne, .address = 0, .count = 1, .type = 2},
    .receive = {.amount = Amount::kListed, .address = 3, .count = 4, .displacements = 5, .type = 6},
    .comm = 7,
    .in_place = InPlace::kSend,
    .in_place_input = Amount::kOwnListed};

inline constexpr Shape kGather{
    .send = {.amount = Amount::kOne, .address = 0, .count = 1, .type = 2, .who = Who::kOpposite},
    .receive = {.amount = Amount::kBlocks, .address = 3, .count = 4, .type = 5, .who = Who::kRoot},
    .root = 6,
    .comm = 7,
    .in_place = InPlace::kSend,
    .in_place_input = Amount::kOwnBlock};

inline constexpr Shape kGatherv{
    .send = {.amount = Amount::kOne, .address = 0, .count = 1, .type = 2, .who = Who::kOpposite},
    .receive = {.amount = Amount::kListed,
                .address = 3,
                .count = 4,
                .displacements = 5,
                .type = 6,
                .who = Who::kRoot},
    .root = 7,
    .comm = 8,
    .in_place = InPlace::kSend,
    .in_place_input = Amount::kOwnListed};

inline constexpr Shape kScatter{
    .send = {.amount = Amount::kBlocks, .address = 0, .count = 1, .type = 2, .who = Who::kRoot},
    .receive = {.amount = Amount::kOne, .address = 3, .count = 4, .type = 5, .who = Who::kOpposite},
    .root = 6,
    .comm = 7,
    .in_place = InPlace::kReceive};

inline constexpr Shape kScatterv{
    .send = {.amount = Amount::kListed,
             .address = 0,
             .count = 1,
             .displacements = 2,
             .type = 3,
             .who = Who::kRoot},
    .receive = {.amount = Amount::kOne, .address = 4, .count = 5, .type = 6, .who = Who::kOpposite},
    .root = 7,
    .comm = 8,
    .in_place = InPlace::kReceive};

inline constexpr Shape kAlltoall{
    .send = {.amount = Amount::kBlocks, .address = 0, .count = 1, .type = 2},
    .receive = {.amount = Amount::kBlocks, .address = 3, .count = 4, .type = 5},
    .comm = 6,
    .in_place = InPlace::kSend,
    .in_place_input = Amount::kBlocks};

inline constexpr Shape kAlltoallv{
    .send = {.amount = Amount::kListed, .address = 0, .count = 1, .displacements = 2, .type = 3},
    .receive = {.amount = Amount::kListed, .address = 4, .count = 5, .displacements = 6, .type = 7},
    .comm = 8,
    .in_place = InPlace::kSend,
    .in_place_input = Amount::kListed};

inline constexpr Shape kAlltoallw{
    .send = {.amount = Amount::kTyped, .address = 0, .count = 1, .displacements = 2, .type = 3},
    .receive = {.amount = Amount::kTyped, .address = 4, .count = 5, .displacements = 6, .type = 7},
    .comm = 8,
    .in_place = InPlace::kSend,
    .in_place_input = Amount::kTyped};

inline constexpr Shape kAllreduce{
    .send = {.amount = Amount::kOne, .address = 0, .count = 2, .type = 3},
    .receive = {.amount = Amount::kOne, .address = 1, .count = 2, .type = 3},
    .comm = 5,
    .in_place = InPlace::kSend,
    .in_place_input = Amount::kOne};

inline constexpr Shape kScan = kAllreduce;

// The first rank's receive buffer stays as it is.
inline constexpr Shape kExscan{.send = kAllreduce.send,
                               .receive = kAllreduce.receive,
                               .comm = 5,
                               .in_place = InPlace::kSend,
                               .in_place_input = Amount::kOne,
                               .keeps_receive = true};

inline constexpr Shape kReduce{
    .send = {.amount = Amount::kOne, .address = 0, .count = 2, .type = 3, .who = Who::kOpposite},
    .receive = {.amount = Amount::kOne, .address = 1, .count = 2, .type = 3, .who = Who::kRoot},
    .root = 5,
    .comm = 6,
    .in_place = InPlace::kSend,
    .in_place_input = Amount::kOne};

inline constexpr Shape kReduceScatter{
    .send = {.amount = Amount::kSum, .address = 0, .count = 2, .type = 3, .peers = Peers::kLocal},
    .receive =
        {.amount = Amount::kOwnCount, .address = 1, .count = 2, .type = 3, .peers = Peers::kLocal},
    .comm = 5,
    .in_place = InPlace::kSend,
    .in_place_input = Amount::kSum};

inline constexpr Shape kReduceScatterBlock{
    .send =
        {.amount = Amount::kBlocks, .address = 0, .count = 2, .type = 3, .peers = Peers::kLocal},
    .receive =
        {.amount = Amount::kOne, .address = 1, .count = 2, .type = 3, .peers = Peers::kLocal},
    .comm = 5,
    .in_place = InPlace::kSend,
    .in_place_input = Amount::kBlocks};

inline constexpr Shape kReduceLocal{
    .send = {.amount = Amount::kOne, .address = 0, .count = 2, .type = 3},
    .receive = {.amount = Amount::kOne, .address = 1, .count = 2, .type = 3},
    .keeps_receive = true};

// A neighbour that is MPI_PROC_NULL leaves its block of the receive buffer as it is.
consteval Shape neighborly(Shape shape) {
    shape.send.peers = Peers::kDestinations;
    shape.receive.peers = Peers::kSources;
    shape.in_place = InPlace::kNowhere;
    shape.keeps_receive = true;
    return shape;
}

inline constexpr Shape kNeighborAllgather = neighborly(kAllgather);
inline constexpr Shape kNeighborAllgatherv = neighborly(kAllgatherv);
inline constexpr Shape kNeighborAlltoall = neighborly(kAlltoall);
inline constexpr Shape kNeighborAlltoallv = neighborly(kAlltoallv);
inline constexpr Shape kNeighborAlltoallw = neighborly(kAlltoallw);

}  // namespace beeline::plugin::coll
