#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Device memory that cannot be registered goes through the host, with one warning a process that says what is missing.
. "$top_srcdir/tests/rdma/lib.sh"

program=$BEELINE_BUILD/tests/rdma/registrations
run() { hosts 100 2 --mca pml_beeline_report 1 "$@"; }

# Root may pin what it likes, unless it gives up that right.
small_memlock() {
    run -- setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock bash -c 'ulimit -l 64; exec "$@"' bash "$@"
}
expect "a memlock limit of 64 KiB" '^1048576 .* staged +yes' small_memlock "$bench" latency -d cuda --sizes 64K,1M -i 5
expect_count 2 'beeline.*memlock'

few_descriptors() { run -- bash -c 'ulimit -n 64; exec "$@"' bash "$@"; }
expect "64 descriptors" '^OK' few_descriptors "$program" many 300 70000 device

# Device memory that stays out of reach, as without nvidia-peermem (EFAULT), and a device that has no GPUDirect RDMA.
SOFTCUDA_GPUDIRECT=1 SOFTCUDA_HOST_ACCESS='' expect "no peer memory module" '^1048576 .* staged +yes' \
    run -- "$bench" latency -d cuda --sizes 64K,1M -i 5
expect_count 2 'cannot reach memory.*nvidia-peermem'
SOFTCUDA_HOST_ACCESS='' expect "a device without GPUDirect RDMA" '^1048576 .* staged +yes' \
    run -- "$bench" latency -d cuda --sizes 64K,1M -i 5
finish
