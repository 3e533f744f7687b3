#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tools that use MPI_T before, around and inside MPI.
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
for async in 0 1; do
    "$top_srcdir/tests/support/mpirun.sh" -n 2 --mca pml_beeline_eager_limit 4321 \
        --mca pml_beeline_async_progress $async "$top_builddir/tests/mpi/tool_sessions"
done
