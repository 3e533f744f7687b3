#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
exec "$top_srcdir/tests/support/run_ranks.sh" joining "1 2 4"
