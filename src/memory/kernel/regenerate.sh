#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes source_hash.h and runs.ptx from runs.inc and runs.cu:  regenerate.sh NVCC [OUTPUT-DIRECTORY]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
nvcc=$(command -v "$1")
out=${2:-$here}
hash=$(cat "$here/runs.inc" "$here/runs.cu" | sha256sum | cut -c1-16)
cat > "$out/source_hash.h" <<HEADER
// SPDX-License-Identifier: BSD-3-Clause
// Made by regenerate.sh: names the kernel that identifies the sources of the kernels.
#pragma once
#define BEELINE_SOURCE_KERNEL beeline_runs_$hash
HEADER
compiler=$("$nvcc" --version | sed -n 's/.*release \(.*\), V.*/\1/p')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/runs.cu" "$here/runs.inc" "$out/source_hash.h" "$work/"
(cd "$work" && "$nvcc" -ptx -arch=compute_75 -std=c++17 runs.cu -o runs.ptx)
{
    echo "// SPDX-License-Identifier: BSD-3-Clause"
    echo "// Made by regenerate.sh with nvcc $compiler from sources $hash"
    # As for the reductions: nothing here is newer than PTX 6.3, and older drivers then take it too.
    sed -e '/^\/\//d' -e '/^[[:space:]]*$/d' -e 's/^\.version .*/.version 6.3/' "$work/runs.ptx"
} > "$work/named.ptx"
"$(dirname "$nvcc")/ptxas" -arch=sm_75 "$work/named.ptx" -o "$work/runs.cubin"
cp "$work/named.ptx" "$out/runs.ptx"
