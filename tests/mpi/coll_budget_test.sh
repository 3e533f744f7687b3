#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Driver calls and memory of collectives on data in blocks: by schedules, and on host copies.
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
program=$top_builddir/tests/mpi/coll_budget
"$top_srcdir/tests/support/mpirun.sh" --gpus 2 --timeout 60 -n 2 "$program" device
"$top_srcdir/tests/support/mpirun.sh" --gpus 2 --timeout 60 -n 3 --mca coll_beeline_alltoall_algorithm pairwise \
    "$program" device
"$top_srcdir/tests/support/mpirun.sh" --gpus 2 --timeout 60 -n 2 --mca coll_beeline_alltoall_algorithm staged \
    --mca coll_beeline_bcast_algorithm staged "$program" staged device
