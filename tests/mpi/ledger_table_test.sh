#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Holds docs/ledger.md to what SoftCUDA counts; see ledger_table.cpp.
#   top_srcdir=. top_builddir=build tests/mpi/ledger_table_test.sh --update   writes the table anew
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
document=$top_srcdir/docs/ledger.md
begin='<!-- table: written by tests/mpi/ledger_table_test.sh --update -->'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

launch() { # RANKS PART MPIRUN-ARGUMENTS...
    ranks=$1
    part=$2
    shift 2
    if ! "$top_srcdir/tests/support/mpirun.sh" --gpus 2 --timeout 120 -n "$ranks" "$@" \
        "$top_builddir/tests/mpi/ledger_table" "$part" device >"$work/output" 2>&1; then
        cat "$work/output"
        exit 1
    fi
    sed -n 's/^row //p' "$work/output" >>"$work/table"
}

cat >"$work/table" <<'HEAD'
| per message | attributes | context | copies | launches | events | waits | IPC | registrations | other | calls | floor |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
HEAD
launch 2 direct
launch 2 put --mca pml_beeline_protocol ipc_put
# The same pair without IPC: what staging costs where it is the only way.
launch 2 staged --mca pml_beeline_cuda_ipc 0
launch 4 collectives --mca coll_beeline_allreduce_algorithm auto --mca coll_beeline_allreduce_ring_min 262144

if [ "${1:-}" = --update ]; then
    awk -v table="$work/table" -v begin="$begin" '
        $0 == begin { print; print ""; while ((getline line < table) > 0) print line; inside = 1; next }
        inside && /^(\||$)/ { next }
        inside { print ""; inside = 0 }
        { print }' "$document" >"$work/new"
    cp "$work/new" "$document"
    exit 0
fi
awk -v begin="$begin" '$0 == begin { inside = 1; next } inside && /^\|/ { print; next } inside && /./ { exit }' \
    "$document" >"$work/held"
if ! diff -u "$work/held" "$work/table"; then
    echo "docs/ledger.md (-) and what was counted (+) differ. Fewer calls: update the document with --update and say" \
        "so in the commit. More: find out why first."
    exit 1
fi
echo "OK docs/ledger.md: $(grep -c '^|' "$work/held") lines hold"
