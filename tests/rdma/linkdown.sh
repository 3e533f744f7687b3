#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A link goes down in the middle of a transfer. With a second rail the messages go on over that one; without, over the
# ordinary network or to an error that names the peer, but not to a hang. Bytes are right, and a link that comes back works.
. "$top_srcdir/tests/rdma/lib.sh"

# cut_link DEVICE: waits until packets flow on the first rail, then takes the far end's interface down.
cut_link() {
    local from
    from=$(counter rxe0 sent_pkts)
    for _ in $(seq 400); do
        [ "$(($(counter rxe0 sent_pkts) - from))" -lt 1000 ] || break
        sleep 0.1
    done
    echo "cut after $(($(counter rxe0 sent_pkts) - from)) packets" >"$work/cut"
    ip link set "$1" down
}

restore() {
    ip link set "$1" up
    for _ in $(seq 50); do
        [ "$(cat /sys/class/infiniband/rxe"${1#v}"/ports/1/state)" != "4: ACTIVE" ] || break
        sleep 0.1
    done
    # What an interface loses by going down.
    ip -6 address add "fd00:9:$((${1#v} / 2))::$((${1#v} % 2 + 1))/64" dev "$1" nodad 2>/dev/null
    ip -6 route replace "fd00:9:$((${1#v} / 2))::$((2 - ${1#v} % 2))/128" dev "$1" table $((100 + ${1#v}))
}

# transfer RAILS: with a link noticed as dead after some 1.3 s (4.096 us * 2^16, five times). Soft-RoCE takes 7 retries for
# "for ever".
transfer() {
    RDMA_RAILS=$1 hosts 120 2 --mca pml_beeline_report 1 --mca pml_beeline_rdma_timeout 16 \
        --mca pml_beeline_rdma_retries 4 -- \
        "$bench" bw -d cuda --sizes 1M -i 20 -W 4
}

# during TEXT RAILS DEVICE: a transfer in which the device's link is cut
during() {
    cut_link "$3" &
    expect "$1" '^1048576 .* yes' transfer "$2"
    expect_no ' NO$'
    grep -qE '[1-9][0-9]* rails broken' "$work/output" || verdict "$1" "no rail was given up"
    wait
    cat "$work/cut"
    restore "$3"
}

during "with a second rail" 2 v1
expect "after the link is back" '^1048576 .* rdma +yes' hosts 60 2 -- "$bench" bw -d cuda --sizes 1M -i 5 -W 4
during "with one rail" 1 v1
during "the near end, with a second rail" 2 v0
expect "after that link is back" '^1048576 .* rdma +yes' hosts 60 2 -- "$bench" bw -d cuda --sizes 1M -i 5 -W 4
finish
