#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Open MPI's structures seen from C and from C++, and its datatypes as Beeline's layouts.
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
exec "$top_srcdir/tests/support/mpirun.sh" --stack ob1 -n 1 "$top_builddir/tests/mpi/layouts"
