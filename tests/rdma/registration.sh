#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Registering device memory with the devices: once, not too much, and anew after a free.
. "$top_srcdir/tests/rdma/lib.sh"

program=$BEELINE_BUILD/tests/rdma/registrations
run() { hosts 150 2 --mca pml_beeline_report 1 "$@"; }

# made RANK: registrations that the report of the last run counts; one is of memory for the tests of connections.
made() { sed -n "s/^pml\/beeline rank $1: RDMA: .* \([0-9]*\) registrations made.*/\1/p" "$work/output"; }

expect "a buffer that is used again" '^OK' run -- "$program" repeat 40 1000000 device
for rank in 0 1; do
    [ "$(made $rank)" = 2 ] || verdict "  registered once by rank $rank" "$(made $rank) times"
done
expect_count 1 '^pml/beeline rank 0: rdma +40 '

expect "buffers that come back at the same address" '^OK' run -- "$program" again 20 1000000 device
for rank in 0 1; do
    [ "$(made $rank)" = 21 ] || verdict "  registered anew each time by rank $rank" "$(made $rank) times"
done
expect "allocations of all kinds that come and go" '^OK' run -- "$BEELINE_BUILD/tests/mpi/memory_reuse" same_address

# The most regions that the kernel holds for the device at a time, while a command runs.
most_regions() {
    local most=0 now
    while [ -e "$work/watching" ]; do
        now=$(rdma resource show rxe0 2>/dev/null | sed -n 's/.* mr \([0-9]*\).*/\1/p')
        [ "${now:-0}" -le "$most" ] || most=$now
        echo "$most" >"$work/most"
        sleep 0.2
    done
}
touch "$work/watching"
most_regions &
RDMA_RAILS=1 expect "10000 buffers, 200 of them registered at a time" '^OK' \
    hosts 400 2 --mca pml_beeline_rdma_registrations 200 -- "$program" many 10000 9000 device
rm "$work/watching"
wait
echo "      most regions of rxe0 at a time: $(cat "$work/most")"
# Slots and control memory are registered too.
if [ "$(cat "$work/most")" -gt 240 ] || [ "$(cat "$work/most")" -lt 150 ]; then
    verdict "  regions at a time" "$(cat "$work/most")"
fi
finish
