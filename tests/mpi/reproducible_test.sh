#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# With coll_beeline_reproducible reductions give the same bits on device and host memory, with and without a GPU, by
# every algorithm that is asked for, in other pieces and by other protocols; without it they do not. On two nodes:
# two_nodes_test.sh.
set -euo pipefail
export BEELINE_BUILD=$top_builddir
out=$(mktemp)
trap 'rm -f "$out"' EXIT
program=$top_builddir/tests/mpi/reproducible

# digest MPIRUN-ARGUMENTS PROGRAM ...: of a run that must be good
digest() {
    "$top_srcdir/tests/support/mpirun.sh" --timeout 60 "$@" >"$out" 2>&1 || { cat "$out" >&2; exit 1; }
    grep -q '^OK' "$out" || { cat "$out" >&2; exit 1; }
    sed -n 's/^digest //p' "$out"
}

wanted=
same() {
    got=$(digest --gpus 2 --mca coll_beeline_reproducible 1 "$@")
    echo "$got: $*"
    [ "${wanted:=$got}" = "$got" ] || { echo "FAIL: other bits"; exit 1; }
}

same -n 4 "$program" device host
echo "$wanted" >"${BEELINE_DIGEST_FILE:-/dev/null}"
for word in staged two_shot ring hierarchical pat; do
    same --mca coll_beeline_allreduce_algorithm $word -n 4 "$program" device
done
same --mca coll_beeline_allreduce_algorithm fused_two_shot -n 4 "$program" device
same --mca coll_beeline_reduce_algorithm binomial --mca coll_beeline_reduce_scatter_algorithm bruck \
    --mca coll_beeline_scan_algorithm recursive_doubling -n 4 "$program" device
same --mca pml_beeline_staging_chunk 65536 --mca pml_beeline_cuda_ipc 0 -n 4 "$program" device
same --mca pml_beeline_shm 0 -n 4 "$program" host
# Without a GPU anywhere.
got=$(digest --mca coll_beeline_reproducible 1 -n 4 "$program" host)
[ "$got" = "$wanted" ] || { echo "FAIL: other bits without a GPU"; exit 1; }

# The data shows differences.
declare -A seen=()
for word in ring recursive_doubling one_shot; do
    seen[$(digest --gpus 2 --mca coll_beeline_allreduce_algorithm $word -n 4 "$program" device)]=1
done
[ "${#seen[@]}" -eq 3 ] || { echo "FAIL: the order of operands makes no difference"; exit 1; }
echo "OK $wanted"
