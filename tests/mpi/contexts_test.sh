#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The caller's context, by every path between two virtual GPUs: CUDA IPC, staged, and without shared memory.
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
for n in 1 2 3; do
    "$top_srcdir/tests/support/mpirun.sh" --gpus 2 --timeout 60 -n $n "$top_builddir/tests/mpi/contexts"
done
for option in cuda_ipc shm; do
    "$top_srcdir/tests/support/mpirun.sh" --gpus 2 --timeout 60 --mca pml_beeline_$option 0 -n 2 \
        "$top_builddir/tests/mpi/contexts"
done
