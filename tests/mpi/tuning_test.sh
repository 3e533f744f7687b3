#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tuning files in a job: a rule decides on all ranks; where ranks have other files one warning says so, and all choose
# alike by the built-in model.
set -euo pipefail
export BEELINE_BUILD=$top_builddir
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bench=$top_builddir/beeline-bench

fail() { cat "$work/out"; echo "FAIL: $*"; exit 1; }
run() {
    "$top_srcdir/tests/support/mpirun.sh" --gpus 2 --timeout 60 --mca coll_beeline_report 1 "$@" \
        "$bench" allreduce -d cuda --sizes 1048576 -i 5 >"$work/out" 2>&1 || fail "exit code of $*"
    grep -q '^1048576 .* scheduled  *yes' "$work/out" || fail "wrong data"
}
# on_all N ALGORITHM: that many ranks served the benchmark by it
on_all() {
    [ "$(grep -c "allreduce by $2: " "$work/out")" = "$1" ] || fail "not by $2 on $1 ranks"
}

printf 'beeline-tuning 1\nrule collective=allreduce bytes=1M algorithm=ring slices=2\n' >"$work/ring"
printf 'beeline-tuning 1\nrule collective=allreduce algorithm=bruck\n' >"$work/bruck"
run --mca coll_beeline_tuning_file "$work/ring" -n 3
on_all 3 ring
[ "$(grep -c 'differ in coll_beeline_tuning_file' "$work/out")" = 0 ] || fail "a warning about equal files"

# Of three ranks one has another file.
run -n 3 "$top_srcdir/tests/support/per_rank.sh" \
    "OMPI_MCA_coll_beeline_tuning_file=$work/ring" "OMPI_MCA_coll_beeline_tuning_file=$work/bruck" \
    "OMPI_MCA_coll_beeline_tuning_file=$work/ring" --
! grep 'allreduce by \(ring\|bruck\): ' "$work/out" >/dev/null || fail "a file of some ranks decided"
warnings=$(grep -c 'ranks 0 and 1 of communicator .* differ in coll_beeline_tuning_file' "$work/out") || fail "no warning"
[ "$warnings" = 1 ] || fail "$warnings warnings"
chosen=$("$top_builddir/beeline-plan" show allreduce --ranks 3 --bytes 1M | sed -n 's/^chosen: \([a-z_]*\),.*/\1/p')
on_all 3 "$chosen"

# The same content under another name is the same.
cp "$work/ring" "$work/copy"
run -n 2 "$top_srcdir/tests/support/per_rank.sh" \
    "OMPI_MCA_coll_beeline_tuning_file=$work/ring" "OMPI_MCA_coll_beeline_tuning_file=$work/copy" --
on_all 2 ring
! grep -q 'differ in' "$work/out" || fail "a warning about equal files"
echo OK
