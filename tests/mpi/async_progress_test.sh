#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Messages that complete during computation (pml_beeline_async_progress), by each path.
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
program=$top_builddir/tests/mpi/async_progress

launch() { "$top_srcdir/tests/support/mpirun.sh" "$@"; }
on="--mca pml_beeline_async_progress 1"

launch -n 2 "$program" host --without
launch -n 2 $on "$program" host
launch -n 2 $on --mca pml_beeline_protocol rendezvous_shm "$program" host  # beyond the limit that goes with it
launch --gpus 2 -n 2 --mca pml_beeline_async_progress 0 "$program" device --without
launch --gpus 2 -n 2 $on "$program" host device managed
launch --gpus 1 -n 2 $on "$program" host device --threads
launch --gpus 2 -n 2 $on --mca pml_beeline_cuda_ipc 0 "$program" device
launch --gpus 2 -n 2 $on --mca pml_beeline_shm 0 "$program" host device
# What works without the thread works with it.
launch --gpus 2 -n 4 $on "$top_builddir/tests/mpi/p2p_rules" host device
launch --gpus 2 -n 3 $on "$top_builddir/tests/mpi/threads" host device --rounds 6
