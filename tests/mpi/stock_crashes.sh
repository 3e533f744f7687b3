#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Shows the problem: a program that sends device memory dies under Open MPI as it comes, without
# Beeline. Passes only if mpirun fails and names a segmentation fault. Run from the build folder.
set -u

directory=$PWD/.libs
mpirun=$(command -v mpirun) || mpirun=
if [ -z "$mpirun" ] || [ ! -x tests/mpi/problem ] || [ ! -e "$directory/libcuda.so.1" ]; then
    echo "skipped: needs mpirun (found: ${mpirun:-none}), tests/mpi/problem and SoftCUDA in $directory"
    exit 77
fi

output=$(mktemp)
trap 'rm -f "$output"' EXIT
unset LD_PRELOAD
export LD_LIBRARY_PATH="$directory${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export SOFTCUDA_DEVICES=2 SOFTCUDA_QUIET=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Core files of the expected crash help no one.
ulimit -c 0

# A Beeline that is installed in Open MPI's own component directory stays out as well.
timeout --kill-after=5 60 "$mpirun" -n 2 --oversubscribe --bind-to none \
    --mca pml '^beeline' --mca coll '^beeline' tests/mpi/problem >"$output" 2>&1
status=$?

if [ "$(grep -c 'is ready' "$output")" -ne 2 ]; then
    echo "FAIL: the ranks did not come as far as sending:"
    cat "$output"
    exit 1
fi
if [ "$status" -eq 0 ] || grep -q delivered "$output"; then
    echo "FAIL: the message arrived (exit code $status): this Open MPI is CUDA-aware without Beeline"
    cat "$output"
    exit 1
fi
if ! grep -qE 'signal 11|Segmentation fault' "$output"; then
    echo "FAIL: mpirun ended with $status, but not by a segmentation fault:"
    cat "$output"
    exit 1
fi
echo "stock Open MPI, device buffers: $(grep -m1 -oE 'signal 11 \(Segmentation fault\)|Segmentation fault' "$output"), exit code $status"
