#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every header compiles alone: whoever includes it needs nothing before it.
set -u
: "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${top_builddir:=$PWD}"
: "${CXX:=g++ -std=c++20}"
: "${HEADER_FLAGS:=}"
cd "$top_srcdir" || exit 1
list=$(find src coll plugin tests/support -name '*.hpp' | LC_ALL=C sort)
if [ -z "$list" ]; then
    echo "no headers below $top_srcdir"
    exit 1
fi
export top_srcdir top_builddir CXX HEADER_FLAGS
printf '%s\n' "$list" | xargs -P 2 -I '{}' sh -c '
    $CXX $HEADER_FLAGS -I"$top_builddir" -I"$top_srcdir" -I"$top_srcdir/src" \
        -I"$top_srcdir/src/cuda/api" -I"$top_srcdir/tests" \
        -fsyntax-only -x c++ - <<END || { echo "does not compile alone: {}"; exit 1; }
#include "{}"
#include "{}"
END
'
