#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Random programs on 2, 4 and 5 ranks: host and device memory, small limits so that sends wait, no shared memory,
# and the model itself against Open MPI's own ob1.
set -eu
launch="$top_srcdir/tests/support/mpirun.sh"
program="$top_builddir/tests/mpi/p2p_random"
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD

"$launch" --stack ob1 --timeout 120 -n 4 "$program" host --programs 40 --truncate 0
for n in 2 4 5; do
    "$launch" --timeout 120 -n $n "$program" host --programs 100 --seed $n
    "$launch" --gpus 2 --timeout 240 -n $n "$program" host device managed --programs 60 --seed 1$n
done
"$launch" --gpus 2 --timeout 240 --mca pml_beeline_shm_cells 16 --mca pml_beeline_shm_slots 4 \
    --mca pml_beeline_shm_chunks 2 --mca pml_beeline_eager_limit 500 --mca pml_beeline_device_eager_limit 100 \
    --mca pml_beeline_fragments_limit 5000 --mca pml_beeline_staging_chunk 4096 --mca pml_beeline_staging_depth 2 \
    --mca pml_beeline_ipc_cache_entries 2 -n 4 "$program" host device managed --programs 30 --seed 20
"$launch" --gpus 2 --timeout 240 --mca pml_beeline_cuda_ipc 0 -n 3 "$program" host device --programs 30 --seed 21
"$launch" --gpus 2 --timeout 240 --mca pml_beeline_shm 0 -n 2 "$program" host device --programs 30 --seed 22
