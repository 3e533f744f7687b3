#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs a test that has MPI_Comm_spawn start processes, again where Open MPI's launcher lost one of them.
#   spawning.sh COMMAND...
# Seldom, under load, PMIx_Init never returns in a spawned process, with any PML, and all others wait for it. Such a
# process has not loaded a component yet; one that has and then hangs is the test's to fail by its own time limit.
set -eu

tries=3
patience=30  # seconds that a process may take from its start until it loads a component
every=5

# All processes of this run carry its name in their environment.
export BEELINE_SPAWNING=$$

of_this_run() {
    grep -qz "^BEELINE_SPAWNING=$$\$" "$1/environ" 2>/dev/null
}

# Adds to the age of each process without a component, and names one whose age has come to the limit.
look_for_lost() {
    found=
    for process in /proc/[0-9]*; do
        # What ends meanwhile cannot be read any more: then it was not lost.
        if of_this_run "$process" && grep -q libmpi "$process/maps" 2>/dev/null &&
            ! grep -q mca_pml_ "$process/maps"; then
            pid=${process#/proc/}
            eval "age=\$((\${age_$pid:-0} + every)); age_$pid=\$age"
            [ "$age" -lt $patience ] || found=$pid
        fi
    done
}

# Time limits run in process groups of their own, so each process is told.
end_all() {
    for signal in TERM KILL; do
        for process in /proc/[0-9]*; do
            ! of_this_run "$process" || kill -$signal "${process#/proc/}" 2>/dev/null || :
        done
        [ $signal = KILL ] || sleep 3
    done
}

trap 'end_all; exit 1' INT TERM
for try in $(seq $tries); do
    "$@" &
    job=$!
    found=
    fifths=0
    while [ -z "$found" ] && kill -0 $job 2>/dev/null; do
        sleep 0.2
        fifths=$((fifths + 1))
        [ $((fifths % (5 * every))) -ne 0 ] || look_for_lost
    done
    if [ -z "$found" ]; then
        wait $job
        exit
    fi
    echo "spawning.sh: process $found has not come through PMIx_Init in $patience s: ends try $try of $tries" >&2
    end_all
    wait $job || :
done
echo "spawning.sh: the launcher lost a process in each of $tries tries" >&2
exit 1
