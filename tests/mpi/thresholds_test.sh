#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Sizes around the limits of the defaults, and around limits set to odd values.
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
launch="$top_srcdir/tests/support/mpirun.sh"
program=$top_builddir/tests/mpi/thresholds

for n in 2 4 5; do
    "$launch" --timeout 60 -n $n "$program" host
    "$launch" --gpus 2 --timeout 120 -n $n "$program" host device managed
done
for option in "" "--mca pml_beeline_cuda_ipc 0" "--mca pml_beeline_shm 0"; do
    # shellcheck disable=SC2086 # several words on purpose
    "$launch" --gpus 2 --timeout 120 --mca pml_beeline_eager_limit 777 --mca pml_beeline_device_eager_limit 333 --mca pml_beeline_device_ucx_eager_limit 555 \
        --mca pml_beeline_fragments_limit 10007 --mca pml_beeline_ucx_eager_limit 1111 \
        --mca pml_beeline_staging_chunk 5001 --mca pml_beeline_staging_depth 3 --mca pml_beeline_shm_chunks 3 \
        $option -n 2 "$program" host device 333 777 1111 5001 10007 15003
done
