#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
"$top_srcdir/tests/support/mpirun.sh" --gpus 2 --timeout 240 -n 2 "$top_builddir/tests/mpi/memory_growth"
