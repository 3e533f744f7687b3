#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Memory that comes and goes; registrations and openings that the driver refuses at some time or other.
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
program=$top_builddir/tests/mpi/memory_reuse
run() {
    "$top_srcdir/tests/support/mpirun.sh" --gpus 2 --timeout 100 --mca mpi_yield_when_idle 1 "$@"
}
run -n 8 "$program" halo
SOFTCUDA_SPARSE=65536 run -n 4 "$program" bcast
run -n 2 "$program" same_address
run -n 2 "$program" managed_pool
(
    ulimit -n 200
    SOFTCUDA_IPC=leak run -n 2 "$program" leak
)
# The n-th registration of a process is refused, then all from there on; by both ways that register.
for nth in 1 2 3; do
    SOFTCUDA_FAULT=cuMemHostRegister:$nth:2 run --mca pml_beeline_cuda_ipc 0 -n 3 "$program" halo
    SOFTCUDA_FAULT=cuMemHostRegister:$nth+:2 run --mca pml_beeline_cuda_ipc 0 -n 3 "$program" halo
done
