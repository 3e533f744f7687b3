#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every collective by every algorithm on 1 to 8 ranks; fewer samples where ranks must share a processor.
#   BEELINE_LONG=1: more samples, other seeds, and many small allgathers on 24 ranks
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
program=$top_builddir/tests/mpi/coll_matrix

check() {
    ranks=$1
    shift
    "$top_srcdir/tests/support/mpirun.sh" --gpus 2 --timeout 280 -n "$ranks" "$program" "$@" device
}

if [ -n "${BEELINE_LONG:-}" ]; then
    for seed in 11 12 13 14; do
        for ranks in 1 2 3 4 5 8; do
            check "$ranks" cases 20 seed "$seed"
        done
    done
    check 24 allgathers 100
    exit 0
fi
check 1 cases 6 seed 1
check 2 cases 10 seed 2
check 3 cases 8 seed 3
check 4 cases 8 seed 4
check 5 cases 5 seed 5
check 8 cases 3 seed 8
