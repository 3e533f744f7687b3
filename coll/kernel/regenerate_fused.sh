#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes fused_source_hash.h and fused_FAMILY.ptx from the kernels' sources:  regenerate_fused.sh NVCC [OUTPUT-DIRECTORY]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
nvcc=$(command -v "$1")
out=${2:-$here}
hash=$(cat "$here"/*.inc "$here/fused.hpp" "$here/fused.cu" | sha256sum | cut -c1-16)
cat > "$out/fused_source_hash.h" <<END
// SPDX-License-Identifier: BSD-3-Clause
// Made by regenerate_fused.sh: names the kernel that identifies the sources of the fused kernels.
#pragma once
#define BEELINE_FUSED_SOURCE_KERNEL beeline_fused_source_$hash
END
compiler=$("$nvcc" --version | sed -n 's/.*release \(.*\), V.*/\1/p')
# The copy of the header just made must win over the one beside the sources.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/*.inc "$here/fused.cu" "$here/fused.hpp" "$out/fused_source_hash.h" "$work/"
for family in integer logical floating small pair; do
    macro=BEELINE_FAMILY_$(echo $family | tr '[:lower:]' '[:upper:]')
    # No fused multiply-add: products must round as they do on the CPU.
    (cd "$work" && "$nvcc" -ptx -arch=compute_75 -std=c++17 -fmad=false --expt-relaxed-constexpr \
        -DBEELINE_FAMILY="$macro" fused.cu -o fused.ptx)
    {
        echo "// SPDX-License-Identifier: BSD-3-Clause"
        echo "// Made by regenerate_fused.sh with nvcc $compiler from sources $hash"
        # As regenerate.sh: nothing newer than PTX 6.3 is used.
        sed -e '/^\/\//d' -e '/^[[:space:]]*$/d' -e 's/^\.version .*/.version 6.3/' "$work/fused.ptx"
    } > "$work/named.ptx"
    "$(dirname "$nvcc")/ptxas" -arch=sm_75 "$work/named.ptx" -o "$work/fused.cubin"
    cp "$work/named.ptx" "$out/fused_$family.ptx"
done
