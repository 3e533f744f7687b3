#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every collective by every algorithm on 1 to 8 ranks; fewer samples where ranks must share a processor. At the end every
# algorithm must have run, on device memory, host memory and a mixture.
#   BEELINE_LONG=1: more samples, other seeds, and many small allgathers on 24 ranks
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
list=$(mktemp)
trap 'rm -f "$list" "$list".*' EXIT
program=$top_builddir/tests/mpi/coll_matrix

check() {
    ranks=$1
    shift
    "$top_srcdir/tests/support/mpirun.sh" --gpus 2 --timeout 280 -n "$ranks" "$program" "$@" list "$list" device
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
check 8 cases 4 seed 8
sed -n 's/^wanted //p' "$list" | sort -u > "$list".wanted
sed -n 's/^ran //p' "$list" | sort -u > "$list".ran
echo "$(wc -l < "$list".ran) of $(wc -l < "$list".wanted) pairs of an algorithm and a kind of memory"
never=$(comm -23 "$list".wanted "$list".ran)
[ -z "$never" ] || { echo "never ran:"; echo "$never"; exit 1; }
