#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Loads both components from the build tree in a process that has nothing but libmpi.
set -u
: "${top_builddir:=$PWD}"
components=
for name in mca_pml_beeline.so mca_coll_beeline.so; do
    file=$(find "$top_builddir" -name "$name" -path '*/.libs/*' 2>/dev/null | head -n 1)
    [ -n "$file" ] || { echo "$name is not built below $top_builddir"; exit 77; }
    components="$components $file"
done
core=$(find "$top_builddir" -name libbeeline.so -path '*/.libs/*' 2>/dev/null | head -n 1)
if [ -n "$core" ]; then
    LD_LIBRARY_PATH=$(dirname "$core")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
fi
# shellcheck disable=SC2086
"$top_builddir/tests/load/load_components" $components
