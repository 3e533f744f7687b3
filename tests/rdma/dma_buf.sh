#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Registration by dma-buf: refused by Soft-RoCE, and with a card that takes it.
. "$top_srcdir/tests/rdma/lib.sh"
cd "$BEELINE_BUILD" || exit 1
if [ ! -x tests/rdma/dma_buf ]; then
    echo "tests/rdma/dma_buf is not built (make check does, where GoogleTest is installed)"
    exit 77
fi
expect "registration by dma-buf" 'PASSED.* 2 tests' "$BEELINE_BUILD/tests/rdma/dma_buf"
finish
