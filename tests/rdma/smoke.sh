#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The guest itself: its devices, verbs between them by either kind of GID, and MPI between its hosts, without Beeline.
. "$top_srcdir/tests/rdma/lib.sh"

expect "four devices with active ports" 'PORT_ACTIVE' ibv_devinfo
expect_count 4 'state:.*PORT_ACTIVE'
before=$(counter rxe0 sent_pkts)
for gid in 1 2; do
    expect "ping-pong on the first rail, GID $gid" 'bytes in .* Mbit/sec' pair \
        "ibv_rc_pingpong -d rxe1 -g $gid -n 50" "ibv_rc_pingpong -d rxe0 -g $gid -n 50 127.0.0.1"
done
expect "it went over the rail" '^[0-9]' echo "$(($(counter rxe0 sent_pkts) - before))"
[ "$(($(counter rxe0 sent_pkts) - before))" -ge 200 ] || verdict "packets of the first rail" "too few were counted"
if [ -z "$RDMA_QUICK" ]; then
    expect "ping-pong on the second rail" 'bytes in .* Mbit/sec' pair \
        "ibv_rc_pingpong -d rxe3 -g 1 -n 50" "ibv_rc_pingpong -d rxe2 -g 1 -n 50 127.0.0.1"
fi
GPUS=0 STACK=ob1 expect "mpirun starts a rank on each host" '^rdma-b$' hosts 30 2 -- hostname
expect_count 1 '^rdma-a$'
if [ -z "$RDMA_QUICK" ]; then
    GPUS=0 STACK=ucx RDMA_UCX=rc expect "Open MPI's pml ucx over Soft-RoCE" '^65536 .* yes$' \
        hosts 60 2 -- "$bench" latency -m 64K:64K -i 20
fi
finish
