#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
set -eu
for ranks in 1 2 4; do
    "$top_srcdir/tests/support/spawning.sh" "$top_srcdir/tests/support/run_ranks.sh" joining $ranks
done
