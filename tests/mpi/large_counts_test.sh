#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Messages beyond 2 and 4 GiB by every path, in memory that is mostly untouched.
set -eu
BEELINE_BUILD=$top_builddir
SOFTCUDA_SPARSE=65536
SOFTCUDA_MEMORY=17179869184
export BEELINE_BUILD SOFTCUDA_SPARSE SOFTCUDA_MEMORY
program=$top_builddir/tests/mpi/large_counts

launch() { "$top_srcdir/tests/support/mpirun.sh" "$@"; }

# The ways through the host take all of it: with as few chunks as possible.
staged="--mca pml_beeline_cuda_ipc 0 --mca pml_beeline_staging_chunk 16M --mca mpi_yield_when_idle 1"

launch -n 2 "$program" host
launch --gpus 2 -n 2 "$program" host device
launch --gpus 1 -n 2 "$program" device --one
launch --gpus 2 -n 2 $staged "$program" device --one
launch --gpus 2 -n 2 $staged "$program" host device --one
launch --gpus 2 -n 2 $staged --mca pml_beeline_shm 0 "$program" device --one
launch --gpus 2 -n 2 "$program" host device --dense
