#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The committed PTX and hash of the packing kernels belong to their sources; with nvcc, the PTX is what it makes of
# them.
set -eu
kernels=$srcdir/src/memory/kernel
hash=$(cat "$kernels/runs.inc" "$kernels/runs.cu" | sha256sum | cut -c1-16)
for file in source_hash.h runs.ptx; do
    if ! grep -q "beeline_runs_$hash" "$kernels/$file"; then
        echo "$file is not made from these sources ($hash): run make regenerate-ptx where nvcc is" >&2
        exit 1
    fi
done
# The test runs in the top build directory, whose makefile knows what configure found.
nvcc=$(sed -n 's/^NVCC = //p' Makefile)
made_with=$(sed -n 's/^\/\/ Made by regenerate.sh with nvcc \([^ ]*\) .*/\1/p' "$kernels/runs.ptx")
if [ -z "$nvcc" ] || ! "$nvcc" --version | grep -q "release $made_with,"; then
    echo "there is no nvcc of release $made_with, which made the PTX: not compared"
    exit 0
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$kernels/regenerate.sh" "$nvcc" "$out"
cmp "$out/runs.ptx" "$kernels/runs.ptx"
cmp "$out/source_hash.h" "$kernels/source_hash.h"
