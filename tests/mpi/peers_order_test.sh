#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Messages beside other work of the GPU, by every path between two GPUs.
. "$top_srcdir/tests/mpi/peers_lib.sh"
order=$top_builddir/tests/mpi/peers_order

for option in cuda_ipc shm nothing; do
    off=
    [ $option = nothing ] || off="--mca pml_beeline_$option 0"
    for case in early early_pool; do
        text="synchronous copies that return early ($case), without $option"
        # shellcheck disable=SC2086
        job "$text" 2 -x SOFTCUDA_DELAY=400 $off -n 2 "$order" $case
        has '^OK' && quiet
    done
    for stream in busy busy_default; do
        text="a $stream stream, without $option"
        # shellcheck disable=SC2086
        job "$text" 2 --mca pml_beeline_default_stream_wait 20 $off -n 2 "$order" $stream
        has '^OK'
    done
    # Said once by each process, where the default stream is the one that is busy.
    lines 2 'default stream was busy for 20 ms'
done

# An earlier kernel failed: with and without an answer to what the pointer is.
for entry in cuMemcpyAsync cuPointerGetAttributes; do
    text="a failed kernel, seen by $entry"
    job "$text" 2 --mca pml_beeline_cuda_ipc 0 -n 2 "$per_rank" SOFTCUDA_FAULT=$entry:1+:700 "" -- "$order" sticky
    has '^OK'
    lines 1 "$entry failed with CUDA_ERROR_ILLEGAL_ADDRESS"
    has "an error of earlier asynchronous work on the device"
done
finish
