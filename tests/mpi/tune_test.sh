#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# beeline-tune: measures every schedule, writes a file that jobs accept and that decides in them, and refuses what it
# cannot do. What is fastest is not asked: the machine may be busy.
set -euo pipefail
export BEELINE_BUILD=$top_builddir
[ -x "$top_builddir/beeline-tune" ] || { echo "skipped: beeline-tune was not built"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { cat "$work/out"; echo "FAIL: $*"; exit 1; }
mpirun() { "$top_srcdir/tests/support/mpirun.sh" --gpus 2 --timeout 60 "$@" >"$work/out" 2>&1; }
tune() { mpirun "$@" -o "$work/made" || fail "exit code of tune"; }
tuner=$top_builddir/beeline-tune
few="--milliseconds 1 --rounds 2"

# The lines of what was measured name every algorithm that two ranks can run, and host copies.
# shellcheck disable=SC2086
tune -n 3 "$tuner" --ranks 2,3 --collective allreduce --collective gather --min 1K --max 64K --step 8 $few
[ "$(grep -c '^allreduce  *2 ranks' "$work/out")" = 3 ] || fail "not three sizes on 2 ranks"
[ "$(grep -c '^gather  *3 ranks' "$work/out")" = 3 ] || fail "not three sizes on 3 ranks"
for name in staged $("$top_builddir/beeline-plan" show allreduce --ranks 2 --bytes 1K |
    awk '/^candidate/ {on = 1; next} /^chosen/ {on = 0} on && !/refused/ && !/^fused/ && !/^staged/ {print $1}'); do
    [ "$(grep '^allreduce  *2 ranks' "$work/out" | grep -c " $name [0-9]")" = 3 ] || fail "$name was not measured"
done
[ "$(head -n 1 "$work/made")" = "beeline-tuning 1" ] || fail "the file's first line"
# For each collective and number of ranks the rules cover all bytes from 0, and the last has no end.
for key in 'collective=allreduce ranks=2 ' 'collective=allreduce ranks=3 ' 'collective=gather ranks=2 ' \
    'collective=gather ranks=3 '; do
    grep "^rule $key" "$work/made" | grep -q ' bytes=0-' || fail "no rule from 0 bytes for $key"
    grep "^rule $key" "$work/made" | tail -n 1 | grep -q ' bytes=[0-9]*- ' || fail "no rule without an end for $key"
done

# Jobs accept the file; the same file with other winners changes what serves.
bench() {
    mpirun --mca coll_beeline_report 1 --mca coll_beeline_tuning_file "$1" -n 2 "$top_builddir/beeline-bench" allreduce \
        -d cuda --sizes 8192 -i 5 || fail "exit code with $1"
}
"$top_builddir/beeline-plan" show allreduce --ranks 2 --bytes 8K --tuning "$work/made" >"$work/out" ||
    fail "beeline-plan refuses the file"
grep -q 'by a rule of the tuning file, line' "$work/out" || fail "no rule decided in beeline-plan"
bench "$work/made"
for name in bruck rabenseifner; do
    sed "s/algorithm=[a-z_]*.*/algorithm=$name/;/collective=gather/d" "$work/made" >"$work/$name"
    bench "$work/$name"
    grep -q "allreduce by $name: " "$work/out" || fail "the rules for $name did not decide"
done

# What was measured for one kind of memory is not for the other; and what it cannot do it says.
complain() {
    want=$1
    shift
    ! mpirun "$@" -o "$work/none" || fail "no error: $want"
    grep -q "beeline-tune: .*$want" "$work/out" || fail "not said: $want"
    [ ! -e "$work/none" ] || fail "a file was written"
}
complain 'add --mca coll_beeline_memory host' -n 2 "$tuner" --memory host
complain 'must not be set' --mca coll_beeline_tuning_file "$work/made" -n 2 "$tuner"
complain 'must be from 2 to' -n 2 "$tuner" --ranks 3
complain 'two ranks' -n 1 "$tuner"
! mpirun -n 2 "$tuner" --collective bcast --min 1K --max 1K --milliseconds 1 --rounds 1 -o "$work/no/such/folder" ||
    fail "no error where the file cannot be written"
# shellcheck disable=SC2086
tune --mca coll_beeline_memory host -n 2 "$tuner" --memory host --collective bcast --min 1K --max 8K $few
grep -q '^rule collective=bcast ranks=2 ' "$work/made" || fail "no rule for host memory"
echo OK
