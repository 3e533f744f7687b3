#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Schedules from files in a job: they serve their number of ranks with right results on all kinds of memory; a file that
# is wrong is refused with one warning; ranks with different files run none of them.
set -euo pipefail
export BEELINE_BUILD=$top_builddir OMPI_MCA_coll_beeline_report=1
plan=$top_builddir/beeline-plan
bench=$top_builddir/beeline-bench
matrix=$top_builddir/tests/mpi/coll_matrix
[ -x "$plan" ] || { echo "beeline-plan is not built"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { cat "$work/out"; echo "FAIL: $*"; exit 1; }
launch() { "$top_srcdir/tests/support/mpirun.sh" --timeout 100 "$@" >"$work/out" 2>&1; }
# on N RANKS... : an allreduce of device memory, whose results are right
on_device() {
    launch --gpus 2 "$@" "$bench" allreduce -d cuda --sizes 1000000 -i 2 || fail "exit code of $*"
    grep -q '^1000000 .* scheduled  *yes' "$work/out" || fail "wrong data"
}
# served N NAME: so many ranks ran it
served() { [ "$(grep -c "allreduce by $2: " "$work/out")" = "$1" ] || fail "not by $2 on $1 ranks"; }
# lines N PATTERN
lines() { [ "$(grep -c -e "$2" "$work/out")" = "$1" ] || fail "not $1 lines of '$2'"; }

# A built-in algorithm of each kind, as a file brings it; a rooted one as a file for each root.
files=
names=
while read -r collective algorithm roots; do
    for root in ${roots:-0}; do
        file=$work/$collective${roots:+.$root}.json
        "$plan" show "$collective" --ranks 4 --root "$root" --algorithm "$algorithm" --name "my_$algorithm" \
            --json "$file" >"$work/out" || fail "export of $collective"
        files=$files,$file
    done
    names=$names,$collective:my_$algorithm
done <<END
allreduce ring
allgather bruck
reduce_scatter ring
alltoall pairwise
scan linear
bcast scatter_allgather 0 1 2 3
reduce binomial 0 1 2 3
gather binomial 0 1 2 3
scatter linear 0 1 2 3
END
# And a ring in MSCCL's XML, in place: one chunk a rank goes around, reduced first, then gathered.
ring_xml() {
    echo '<algo name="msccl ring" proto="Simple" nchannels="1" coll="allreduce" ngpus="4" nchunksperloop="4" inplace="1">'
    for rank in 0 1 2 3; do
        echo " <gpu id=\"$rank\" i_chunks=\"4\" o_chunks=\"4\" s_chunks=\"0\">"
        echo "  <tb id=\"0\" send=\"$(((rank + 1) % 4))\" recv=\"$(((rank + 3) % 4))\" chan=\"0\">"
        n=0
        for step in s:0 rrcs:1 rrcs:2 rrcs:3 rcs:0 rcs:1 r:2; do
            chunk=$(((rank + 8 - ${step#*:}) % 4))
            echo "   <step s=\"$n\" type=\"${step%:*}\" srcbuf=\"i\" srcoff=\"$chunk\" dstbuf=\"i\" dstoff=\"$chunk\"" \
                'cnt="1" depid="-1" deps="-1" hasdep="0"/>'
            n=$((n + 1))
        done
        echo '  </tb>'
        echo ' </gpu>'
    done
    echo '</algo>'
}
ring_xml >"$work/ring.xml"
files=${files#,},$work/ring.xml
names=${names#,},allreduce:msccl_ring

# Against a serial reference: forms, datatypes, counts that are no multiple of the chunks, in place.
launch --gpus 2 -n 4 --mca coll_beeline_schedule_file "$files" "$matrix" cases 8 loaded "$names" device ||
    fail "the matrix"
grep -q 'allreduce by msccl_ring: ' "$work/out" || fail "no name in the report"
for rooted in bcast:scatter_allgather reduce:binomial gather:binomial scatter:linear; do
    grep -q "${rooted%:*} by my_${rooted#*:}: " "$work/out" || fail "no $rooted in the report"
done
lines 0 'beeline: '
# Launches, copies and messages are those of the schedules.
launch --gpus 2 -n 4 --mca coll_beeline_schedule_file "$files" "$top_builddir/tests/mpi/coll_ledger" loaded "$files" device ||
    fail "the ledger"
lines 1 '^allreduce by msccl_ring: [0-9]* launches, [0-9]* copies, [0-9]* messages$'

# Nobody names it: it serves its number of ranks, for the sizes it states, and in a job without a GPU as well.
ring=$work/allreduce.json
on_device -n 4 --mca coll_beeline_schedule_file "$ring"
served 4 my_ring
on_device -n 3 --mca coll_beeline_schedule_file "$ring"
served 0 my_ring
launch -n 4 --mca coll_beeline_schedule_file "$ring" "$bench" allreduce -d host --sizes 1000000 -i 2 || fail "host"
served 4 my_ring
sed 's/"ranks": 4,/"ranks": 4, "least_bytes": 2000000,/' "$ring" >"$work/large.json"
on_device -n 4 --mca coll_beeline_schedule_file "$work/large.json"
served 0 my_ring
# A rooted one serves the root of its file; the benchmark's is 0.
for root in 0 1; do
    launch --gpus 2 -n 4 --mca coll_beeline_schedule_file "$work/bcast.$root.json" "$bench" bcast -d cuda \
        --sizes 1000000 -i 2 || fail "a bcast"
    [ "$(grep -c 'bcast by my_scatter_allgather: ' "$work/out")" = "$((4 - 4 * root))" ] || fail "the wrong root"
done
# A parameter or a rule names it: then it serves these sizes too.
on_device -n 4 --mca coll_beeline_schedule_file "$work/large.json" --mca coll_beeline_allreduce_algorithm my_ring
served 4 my_ring
printf 'beeline-tuning 1\nrule collective=allreduce bytes=1M- algorithm=bruck\n' >"$work/tuning"
printf 'rule collective=allreduce algorithm=my_ring\n' >>"$work/tuning"
on_device -n 4 --mca coll_beeline_schedule_file "$ring" --mca coll_beeline_tuning_file "$work/tuning"
served 4 my_ring

# A name that nothing has stops the job.
if launch --gpus 2 -n 2 --mca coll_beeline_schedule_file "$ring" --mca coll_beeline_allreduce_algorithm my_rung \
    "$bench" allreduce -d cuda --sizes 8 -i 1; then fail "an unknown name"; fi
grep -q "coll_beeline_allreduce_algorithm: 'my_rung' is refused; allowed: auto|.*|my_ring" "$work/out" ||
    fail "no reason"

# A planted mistake: one warning, and the job goes on, even if the file's algorithm is asked for.
sed '0,/"op": "reduce"/s//"op": "copy"/' "$ring" >"$work/wrong.json"
on_device -n 4 --mca coll_beeline_schedule_file "$work/wrong.json" --mca coll_beeline_allreduce_algorithm my_ring
served 0 my_ring
lines 1 'beeline: '
lines 1 "parameter coll_beeline_schedule_file: $work/wrong.json: rank .*; allowed: schedules that .beeline-plan check. proves"

# Of four ranks one has another file, then one that is wrong.
sed 's/"my_ring"/"your_ring"/' "$ring" >"$work/other.json"
for other in other wrong; do
    on_device -n 4 "$top_srcdir/tests/support/per_rank.sh" "OMPI_MCA_coll_beeline_schedule_file=$ring" \
        "OMPI_MCA_coll_beeline_schedule_file=$ring" "OMPI_MCA_coll_beeline_schedule_file=$work/$other.json" \
        "OMPI_MCA_coll_beeline_schedule_file=$ring" --
    served 0 my_ring
    served 0 your_ring
    lines 1 'ranks 0 and 2 of communicator .* differ in .*coll_beeline_schedule_file'
    lines "$([ $other = wrong ] && echo 1 || echo 0)" "coll_beeline_schedule_file: $work/wrong.json: "
done
echo OK
