#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every protocol by force: the data is right, the report names the path, and the trace says why.
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
bench=$top_builddir/beeline-bench
matrix=$top_builddir/tests/mpi/p2p_matrix
output=$(mktemp)
trap 'rm -f "$output"' EXIT
failures=0

fail() {
    failures=$((failures + 1))
    echo "FAIL: $1; the output was:"
    cat "$output"
}

# takes PROTOCOL MEMORY BYTES PATH [MPIRUN-ARGUMENTS...]: one message size goes this way.
takes() {
    protocol=$1 memory=$2 bytes=$3 path=$4
    shift 4
    "$top_srcdir/tests/support/mpirun.sh" --gpus 2 -n 2 --mca pml_beeline_protocol "$protocol" \
        --mca pml_beeline_report 1 "$@" "$bench" latency -d "$memory" -m "$bytes:$bytes" -i 3 -x 1 \
        >"$output" 2>&1 || fail "$protocol, $bytes bytes: exit code $?"
    grep -q "^$bytes .* $path  *yes" "$output" || fail "$protocol, $memory, $bytes bytes: not by $path"
    grep -q "rank 0: $path  *[1-9]" "$output" || fail "$protocol, $memory: the report does not know $path"
}

takes auto cuda 8192 shm
takes auto cuda 8193 cuda_ipc
takes eager cuda 8192 shm --mca pml_beeline_cost_mapping 0
takes auto cuda 8192 cuda_ipc --mca pml_beeline_cost_mapping 0
takes auto cuda 16384 shm --mca pml_beeline_device_eager_limit 16384
takes rendezvous cuda 8 cuda_ipc
takes ipc_get cuda 8 cuda_ipc
takes ipc_put cuda 8 cuda_ipc_put
takes ipc_put cuda 1048576 cuda_ipc_put --mca pml_beeline_verbose 3
for pattern in "choice for 1048576 bytes from rank 0: ipc_put of ipc_get not (not offered by the sender), ipc_put [0-9.]* us" \
    "send, communicator 0, to rank 1, tag [0-9]*: 1048576 bytes of device memory by cuda_ipc_put (device memory reached"; do
    grep -q "$pattern" "$output" || fail "the trace lacks '$pattern'"
done
takes staged cuda 8 staged
takes staged cuda 1048576 staged
takes fragments host 1024 shm
takes rendezvous host 1024 shm
takes rendezvous_shm host 16777216 shm --mca pml_beeline_shm_limit 0
takes rendezvous_ucx host 1024 ucx
takes auto host 32768 shm
takes auto host 32769 shm
takes auto host 131073 ucx --mca pml_beeline_shm_limit 131072
takes auto host 1048576 ucx --mca pml_beeline_cost_cma_bandwidth 100000

# A GPU that only one side can reach: the receiver fails to open the sender's memory, the sender writes.
"$top_srcdir/tests/support/mpirun.sh" --gpus 2 --mca pml_beeline_report 1 \
    -n 1 "$bench" bw -d cuda -m 1M:1M -i 3 -x 1 : \
    -n 1 env SOFTCUDA_FAULT='cuIpcOpenMemHandle:1+:217' "$bench" bw -d cuda -m 1M:1M -i 3 -x 1 \
    >"$output" 2>&1 || fail "one-sided visibility: exit code $?"
grep -q "rank 0: cuda_ipc_put  *[1-9]" "$output" || fail "one-sided visibility: nothing was written"
grep -q "^1048576 .*yes" "$output" || fail "one-sided visibility: wrong data"

for protocol in ipc_put rendezvous rendezvous_ucx; do
    "$top_srcdir/tests/support/mpirun.sh" --gpus 2 --timeout 200 -n 2 --mca pml_beeline_protocol $protocol \
        "$matrix" host device managed >"$output" 2>&1 || fail "$protocol: matrix"
done
[ "$failures" -eq 0 ] && echo "OK protocols"
