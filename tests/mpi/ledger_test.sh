#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Driver calls counted by SoftCUDA; see ledger.cpp.
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
for scenario in "repeat device" "reuse device" "small device" "init host" "no-gpu host"; do
    echo "scenario: $scenario"
    # shellcheck disable=SC2086 # two words on purpose
    "$top_srcdir/tests/support/mpirun.sh" --gpus 2 --timeout 120 -n 2 "$top_builddir/tests/mpi/ledger" $scenario
done
