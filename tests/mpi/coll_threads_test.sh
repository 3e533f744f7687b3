#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
exec "$top_srcdir/tests/support/run_ranks.sh" coll_threads "2 3"
