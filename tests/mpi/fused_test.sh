#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Allreduce by one kernel; see fused.cpp.
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# check SERVED-BY MPIRUN-ARGUMENTS PROGRAM SCENARIO: the report must say so ("": that it was not fused).
check() {
    by=$1
    shift
    echo "$*"
    "$top_srcdir/tests/support/mpirun.sh" --gpus 4 --timeout 100 --mca coll_beeline_report 1 "$@" device > "$out" 2>&1 ||
        { cat "$out"; exit 1; }
    grep "^OK" "$out"
    if [ -n "$by" ]; then
        grep -q "allreduce by $by: " "$out" || { cat "$out"; echo "not served by $by"; exit 1; }
    elif grep "allreduce by fused" "$out"; then
        echo "was fused"
        exit 1
    fi
}

program=$top_builddir/tests/mpi/fused
one="--mca coll_beeline_allreduce_algorithm fused_one_shot"
two="--mca coll_beeline_allreduce_algorithm fused_two_shot"
# shellcheck disable=SC2086 # several words on purpose
{
    check fused_one_shot -n 2 $one "$program" matrix
    check fused_one_shot -n 3 $one "$program" matrix
    check fused_two_shot -n 4 $two "$program" matrix
    check fused_two_shot -n 2 $two "$program" repeat
    check fused_one_shot -n 3 $one "$program" repeat
    # The cost model takes it where every rank has a GPU, and passes it over where ranks share one.
    check fused_one_shot -n 2 --mca coll_beeline_fused 1 "$program" ledger
    check fused_one_shot -n 4 --mca coll_beeline_fused 1 "$program" ledger
    check fused_one_shot -n 2 --mca coll_beeline_fused 1 "$program" host_only
    check "" -n 5 --mca coll_beeline_fused 1 "$program" matrix
    # Ranks that were told different things agree on schedules.
    check "" -n 2 "$top_srcdir/tests/support/per_rank.sh" OMPI_MCA_coll_beeline_fused=1 "" -- "$program" matrix
    # A vector that no workspace has room for, and a peer that cannot be mapped.
    check "" -n 2 --mca coll_beeline_fused_workspace 65536 --mca coll_beeline_allreduce_algorithm ring "$program" matrix
    check "" -n 2 $one -x SOFTCUDA_FAULT=cuIpcGetMemHandle:1+:201 "$program" matrix
}

# A rank that does not come.
echo missing
# shellcheck disable=SC2086
"$top_srcdir/tests/support/mpirun.sh" --gpus 4 --timeout 60 -n 3 $one --mca coll_beeline_fused_timeout 2 \
    "$program" missing device > "$out" 2>&1 || { cat "$out"; exit 1; }
grep "^OK" "$out"
grep -q "nothing came from rank 2 for 2 s in step 1" "$out" || { cat "$out"; exit 1; }
