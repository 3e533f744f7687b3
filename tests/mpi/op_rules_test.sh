#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Against Open MPI's plain functions: those of op/avx treat NaNs and equal zeros in whole vectors in another way than
# in the elements that remain.
exec "$top_srcdir/tests/support/mpirun.sh" --stack ob1 -n 1 --mca op ^avx tests/mpi/op_rules
