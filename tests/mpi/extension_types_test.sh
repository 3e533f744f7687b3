#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The datatypes of beeline/types.h: reduced by kernels, by Beeline without a GPU, and by Open MPI alone.
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD

check() {
    "$top_srcdir/tests/support/mpirun.sh" "$@"
}

check --gpus 2 -n 2 tests/mpi/extension_types host device launches
check --gpus 2 -n 3 tests/mpi/extension_types host device managed launches
check -n 2 tests/mpi/extension_types host
check --stack ob1 -n 2 tests/mpi/extension_types host
