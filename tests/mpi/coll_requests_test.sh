#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Requests of collectives that outlive their communicator, memory that is refused on one rank, MPI_BOTTOM.
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
for scenario in freed_communicator refused bottom root no_wait; do
    echo "scenario: $scenario"
    "$top_srcdir/tests/support/mpirun.sh" --gpus 2 --timeout 60 -n 3 "$top_builddir/tests/mpi/coll_requests" $scenario \
        device
done
