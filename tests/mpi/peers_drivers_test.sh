#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Ranks with a CUDA driver beside ranks without one, with one that they do not use, or that they load late.
. "$top_srcdir/tests/mpi/peers_lib.sh"
none="LD_LIBRARY_PATH= LD_PRELOAD="

# with TEXT GPUS "ENVIRONMENT" "ENVIRONMENT" PLACES...
with() {
    text=$1 gpus=$2 first=$3 second=$4
    shift 4
    n=$#
    [ "$1" != --allreduce ] || n=$((n - 1))
    job "$text" "$gpus" -n $n "$per_rank" "$first" "$second" -- "$peers" "$@"
    has '^OK'
    quiet
}

with "no libcuda on rank 1" 2 "" "$none" gpu0 host
by 0 staged && by 1 staged
with "no libcuda on rank 0" 2 "$none" "" host gpus
with "no libcuda on rank 0 of three" 2 "$none" "" host gpu0 gpu1
by 1 cuda_ipc && by 2 cuda_ipc
with "a driver and no context" 2 "" "" gpu1 driver
with "a driver that nobody uses" 2 "" "" driver driver
by 0 shm && lacks staged
with "a driver on the path that is not loaded" 2 "" "" host host
by 0 shm && lacks staged

# The driver appears after a hundred messages, by dlopen(RTLD_LOCAL): on one side, on both.
with "late on rank 0" 2 "" "" late host
by 0 staged
with "late on rank 1" 2 "" "" gpu1 late
by 0 cuda_ipc && by 1 cuda_ipc
with "late everywhere" 2 "" "" late late
by 0 cuda_ipc && by 1 cuda_ipc && lacks staged
with "late beside no libcuda" 2 "$none" "" host late late
by 1 cuda_ipc && by 2 cuda_ipc

# Collectives: what a rank has decides nothing that the others must know.
with "allreduce, no libcuda on rank 1" 2 "" "$none" --allreduce gpu0 host
with "allreduce, host, driver and device" 2 "" "" --allreduce host driver gpu1
finish
