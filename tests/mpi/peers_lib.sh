# SPDX-License-Identifier: BSD-3-Clause
# What the tests of unlike ranks share; read by peers_*_test.sh, not run.
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
launch=$top_srcdir/tests/support/mpirun.sh
per_rank=$top_srcdir/tests/support/per_rank.sh
peers=$top_builddir/tests/mpi/peers
output=$(mktemp)
trap 'rm -f "$output"' EXIT
failures=0

fail() {
    failures=$((failures + 1))
    echo "FAIL: $1; the output was:"
    cat "$output"
}

# job TEXT GPUS MPIRUN-ARGUMENTS...: runs a job with a report and expects it to succeed.
job() {
    text=$1
    gpus=$2
    shift 2
    "$launch" --gpus "$gpus" --timeout 60 --mca pml_beeline_report 1 "$@" >"$output" 2>&1 || fail "$text: exit code $?"
}

# Of the last job: a line with PATTERN is there; none is; exactly COUNT are.
has() { grep -q -e "$1" "$output" || fail "$text: no line with '$1'"; }
lacks() { ! grep -q -e "$1" "$output" || fail "$text: there is a line with '$1'"; }
lines() { [ "$(grep -c -e "$2" "$output")" -eq "$1" ] || fail "$text: not $1 lines with '$2'"; }
# Beeline had nothing to say.
quiet() { lacks '\] beeline: '; }
# Rank RANK sent by PATH.
by() { has "rank $1: $2 "; }

finish() { [ "$failures" -eq 0 ] || exit 1; }
