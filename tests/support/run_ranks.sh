#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs one MPI test program: on host memory without any driver, then on every kind of memory with virtual GPUs.
#   run_ranks.sh PROGRAM "2 4" [KINDS...]   kinds default to host device managed; "host" alone skips the second part
set -eu
program=$1
ranks=$2
shift 2
[ $# -gt 0 ] || set -- host device managed

launch="$top_srcdir/tests/support/mpirun.sh"
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
for n in $ranks; do
    "$launch" --timeout 120 -n "$n" "$top_builddir/tests/mpi/$program" host
    [ "$*" = host ] || "$launch" --gpus 2 --timeout 240 -n "$n" "$top_builddir/tests/mpi/$program" "$@"
done
