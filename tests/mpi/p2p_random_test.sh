#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Random programs on 2, 4 and 5 ranks, held against the model and against Open MPI's own ob1 on host memory: every
# kind of memory, small limits so that sends wait, no shared memory, no IPC.
# BEELINE_RANDOM_PROGRAMS: programs of each of the runs (default 15); BEELINE_RANDOM_SEED: where they start.
set -eu
launch="$top_srcdir/tests/support/mpirun.sh"
program="$top_builddir/tests/mpi/p2p_random"
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
programs=${BEELINE_RANDOM_PROGRAMS:-15}
seed=${BEELINE_RANDOM_SEED:-1}
limit=$((120 + programs))
kinds="host device managed pinned registered pool vmm"
output=$(mktemp)
trap 'rm -f "$output"' EXIT

# run SEED MPIRUN.SH-ARGUMENTS...: leaves the digest of what arrived in $digest.
run() {
    from=$1
    shift
    "$launch" --timeout $limit "$@" --programs "$programs" --seed "$from" >"$output" 2>&1 || {
        cat "$output"
        exit 1
    }
    grep -e '^OK' -e ' of seed ' "$output"
    digest=$(sed -n 's/.*: digest //p' "$output")
}

# The same programs by both stacks: the same bytes and statuses.
for n in 2 4 5; do
    run "$seed$n" --stack ob1 -n $n "$program" host --truncate 0
    expected=$digest
    # shellcheck disable=SC2086 # the kinds are several words
    run "$seed$n" --gpus 2 -n $n "$program" $kinds --truncate 0
    if [ -z "$digest" ] || [ "$digest" != "$expected" ]; then
        echo "FAIL p2p_random: seed $seed$n on $n ranks: digest $digest, by ob1 $expected"
        exit 1
    fi
    run "${seed}1$n" -n $n "$program" host
done
small="--mca pml_beeline_shm_cells 16 --mca pml_beeline_shm_slots 4 --mca pml_beeline_shm_chunks 2
    --mca pml_beeline_shm_blocks 3 --mca pml_beeline_shm_block 4096 --mca pml_beeline_shm_depth 2
    --mca pml_beeline_eager_limit 500 --mca pml_beeline_device_eager_limit 100 --mca pml_beeline_device_ucx_eager_limit 300 --mca pml_beeline_fragments_limit 5000
    --mca pml_beeline_staging_chunk 4096 --mca pml_beeline_staging_depth 2 --mca pml_beeline_ipc_cache_entries 2"
# shellcheck disable=SC2086 # several words on purpose
{
    run "${seed}20" --gpus 2 -n 4 $small "$program" $kinds
    run "${seed}21" --gpus 2 -n 3 --mca pml_beeline_cuda_ipc 0 "$program" $kinds
    run "${seed}22" --gpus 2 -n 2 --mca pml_beeline_shm 0 "$program" $kinds
}
