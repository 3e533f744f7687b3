#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What MPI leaves alone, and that a clean run has no driver call refused and leaves nothing of the driver's open.
. "$top_srcdir/tests/mpi/peers_lib.sh"
ledgers=$(mktemp -d)
trap 'rm -rf "$output" "$ledgers"' EXIT

# clean TEXT RANKS MPIRUN-ARGUMENTS...
clean() {
    text=$1 n=$2
    shift 2
    rm -f "$ledgers"/*
    job "$text" 2 -x SOFTCUDA_LEDGER="$ledgers/rank" -n "$n" "$@"
    has '^OK'
    quiet
    cat "$ledgers"/*.json >>"$output"
    lines "$n" '"errors": {},'
    for kind in device_allocations registrations ipc_handles streams events modules; do
        lines "$n" "\"$kind\": 0[,}]"
    done
}

manners=$top_builddir/tests/mpi/manners
for n in 1 2 3; do
    clean "stream captures, $n ranks" $n "$manners" capture
    job "devices chosen late, $n ranks" 2 -n $n "$manners" late
    has '^OK'
    quiet
done
clean "stream captures, staged" 2 --mca pml_beeline_cuda_ipc 0 "$manners" capture
clean "stream captures, host reductions" 2 --mca coll_beeline_allreduce_algorithm staged "$manners" capture
clean "several GPUs in each rank" 2 "$peers" gpus
clean "a host rank with a driver" 2 "$peers" gpu0 driver

# Children write ledgers too, so only what ranks print is looked at.
job "fork" 2 -n 2 "$manners" fork
has '^OK'
quiet
finish
