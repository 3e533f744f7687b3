#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every order of MPI_Finalize and the end of the GPU, on one rank and on three; none may fail or say anything.
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
failed=0

quiet() { # RANKS GPUS [CASE]
    n=$1
    gpus=$2
    shift 2
    status=0
    said=$("$top_srcdir/tests/support/mpirun.sh" --gpus "$gpus" --timeout 60 -n "$n" \
        "$top_builddir/tests/mpi/endings" "$@" 2>&1) || status=$?
    if [ $status -ne 0 ] || [ -n "$said" ]; then
        printf 'FAIL endings %s on %s ranks: exit code %s and this output:\n%s\n' "$*" "$n" $status "$said"
        failed=1
    fi
}

for n in 1 3; do
    quiet $n 0
    quiet $n 2
    for name in nothing reset reset_and_go_on one_side_resets release free_before free_after reset_after \
        destroyed_context freed_requests freed_receives leaves_early importer_last barrier_last; do
        quiet $n 2 $name
    done
done
exit $failed
