#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Many short jobs whose last message is a barrier: one that is lost shows once in many.
. "$top_srcdir/tests/mpi/peers_lib.sh"
for job in 1 2 3 4 5 6 7 8 9 10 11 12; do
    "$launch" --gpus 2 --timeout 30 -n 2 "$top_builddir/tests/mpi/endings" barrier_last >"$output" 2>&1 ||
        fail "job $job of 12: exit code $?"
    [ ! -s "$output" ] || fail "job $job of 12 had something to say"
done
finish
