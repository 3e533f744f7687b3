#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A network that delays, loses, doubles and reorders packets: all messages arrive, and right.
. "$top_srcdir/tests/rdma/lib.sh"
modprobe sch_netem || { echo "no sch_netem in this kernel"; exit 77; }

# under NETEM-WORDS...: both directions of both rails from now on.
under() {
    local device
    for device in v0 v1 v2 v3; do
        tc qdisc replace dev $device root netem limit 10000 "$@"
    done
}

clear_network() {
    local device
    for device in v0 v1 v2 v3; do
        tc qdisc delete dev $device root 2>/dev/null
    done
}

# Lost packets are sent again after 33 ms.
run() { hosts 100 2 --mca pml_beeline_rdma_timeout 13 -- "$bench" "$@"; }

for network in "delay 5ms" "loss 3%" "delay 2ms reorder 25% 50%" "duplicate 2%"; do
    # shellcheck disable=SC2086
    under $network
    before=$(counter rxe0 sent_pkts)
    expect "latency with $network" '^262144 .* rdma +yes' run latency -d cuda --sizes 64K,256K -i 3
    expect_no ' NO$'
    expect "bandwidth with $network" '^262144 .* rdma +yes' run bw -d cuda --sizes 256K -i 2 -W 4
    expect_no ' NO$'
    [ "$(($(counter rxe0 sent_pkts) - before))" -ge 1000 ] || verdict "traffic with $network" "too few packets on the rail"
done
clear_network
finish
