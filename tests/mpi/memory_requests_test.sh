#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
for case in rounds freed mixed threads; do
    "$top_srcdir/tests/support/mpirun.sh" --gpus 2 --timeout 100 -n 2 "$top_builddir/tests/mpi/memory_requests" $case
done
