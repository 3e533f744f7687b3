#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Registering device memory with the device: once, not too much, anew after a free, and what happens where it is refused.
. "$top_srcdir/tests/rdma/lib.sh"
need_rdma

run() { hosts 120 2 --mca pml_beeline_report 1 "$@"; }

# Device memory that no device may be given, as without nvidia-peermem: EFAULT.
SOFTCUDA_HOST_ACCESS='' expect "memory that cannot be registered" '^1048576 .* staged +yes' \
    run -- "$bench" latency -d cuda --sizes 64K,1M -i 5
finish
