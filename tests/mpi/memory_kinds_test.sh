#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every kind of memory to every other; then where descriptors are off, where the driver refuses them on either side, and
# where nothing but the host is left.
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
run() {
    "$top_srcdir/tests/support/mpirun.sh" --gpus 2 --timeout 240 "$@"
}
program=$top_builddir/tests/mpi/memory_kinds
# Whatever a driver is odd about: handles are asked for from the start of an allocation only, and only of memory that
# can have one.
output=$(mktemp)
trap 'rm -f "$output"' EXIT
code=0
SOFTCUDA_IPC=base,hollow run -n 2 "$program" >"$output" 2>&1 || code=$?
cat "$output"
[ "$code" -eq 0 ]
if grep -q '\] beeline: ' "$output"; then
    echo "FAIL: nothing was to be said of these kinds of memory"
    exit 1
fi
run --mca pml_beeline_cuda_descriptors 0 -n 2 "$program" cuda_bounce
SOFTCUDA_FAULT=cuMemImportFromShareableHandle:1+:801,cuMemPoolExportToShareableHandle:1+:801 \
    run -n 2 "$program" cuda_bounce
run --mca pml_beeline_cuda_descriptors 0 --mca pml_beeline_cuda_bounce 0 -n 2 "$program" staged
