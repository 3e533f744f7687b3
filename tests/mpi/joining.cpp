// SPDX-License-Identifier: BSD-3-Clause
// Processes that meet after MPI_Init: MPI_Comm_spawn, and MPI_Comm_accept with MPI_Comm_connect.
//   joining [host] [device] [managed]
#include <string>

#include "harness.hpp"

namespace beeline::test {
namespace {

constexpr std::size_t kSizes[] = {0, 40, 3000, 20000, 300000};
constexpr std::size_t kLargest = 300000;

/// Both sides of `bridge` send to the rank with their number on the other side, all at once.
void exchange(Harness& harness, gpu::Kind kind, MPI_Comm bridge, bool low, const char* what) {
    int me = 0;
    int remote = 0;
    MPI_Comm_rank(bridge, &me);
    MPI_Comm_remote_size(bridge, &remote);
    if (me >= remote) {
        return;
    }
    Area out(harness.gpu.get(), kind, kLargest);
    Area in(harness.gpu.get(), kind, kLargest);
    for (const std::size_t bytes : kSizes) {
        const auto seed = [&](bool side) {
            return bench::make_seed(static_cast<unsigned>(bytes), side ? 1 : 2,
                                    static_cast<unsigned>(me), 9);
        };
        out.set(bytes, 1, seed(low));
        in.poison(bytes, 2, 77);
        MPI_Status status;
        MPI_Sendrecv(out.data(), static_cast<int>(bytes), MPI_BYTE, me, 4, in.data(),
                     static_cast<int>(bytes), MPI_BYTE, MPI_ANY_SOURCE, 4, bridge, &status);
        in.expect(bytes, seed(!low));
        harness.check(in.intact() && status.MPI_SOURCE == me, "%s: %zu bytes in %s memory", what,
                      bytes, gpu::to_string(kind));
    }
}

void all_kinds(Harness& harness, MPI_Comm bridge, bool low, const char* what) {
    for (const gpu::Kind kind : harness.kinds) {
        exchange(harness, kind, bridge, low, what);
    }
    // Through one group as well: the ranks of both sides know each other by new numbers.
    MPI_Comm merged = MPI_COMM_NULL;
    MPI_Intercomm_merge(bridge, low ? 0 : 1, &merged);
    int sum = 0;
    int one = 1;
    int size = 0;
    MPI_Comm_size(merged, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, merged);
    harness.check(sum == size, "%s: %d of %d ranks in the merged group", what, sum, size);
    MPI_Comm_free(&merged);
}

void spawn(Harness& harness, char** argv) {
    MPI_Comm children = MPI_COMM_NULL;
    std::vector<int> errors(static_cast<std::size_t>(harness.ranks), MPI_SUCCESS);
    const int result = MPI_Comm_spawn(argv[0], argv + 1, harness.ranks, MPI_INFO_NULL, 0,
                                      MPI_COMM_WORLD, &children, errors.data());
    harness.check(result == MPI_SUCCESS, "MPI_Comm_spawn: error %d", result);
    if (result == MPI_SUCCESS) {
        all_kinds(harness, children, true, "parent");
        MPI_Comm_disconnect(&children);
    }
}

/// The lower half of the ranks opens a port, the upper half connects to it.
void meet(Harness& harness) {
    const int half = (harness.ranks + 1) / 2;
    const bool low = harness.rank < half;
    MPI_Comm mine = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, low ? 0 : 1, harness.rank, &mine);
    for (int round = 0; round < 2; ++round) {
        char port[MPI_MAX_PORT_NAME] = "";
        MPI_Comm bridge = MPI_COMM_NULL;
        if (harness.rank == 0) {
            MPI_Open_port(MPI_INFO_NULL, port);
        }
        MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
        if (low) {
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, mine, &bridge);
        } else {
            MPI_Comm_connect(port, MPI_INFO_NULL, 0, mine, &bridge);
        }
        all_kinds(harness, bridge, low, low ? "accept" : "connect");
        MPI_Comm_disconnect(&bridge);
        if (harness.rank == 0) {
            MPI_Close_port(port);
        }
    }
    MPI_Comm_free(&mine);
}

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    beeline::test::Harness harness(&argc, &argv);
    MPI_Comm parent = MPI_COMM_NULL;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        beeline::test::all_kinds(harness, parent, false, "child");
        MPI_Comm_disconnect(&parent);
        return harness.finish();
    }
    beeline::test::spawn(harness, argv);
    if (harness.ranks > 1) {
        beeline::test::meet(harness);
    }
    beeline::test::spawn(harness, argv);
    return harness.finish();
}
