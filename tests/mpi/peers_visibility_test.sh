#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Ranks of one node that see different GPUs, or the same ones under other numbers (CUDA_VISIBLE_DEVICES).
. "$top_srcdir/tests/mpi/peers_lib.sh"

# see TEXT GPUS "ENVIRONMENT" "ENVIRONMENT" PLACES...
see() {
    text=$1 gpus=$2 first=$3 second=$4
    shift 4
    job "$text" "$gpus" -n 2 "$per_rank" "$first" "$second" -- "$peers" "$@"
    has '^OK'
}
direct() { by 0 cuda_ipc && by 1 cuda_ipc && lacks "not on the best path: this kind" && quiet; }
hidden="not on the best path: this kind of handle does not work between these processes"

see "the same GPUs" 2 "" "" gpu0 gpu1 && direct
see "one GPU for both" 2 "" "" gpu1 gpu1 && direct
see "permuted" 2 CUDA_VISIBLE_DEVICES=0,1 CUDA_VISIBLE_DEVICES=1,0 gpu0 gpu0 && direct
see "one GPU under two numbers" 2 CUDA_VISIBLE_DEVICES=0,1 CUDA_VISIBLE_DEVICES=1,0 gpu0 gpu1 && direct
see "overlapping" 3 CUDA_VISIBLE_DEVICES=0,1 CUDA_VISIBLE_DEVICES=1,2 gpu1 gpu1 && direct
see "overlapping, every GPU" 3 CUDA_VISIBLE_DEVICES=0,1 CUDA_VISIBLE_DEVICES=1,2 gpus gpus && direct
see "disjoint" 2 CUDA_VISIBLE_DEVICES=0 CUDA_VISIBLE_DEVICES=1 gpu0 gpu0 && direct

# A driver that opens memory of visible GPUs only: staged, said once by each receiver.
see "disjoint, refused" 2 "CUDA_VISIBLE_DEVICES=0 SOFTCUDA_IPC=visible" \
    "CUDA_VISIBLE_DEVICES=1 SOFTCUDA_IPC=visible" gpu0 gpu0
by 0 staged && by 1 staged && lacks cuda_ipc && lines 2 "$hidden"
lines 2 'cuIpcOpenMemHandle failed with'
# Where one side can open what the other cannot, it is that side that copies.
reading=OMPI_MCA_pml_beeline_protocol=ipc_get
see "one side sees both" 2 "CUDA_VISIBLE_DEVICES=0 SOFTCUDA_IPC=visible" \
    "CUDA_VISIBLE_DEVICES=0,1 SOFTCUDA_IPC=visible" gpu0 gpu1
by 0 cuda_ipc && by 1 cuda_ipc_put && lacks ': staged ' && lacks "$hidden"
lines 1 'does not work, cuIpcOpenMemHandle' && lines 1 '\] beeline: ' && lines 1 'cuIpcOpenMemHandle failed with'
see "one side sees both, and the other must read" 2 "CUDA_VISIBLE_DEVICES=0 SOFTCUDA_IPC=visible $reading" \
    "CUDA_VISIBLE_DEVICES=0,1 SOFTCUDA_IPC=visible $reading" gpu0 gpu1
by 0 cuda_ipc && by 1 staged && lacks cuda_ipc_put && lines 1 "$hidden"
lines 1 '\] beeline: ' && lines 1 'cuIpcOpenMemHandle failed with'

# By UUID, whole and shortened.
run=$(. "$BEELINE_BUILD/tests/support/env.sh" && echo "$BEELINE_BUILD/stage$bindir/softcuda-run")
zero=$("$run" --quiet -g 2 -- "$peers" --uuid 0)
one=$("$run" --quiet -g 2 -- "$peers" --uuid 1)
see "by UUID" 2 "CUDA_VISIBLE_DEVICES=$one" "CUDA_VISIBLE_DEVICES=$zero,$one" gpu0 gpu0 && direct
see "by the start of a UUID" 2 "CUDA_VISIBLE_DEVICES=$(expr "$one" : '\(.\{12\}\)')" "" gpu0 gpu0 && direct

# A rank that sees no GPU.
for nothing in CUDA_VISIBLE_DEVICES= CUDA_VISIBLE_DEVICES=-1; do
    see "no GPU visible ($nothing)" 2 "" $nothing gpu0 driver
    by 0 staged && by 1 staged && quiet
    see "no GPU visible ($nothing) on the first rank" 2 $nothing "" host gpus
    by 1 staged && by 0 staged && quiet
done
see "no GPU visible to anyone" 2 CUDA_VISIBLE_DEVICES= CUDA_VISIBLE_DEVICES= driver driver
by 0 shm && by 1 shm && lacks staged && quiet
finish
