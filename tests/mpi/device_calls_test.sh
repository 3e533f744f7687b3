#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Collectives and packing calls on device memory that need their own checks; then the report, and a failing copy.
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
program=$top_builddir/tests/mpi/device_calls
output=$(mktemp)
trap 'rm -f "$output"' EXIT

launch() { "$top_srcdir/tests/support/mpirun.sh" --gpus 2 --timeout 120 "$@"; }

fail() {
    echo "FAIL: $1; the output was:"
    cat "$output"
    exit 1
}

launch -n 1 "$program" device
launch --stack coll -n 3 "$program" device
launch -n 4 --mca coll_beeline_allreduce_algorithm ring "$program" device

# The report says which way each call took, by which algorithm, and all ranks took the same.
launch -n 4 --mca coll_beeline_report 1 "$program" device >"$output" 2>&1 || fail "with a report"
grep '^OK' "$output" || fail "no verdict"
for rank in 0 1 2 3; do
    grep -q "rank $rank: iallreduce  *0  *0  *16$" "$output" || fail "the report of rank $rank lacks iallreduce"
done
[ "$(grep ': allreduce  ' "$output" | sed 's/.*: allreduce//' | sort -u | wc -l)" -eq 1 ] ||
    fail "ranks served allreduce in different ways"
grep -q 'rank 0: allreduce  *0  *[0-9]*  *[1-9]' "$output" || fail "no schedule was used"
[ "$(grep -c 'rank 0: allreduce by [a-z_]*: [1-9]' "$output")" -ge 2 ] || fail "not two algorithms were used"
[ "$(grep ' by [a-z_]*: [0-9]' "$output" | sed 's/.*rank [0-9]: //' | sort | uniq -c | grep -vc '^ *4 ')" -eq 0 ] ||
    fail "ranks used different algorithms"

# A copy that fails is an MPI error that says which call, why and where.
SOFTCUDA_FAULT='cuMemcpyAsync:1+:700'
export SOFTCUDA_FAULT
# The launcher joins two ranks' errors into one, is told not to, and still now and then loses both: once more then.
for attempt in 1 2 3; do
    if launch --stack coll -n 2 --mca orte_base_help_aggregate 0 -x SOFTCUDA_FAULT "$program" device \
        >"$output" 2>&1; then
        fail "failing copies went unnoticed"
    fi
    grep -q 'show_help.c' "$output" && [ "$attempt" -lt 3 ] || break
done
grep -q 'iallreduce: copying from the device buffer 0x' "$output" || fail "the failing copy was not named"
grep -q 'MPI_Iallreduce' "$output" || fail "no MPI error"
