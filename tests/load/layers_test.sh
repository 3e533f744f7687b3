#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Checks the layer rule on the tree, and that the check sees breaches planted in a copy of it.
set -u
: "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
rule=$top_srcdir/tests/load/layers.awk

# check TREE: prints the breaches; fails when there are any.
check() {
    (cd "$1" && find src coll plugin -type f \
        \( -name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inc' \
        -o -name '*.def' \) -print | LC_ALL=C sort | xargs awk -f "$rule")
}

files=$(cd "$top_srcdir" && find src coll plugin -name '*.[ch]pp' | wc -l)
if [ "$files" -lt 10 ]; then
    echo "only $files source files found below $top_srcdir: the check would prove nothing"
    exit 1
fi
if ! check "$top_srcdir"; then
    echo "the layer rule is broken"
    exit 1
fi

copy=$(mktemp -d) || exit 1
trap 'rm -rf "$copy"' EXIT
trap 'exit 1' HUP INT TERM
cp -R "$top_srcdir/src" "$top_srcdir/coll" "$top_srcdir/plugin" "$copy" || exit 1
chmod -R u+w "$copy"

status=0
# plant FILE LINE: LINE in FILE must be found.
plant() {
    mkdir -p "$copy/$(dirname "$1")"
    echo "$2" >"$copy/$1"
    if found=$(check "$copy") || ! printf '%s\n' "$found" | grep -q "^$1:"; then
        echo "not noticed: $1 with $2"
        status=1
    fi
    rm "$copy/$1"
}
# welcome FILE LINE: LINE in FILE must not be found.
welcome() {
    mkdir -p "$copy/$(dirname "$1")"
    echo "$2" >"$copy/$1"
    if ! found=$(check "$copy"); then
        echo "wrongly refused: $found"
        status=1
    fi
    rm "$copy/$1"
}

plant src/base/planted.hpp '#include "config/config.hpp"'
plant src/config/planted.hpp '#include "wire/headers.hpp"'
plant src/wire/planted.cpp '#include "cuda/driver.hpp"'
plant src/match/planted.cpp '#include "config/config.hpp"'
plant src/match/planted.cpp '  #  include "datatype/layout.hpp"'
plant src/datatype/planted.cpp '#include "memory/cache.hpp"'
plant src/mover/shm/planted.cpp '#include "engine/engine.hpp"'
plant src/engine/planted.cpp '#include "coll/plan/schedule.hpp"'
plant src/engine/planted.cpp '#include "plugin/host.hpp"'
plant src/engine/planted.cpp '#include <mpi.h>'
plant src/engine/planted.cpp '#include "ompi/communicator/communicator.h"'
plant src/engine/planted.cpp '#include <opal/mca/base/base.h>'
plant src/mover/shm/planted.cpp '#include <ucp/api/ucp.h>'
plant src/mover/ucx/planted.cpp '#include <infiniband/verbs.h>'
plant src/mover/cuda_ipc/planted.cpp '#include <cuda.h>'
plant src/memory/planted.cpp '#include "cuda/../../coll/plan/schedule.hpp"'
plant src/engine/planted.cpp '#include "softcuda/device.hpp"'
plant src/memory/planted.cpp '#include "softcuda/device.hpp"'
plant src/memory/kernel/planted.cpp '#include "cuda/driver.hpp"'
plant src/engine/planted.cpp '#include <gtest/gtest.h>'
plant src/planted.hpp ''
plant src/novelty/planted.hpp ''
plant coll/plan/planted.cpp '#include "coll/exec/transport.hpp"'
plant coll/plan/planted.cpp '#include "config/config.hpp"'
plant coll/pattern/planted.cpp '#include "coll/plan/schedule.hpp"'
plant coll/exec/planted.cpp '#include "engine/engine.hpp"'
plant coll/select/planted.cpp '#include <mpi.h>'
plant plugin/pml/planted.cpp '#include "tests/support/uniform.hpp"'

welcome src/memory/planted.cpp '#include "cuda/driver.hpp"'
welcome src/cuda/planted.cpp '#include <cuda.h>'
welcome src/mover/ucx/planted.cpp '#include <ucp/api/ucp.h>'
welcome src/engine/planted.cpp '#include "match/matcher.hpp"'
welcome src/engine/planted.cpp '// #include "coll/plan/schedule.hpp"'
welcome coll/exec/planted.cpp '#include "coll/plan/schedule.hpp"'
welcome plugin/coll/planted.cpp '#include "ompi/mca/coll/coll.h"'
welcome plugin/coll/planted.cpp '#include "coll/exec/transport.hpp"'
exit $status
