#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What the built libraries show to a process: each component its one MCA symbol, libbeeline.so only names of ours.
set -u
: "${top_builddir:=$PWD}"
status=0
missing=

# defined FILE: the dynamic symbols it defines, one a line, without versions.
defined() {
    nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort -u
}
# locate NAME: the built library's path.
locate() {
    find "$top_builddir" -name "$1" -path '*/.libs/*' 2>/dev/null | head -n 1
}

# Where libbeeline.so lies once installed, it does not lie in the build tree.
core=$(locate libbeeline.so)
if [ -n "$core" ]; then
    LD_LIBRARY_PATH=$(dirname "$core")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
fi

for name in pml coll; do
    file=$(locate "mca_${name}_beeline.so")
    [ -n "$file" ] || { missing="$missing mca_${name}_beeline.so"; continue; }
    found=$(defined "$file")
    if [ "$found" != "mca_${name}_beeline_component" ]; then
        echo "$file shows more, or less, than mca_${name}_beeline_component:"
        printf '%s\n' "$found"
        status=1
    fi
    if ldd -r "$file" 2>&1 | grep -E 'not found|undefined symbol'; then
        echo "$file needs a library or a symbol that is not there"
        status=1
    fi
done

file=$core
if [ -z "$file" ]; then
    missing="$missing libbeeline.so"
else
    # Functions, variables and their type information in namespace beeline; thunks and guards of them.
    strangers=$(defined "$file" | grep -Ev '^_Z(N[VK]*|T[VISTC]N[VK]*|G[VR]N[VK]*|GVZN[VK]*|ZN[VK]*|T[hvc][0-9n_]+_N[VK]*)7beeline')
    if [ -n "$strangers" ]; then
        echo "$file shows names outside namespace beeline:"
        printf '%s\n' "$strangers"
        status=1
    fi
    # Looked for at run time, so that machines without them can run it.
    if readelf -d "$file" | grep -E 'NEEDED.*(libcuda|libibverbs|librdmacm|libmlx5)' ||
        nm -D --undefined-only "$file" | grep -E ' (ibv_|_ibv_|cu[A-Z])'; then
        echo "$file is linked to what must be looked for at run time"
        status=1
    fi
    if [ "$(defined "$file" | wc -l)" -eq 0 ]; then
        echo "$file shows nothing: the components could not use it"
        status=1
    fi
fi

# What is not built cannot pass: a failure stands, anything less is a skip.
if [ -n "$missing" ]; then
    echo "not built below $top_builddir:$missing"
    [ $status -ne 0 ] || status=77
fi
exit $status
