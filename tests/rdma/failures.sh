#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Keys that are wrong or were taken back, and a peer that dies: the message is moved again, or the job ends in time and says
# who died.
. "$top_srcdir/tests/rdma/lib.sh"

if [ -x "$BEELINE_BUILD/tests/rdma/keys" ]; then
    cd "$BEELINE_BUILD" || exit 1
    UCX_TLS=tcp,self UCX_NET_DEVICES=m0 SOFTCUDA_DEVICES=2 expect "wrong and revoked keys" 'PASSED.* 6 tests' \
        timeout 150 "$BEELINE_BUILD/tests/rdma/keys" rxe0 rxe1
fi

# dies TEXT PATTERN MPIRUN-OPTIONS...: rank 1 is killed in the middle of a transfer; the job ends within 40 s, with a line
# that matches. (The exit code of mpirun --enable-recovery is 0.) The window is large, as rank 0 must have begun something:
# a receive alone tells nobody that its sender has died.
dies() {
    local text=$1 pattern=$2 from code=0 started=$SECONDS
    shift 2
    from=$(counter rxe0 sent_pkts)
    hosts 100 2 "$@" -- "$bench" bw -d cuda --sizes 1M -i 100000 -W 64 >"$work/output" 2>&1 &
    local job=$!
    for _ in $(seq 400); do
        [ "$(($(counter rxe0 sent_pkts) - from))" -lt 1000 ] || break
        sleep 0.1
    done
    # Of the programs here, the one that is rank 1: no launcher's command starts with its name.
    kill -KILL "$(for process in /proc/[0-9]*; do
        if grep -qz '^[^ ]*beeline-bench$' "$process/cmdline" 2>/dev/null &&
            grep -qz '^OMPI_COMM_WORLD_RANK=1$' "$process/environ" 2>/dev/null; then echo "${process#/proc/}"; fi
    done)"
    local killed=$SECONDS
    wait $job || code=$?
    if [ $code -eq 124 ] || { [ $code -eq 0 ] && [ "$1" != --enable-recovery ]; }; then
        verdict "$text" "exit code $code"
    elif [ $((SECONDS - killed)) -gt 40 ]; then
        verdict "$text" "the job ended $((SECONDS - killed)) s later"
    elif ! grep -qE -e "$pattern" "$work/output"; then
        verdict "$text" "no line with '$pattern'"
    else
        verdict "$text" ""
    fi
}

dies "a peer dies: the job ends" 'rank 1 .* on node rdma-b exited on signal 9'
dies "a peer dies, and the job is to go on: an error names it" 'rank 1 of communicator 0 .* has said nothing' \
    --enable-recovery --mca pml_beeline_rdma_peer_limit 5 --mca pml_beeline_rdma_timeout 14 --mca pml_beeline_rdma_retries 3
finish
