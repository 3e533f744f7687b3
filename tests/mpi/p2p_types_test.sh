#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
exec "$top_srcdir/tests/support/run_ranks.sh" p2p_types "2 4 5"
