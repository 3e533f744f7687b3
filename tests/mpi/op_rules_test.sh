#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Against Open MPI's plain functions: those of op/avx treat whole vectors in another way than the elements that remain
# (NaNs and zeros of two signs in minima and maxima, sums of small integers that do not fit).
exec "$top_srcdir/tests/support/mpirun.sh" --stack ob1 -n 1 --mca op ^avx tests/mpi/op_rules
