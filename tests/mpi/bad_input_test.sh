#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What the user reads when something is wrong with the parameters, the machine or the driver.
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
rules=$top_builddir/tests/mpi/p2p_rules
matrix=$top_builddir/tests/mpi/p2p_matrix
bench=$top_builddir/beeline-bench
output=$(mktemp)
trap 'rm -f "$output"' EXIT
failures=0

launch() { "$top_srcdir/tests/support/mpirun.sh" "$@" >"$output" 2>&1; }

fail() {
    failures=$((failures + 1))
    echo "FAIL: $1; the output was:"
    cat "$output"
}

# expect TEXT PATTERN...: every pattern is in the output.
expect() {
    text=$1
    shift
    for pattern in "$@"; do
        grep -q -e "$pattern" "$output" || fail "$text: no '$pattern'"
    done
}

# expect_lines TEXT COUNT PATTERN
expect_lines() {
    [ "$(grep -c -e "$3" "$output")" -eq "$2" ] || fail "$1: not $2 lines with '$3'"
}

for value in 7 65537 banana; do
    launch -n 2 --mca pml_beeline_eager_limit $value "$rules" host || true
    expect "eager limit $value" pml_beeline_eager_limit "'$value'" "64 to 65536"
done
launch -n 2 --mca coll_beeline_allreduce_algorithm fastest "$rules" host || true
expect "an unknown algorithm" coll_beeline_allreduce_algorithm "'fastest'" "auto|staged|one_shot|"
for component in pml coll; do
    launch -n 2 --mca ${component}_beeline_eagre_limit 64 "$rules" host &&
        fail "an unknown parameter of $component was taken"
    expect "an unknown parameter" "${component}_beeline_eagre_limit is unknown" "has: priority, "
done

# Without a GPU and without libcuda: a host PML that has nothing to say.
launch -n 2 "$rules" host || fail "host buffers without a driver"
expect "host buffers without a driver" "^OK p2p_rules"
# Where /sys is missing hwloc and UCX complain; that is not ours.
[ "$(grep -vc -e '^\[hwloc/' -e 'UCX  ERROR' "$output")" -eq 1 ] || fail "a host-only run printed something"

# A GPU asked for and none there.
if launch -n 2 "$bench" latency -d cuda -m 8:8; then
    fail "beeline-bench -d cuda without a GPU succeeded"
fi
expect_lines "no GPU" 1 "^beeline-bench:"
expect "no GPU" "libcuda.so.1"
if SOFTCUDA_DEVICES=0 launch --gpus 1 -n 2 env SOFTCUDA_DEVICES=0 "$bench" latency -d cuda -m 8:8; then
    fail "beeline-bench -d cuda with 0 devices succeeded"
fi
expect_lines "0 devices" 1 "^beeline-bench:"

# A handle that cannot be opened: the data takes the other path, and each rank says so once.
SOFTCUDA_FAULT='cuIpcOpenMemHandle:1+:217'
export SOFTCUDA_FAULT
launch --gpus 2 -x SOFTCUDA_FAULT -n 2 "$bench" latency -d cuda -m 1M:1M || fail "no IPC: wrong data"
expect "no IPC" "^1048576 .* staged  *yes"
expect_lines "no IPC" 2 "cuIpcOpenMemHandle failed with CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"
launch --gpus 2 -x SOFTCUDA_FAULT -n 2 --timeout 200 "$matrix" host device managed || fail "no IPC: matrix"

[ "$failures" -eq 0 ]
