#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# GPUs that reach each other's memory, do not, or do in one direction only.
. "$top_srcdir/tests/mpi/peers_lib.sh"
unreachable="not on the best path: this kind of handle does not work between these processes"

# on TEXT TOPOLOGY GPUS RANKS PLACES...
on() {
    text=$1 SOFTCUDA_TOPOLOGY=$2 gpus=$3 n=$4
    export SOFTCUDA_TOPOLOGY
    shift 4
    job "$text" "$gpus" -x SOFTCUDA_TOPOLOGY -n "$n" "$peers" "$@"
    has '^OK'
}

on "no peer access" none 2 2 gpu0 gpu1
by 0 staged && by 1 staged && lacks cuda_ipc && lines 2 "$unreachable"
lines 2 'cuIpcOpenMemHandle failed with CUDA_ERROR_PEER_ACCESS_UNSUPPORTED'
on "no peer access, one GPU" none 2 2 gpu1 gpu1
by 0 cuda_ipc && by 1 cuda_ipc && lacks staged && quiet
on "no peer access, several GPUs in a rank" none 2 2 gpus gpus
by 0 cuda_ipc && by 0 staged && by 1 cuda_ipc && by 1 staged

# The receiver reads when its GPU reaches the sender's, else the sender writes when its GPU reaches the
# receiver's.
on "rank 0 reaches rank 1" "0>1" 2 2 gpu0 gpu1
by 1 cuda_ipc && by 0 cuda_ipc_put && lacks ': staged ' && lacks "$unreachable"
lines 1 'does not work, cuIpcOpenMemHandle' && lines 1 '\] beeline: ' && lines 1 'cuIpcOpenMemHandle failed with'
on "rank 1 reaches rank 0" "1>0" 2 2 gpu0 gpu1
by 0 cuda_ipc && by 1 cuda_ipc_put && lacks ': staged ' && lacks "$unreachable"
lines 1 'does not work, cuIpcOpenMemHandle' && lines 1 '\] beeline: ' && lines 1 'cuIpcOpenMemHandle failed with'

# Where nobody may write, what counts is whether the receiver's GPU reaches the sender's.
export OMPI_MCA_pml_beeline_protocol=ipc_get
on "rank 0 reaches rank 1, only reading" "0>1" 2 2 gpu0 gpu1
by 1 cuda_ipc && by 0 staged && lacks cuda_ipc_put && lines 1 "$unreachable" && lines 1 'cuIpcOpenMemHandle failed with'
on "rank 1 reaches rank 0, only reading" "1>0" 2 2 gpu0 gpu1
by 0 cuda_ipc && by 1 staged && lacks cuda_ipc_put && lines 1 "$unreachable"
unset OMPI_MCA_pml_beeline_protocol

# Two GPUs that reach each other, a third that nobody reaches, and two ranks on one of them.
on "mixed" "0>1,1>0" 3 4 gpu0 gpu1 gpu2 gpu2
for rank in 0 1 2 3; do
    by $rank cuda_ipc && by $rank staged
done
lines 4 "$unreachable"
on "mixed, with a host rank" "0>1,1>0" 3 4 gpu0 gpu1 gpu2 host
by 0 cuda_ipc && by 1 cuda_ipc && by 2 staged
on "PCIe" pcie 2 2 gpu0 gpu1
by 0 cuda_ipc && by 1 cuda_ipc && lacks staged
finish
