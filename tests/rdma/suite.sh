#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Device memory between two hosts by RDMA: the benchmark's figures validated and their path, then the point-to-point and
# collective matrices. With RDMA_QUICK the smaller part of each.
. "$top_srcdir/tests/rdma/lib.sh"

quick() { [ -n "$RDMA_QUICK" ]; }
sizes=$(quick && echo 64K,1M || echo 8,4K,64K,1M,16M)
bytes=$(quick && echo 1048576 || echo 16777216)

expect "latency, device memory" "^$bytes .* rdma +yes" hosts 90 2 -- "$bench" latency -d cuda --sizes "$sizes" -i 5
expect_no ' NO$'
expect "bandwidth, device memory" "^$bytes .* rdma +yes" hosts 90 2 -- "$bench" bw -d cuda --sizes "$sizes" -i 2 -W 4
expect_no ' NO$'
expect "allreduce, device memory" "^1048576 .* yes" hosts 90 2 -- "$bench" allreduce -d cuda --sizes "$sizes" -i 3
expect_no ' NO$'
if ! quick; then
    expect "bidirectional bandwidth" "^1048576 .* rdma +yes" hosts 90 2 -- "$bench" bibw -d cuda --sizes 64K,1M -i 2 -W 4
    expect "device to host memory" "^1048576 .* yes" hosts 90 2 -- "$bench" latency -d cuda D H --sizes 8,64K,1M -i 5
    expect "host to device memory" "^1048576 .* yes" hosts 90 2 -- "$bench" latency -d cuda H D --sizes 8,64K,1M -i 5
    expect "two ranks a host" "^1048576 .* yes" hosts 120 4 -- "$bench" allreduce -d cuda --sizes 8,64K,1M -i 2
    expect "reads in place of writes" "^1048576 .* rdma +yes" hosts 90 2 --mca pml_beeline_protocol rdma_read -- \
        "$bench" latency -d cuda --sizes 64K,1M -i 5
    RDMA_RAILS=1 expect "one rail" "^1048576 .* rdma +yes" hosts 90 2 -- "$bench" latency -d cuda --sizes 64K,1M -i 5
    expect "three queue pairs on each rail" '^1048576 .* rdma +yes' hosts 90 2 --mca pml_beeline_rdma_pairs 3 -- \
        "$bench" bw -d cuda --sizes 64K,1M -i 3 -W 4
    expect_no ' NO$'
    expect "stripes over two rails" '^pml/beeline rank 0: rail rxe2:1: .* [1-9][0-9]{6,} bytes written' \
        hosts 90 2 --mca pml_beeline_report 1 -- "$bench" latency -d cuda --sizes 8M -i 3
    expect_no ' NO$'
fi
# Inside the hosts by CUDA IPC, between them each GPU's part by its own rank's card.
expect "hierarchical allreduce, two ranks a host: by RDMA between them" '^262144 .* yes' hosts 120 4 \
    --mca coll_beeline_allreduce_algorithm hierarchical --mca coll_beeline_report 1 --mca pml_beeline_report 1 -- \
    "$bench" allreduce -d cuda --sizes 256K -i 1 -x 1
expect_no ' NO$'
expect_line 'coll/beeline .*hierarchical'
for rank in 0 1 2 3; do
    expect_line "pml/beeline rank $rank: rail .* [1-9][0-9]{5,} bytes written"
    expect_no "pml/beeline rank $rank: (staged|ucx) +[0-9]+ +[0-9]{6,}"
done
expect "matching rules" '^OK' hosts 120 2 -- "$BEELINE_BUILD/tests/mpi/p2p_rules" host device
expect "collectives" '^OK' hosts 200 2 -- "$BEELINE_BUILD/tests/mpi/coll_matrix" cases "$(quick && echo 1 || echo 4)" seed 31 device
quick || expect "point-to-point programs at random" '^OK' hosts 200 2 -- "$BEELINE_BUILD/tests/mpi/p2p_random" --programs 5 --seed 5 host device
finish
