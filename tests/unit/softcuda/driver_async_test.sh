#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The driver's tests once more with every operation handed to a stream's worker thread.
SOFTCUDA_ASYNC=always
export SOFTCUDA_ASYNC
exec "$top_builddir/tests/unit/softcuda/driver_test" --gtest_brief=1
