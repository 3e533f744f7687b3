#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Allreduce on the software device when the driver refuses what the GPU engine wants.
set -eu
one_test=Ledger.RefusedMeansLeadToTheSameResult
export BEELINE_TEST_REFUSED=1
echo "no kernels:"
SOFTCUDA_KERNELS=/nonexistent tests/world/device_test --gtest_filter=$one_test
# The first allocation is the test's buffer, the second the scratch.
echo "no device memory for scratch:"
SOFTCUDA_FAULT=cuMemAlloc:2+:2 tests/world/device_test --gtest_filter=$one_test
