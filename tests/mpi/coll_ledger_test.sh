#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Launches and copies of every algorithm are those of its schedule.
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
for ranks in 2 4; do
    "$top_srcdir/tests/support/mpirun.sh" --gpus 2 --timeout 100 -n $ranks "$top_builddir/tests/mpi/coll_ledger" device
done
