#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The committed PTX and hash belong to the fused kernels' sources; with nvcc, the PTX is what it makes of them.
set -eu
kernels=$srcdir/coll/kernel
hash=$(cat "$kernels"/*.inc "$kernels/fused.hpp" "$kernels/fused.cu" | sha256sum | cut -c1-16)
images="fused_floating.ptx fused_integer.ptx fused_logical.ptx fused_pair.ptx fused_small.ptx"
for file in fused_source_hash.h $images; do
    if ! grep -q "beeline_fused_source_$hash" "$kernels/$file"; then
        echo "$file is not made from these sources ($hash): run make regenerate-ptx where nvcc is" >&2
        exit 1
    fi
done
nvcc=$(sed -n 's/^NVCC = //p' Makefile)
made_with=$(sed -n 's/^\/\/ Made by regenerate_fused.sh with nvcc \([^ ]*\) .*/\1/p' "$kernels/fused_integer.ptx")
if [ -z "$nvcc" ] || ! "$nvcc" --version | grep -q "release $made_with,"; then
    echo "nvcc $made_with is not here: the PTX was not compiled again"
    exit 0
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$kernels/regenerate_fused.sh" "$nvcc" "$out"
for file in fused_source_hash.h $images; do
    cmp "$out/$file" "$kernels/$file"
done
