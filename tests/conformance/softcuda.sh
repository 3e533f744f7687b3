#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs the conformance suite on SoftCUDA as built in the current build folder, with two virtual GPUs
# that reach each other, then the cases about peers once more without a link between them, those
# about pointers with device memory that the host may touch, and those about dma-bufs with them.
set -eu

directory=$PWD/.libs
if [ ! -e "$directory/libcuda.so.1" ]; then
    echo "no SoftCUDA in $directory: run this from the build folder after make"
    exit 77
fi
export LD_LIBRARY_PATH="$directory${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export SOFTCUDA_DEVICES=2 SOFTCUDA_QUIET=1
SOFTCUDA_TOPOLOGY=nvlink ./beeline-conformance
SOFTCUDA_TOPOLOGY=none ./beeline-conformance peer.
SOFTCUDA_HOST_ACCESS=1 ./beeline-conformance pointer.
SOFTCUDA_DMA_BUF=1 ./beeline-conformance virtual.dma_buf
