#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The committed PTX and hash belong to the kernels' sources; with nvcc, the PTX is what it makes of them.
set -eu
kernels=$srcdir/coll/kernel
hash=$(cat "$kernels/elements.inc" "$kernels/reduce.inc" "$kernels/reduce.cu" | sha256sum | cut -c1-16)
images="reduce_floating.ptx reduce_integer.ptx reduce_logical.ptx reduce_pair.ptx reduce_small.ptx"
for file in source_hash.h $images; do
    if ! grep -q "beeline_source_$hash" "$kernels/$file"; then
        echo "$file is not made from these sources ($hash): run make regenerate-ptx where nvcc is" >&2
        exit 1
    fi
done
# The test runs in the top build directory, whose makefile knows what configure found.
nvcc=$(sed -n 's/^NVCC = //p' Makefile)
if [ -z "$nvcc" ]; then
    echo "no nvcc: the PTX was not compiled again"
    exit 0
fi
made_with=$(sed -n 's/^\/\/ Made by regenerate.sh with nvcc \([^ ]*\) .*/\1/p' "$kernels/reduce_integer.ptx")
if ! "$nvcc" --version | grep -q "release $made_with,"; then
    echo "nvcc is not the release $made_with that made the PTX: not compared"
    exit 0
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$kernels/regenerate.sh" "$nvcc" "$out"
for file in source_hash.h $images; do
    cmp "$out/$file" "$kernels/$file"
done
