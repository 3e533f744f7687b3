#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
exec "$top_srcdir/tests/support/run_ranks.sh" rma_host "2 4" host
