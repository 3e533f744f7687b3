#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Beeline on one rank and not on the other: the job ends, and says why.
. "$top_srcdir/tests/mpi/peers_lib.sh"

# A rank that looks for components in Open MPI's own folder only.
without="OMPI_MCA_mca_base_component_path=SYSTEM_DEFAULT OMPI_MCA_pml=$(printf '^beeline')"
for missing in 0 1; do
    text="no Beeline on rank $missing"
    first= second=$without
    [ $missing = 1 ] || { first=$without second=; }
    status=0
    "$launch" --timeout 30 -n 2 "$per_rank" "$first" "$second" -- "$peers" host >"$output" 2>&1 || status=$?
    [ $status -ne 0 ] || fail "$text: the job went on"
    [ $status -ne 124 ] || fail "$text: the job hung"
    has 'selected pml [a-z0-9]*, but peer .* selected pml [a-z0-9]*'
    has beeline
done
finish
