#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes source_hash.h and reduce_FAMILY.ptx from *.inc and reduce.cu:  regenerate.sh NVCC [OUTPUT-DIRECTORY]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
nvcc=$(command -v "$1")
out=${2:-$here}
hash=$(cat "$here/elements.inc" "$here/reduce.inc" "$here/reduce.cu" | sha256sum | cut -c1-16)
cat > "$out/source_hash.h" <<END
// SPDX-License-Identifier: BSD-3-Clause
// Made by regenerate.sh: names the kernel that identifies the sources of the kernels.
#pragma once
#define BEELINE_SOURCE_KERNEL beeline_source_$hash
END
compiler=$("$nvcc" --version | sed -n 's/.*release \(.*\), V.*/\1/p')
# The copy of the header just made must win over the one beside the sources.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/reduce.cu" "$here/elements.inc" "$here/reduce.inc" "$out/source_hash.h" "$work/"
for family in integer logical floating small pair; do
    macro=BEELINE_FAMILY_$(echo $family | tr '[:lower:]' '[:upper:]')
    # No fused multiply-add: products must round as they do on the CPU.
    (cd "$work" && "$nvcc" -ptx -arch=compute_75 -std=c++17 -fmad=false -DBEELINE_FAMILY="$macro" reduce.cu \
        -o reduce.ptx)
    {
        echo "// SPDX-License-Identifier: BSD-3-Clause"
        echo "// Made by regenerate.sh with nvcc $compiler from sources $hash"
        # Blank lines and the compiler's own comments carry nothing. The kernels use nothing newer than PTX 6.3, the
        # first with sm_75; saying so lets drivers older than this compiler take them. ptxas checks the claim.
        sed -e '/^\/\//d' -e '/^[[:space:]]*$/d' -e 's/^\.version .*/.version 6.3/' "$work/reduce.ptx"
    } > "$work/named.ptx"
    "$(dirname "$nvcc")/ptxas" -arch=sm_75 "$work/named.ptx" -o "$work/reduce.cubin"
    cp "$work/named.ptx" "$out/reduce_$family.ptx"
done
