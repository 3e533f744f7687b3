#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every collective on device memory, on several numbers of ranks, with each schedule, and over a PML that knows
# nothing of device memory.
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD

check() {
    "$top_srcdir/tests/support/mpirun.sh" --gpus 2 --timeout 200 "$@" "$top_builddir/tests/mpi/collectives"
}

check -n 2
check -n 3
check -n 4
check -n 4 --mca coll_beeline_allreduce_algorithm ring
check -n 3 --mca coll_beeline_allreduce_algorithm staged
check --stack coll -n 3
