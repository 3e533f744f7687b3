#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The receiver may keep half as many mappings as the sender exports, so that it has to make room itself
# before the sender tells it to close any.
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
"$top_srcdir/tests/support/mpirun.sh" --gpus 2 --timeout 240 -n 2 \
    "$top_srcdir/tests/support/per_rank.sh" "" OMPI_MCA_pml_beeline_ipc_cache_entries=128 -- \
    "$top_builddir/tests/mpi/memory_growth"
