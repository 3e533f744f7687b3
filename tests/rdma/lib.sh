# SPDX-License-Identifier: BSD-3-Clause
# What the RDMA tests share. Sourced by bash inside the guest of scripts/check-rdma.

guest=$top_srcdir/tests/rdma/guest
bench=$BEELINE_BUILD/beeline-bench
work=$(mktemp -d)
failures=0

# hosts LIMIT RANKS [MPIRUN-ARGUMENTS...] -- PROGRAM...: RANKS ranks, in turn on rdma-a and rdma-b, ended after LIMIT seconds.
# STACK chooses another stack than beeline's, GPUS another number of virtual GPUs (0: none).
hosts() {
    local limit=$1 ranks=$2 options=()
    shift 2
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    SOFTCUDA_HOST_ACCESS=${SOFTCUDA_HOST_ACCESS-1} "$top_srcdir/tests/support/mpirun.sh" --stack "${STACK:-beeline}" \
        --gpus "${GPUS:-2}" --timeout "$limit" --mca plm_rsh_agent "$guest/rsh_agent" --mca plm_rsh_no_tree_spawn 1 \
        --mca oob_tcp_if_include 10.8.0.0/24 --mca btl_tcp_if_include 10.8.0.0/24 --mca btl ^openib --mca mpi_yield_when_idle 1 \
        -H "rdma-a:$ranks,rdma-b:$ranks" --map-by node -n "$ranks" "${options[@]}" "$guest/on_host" "$@"
}

# expect TEXT PATTERN COMMAND...: the command succeeds and a line of its output matches the pattern.
expect() {
    local text=$1 pattern=$2 code=0 started=$SECONDS
    shift 2
    "$@" >"$work/output" 2>&1 || code=$?
    if [ $code -ne 0 ]; then
        verdict "$text" "exit code $code"
    elif ! grep -qE -e "$pattern" "$work/output"; then
        verdict "$text" "no line with '$pattern'"
    else
        verdict "$text" ""
    fi
}

# expect_line PATTERN: a line of the last command's output matches it as well.
expect_line() {
    if ! grep -qE -e "$1" "$work/output"; then
        verdict "  with '$1'" "there is no such line"
    fi
}

# expect_no PATTERN: no line of the last command's output matches it.
expect_no() {
    if grep -qE -e "$1" "$work/output"; then
        verdict "  without '$1'" "there is such a line"
    fi
}

# expect_count NUMBER PATTERN: exactly so many lines of the last command's output match it.
expect_count() {
    local found
    found=$(grep -cE -e "$2" "$work/output")
    if [ "$found" -ne "$1" ]; then
        verdict "  $1 times '$2'" "$found times"
    fi
}

# verdict TEXT PROBLEM: counts and prints; with a problem also what the command printed.
verdict() {
    if [ -z "$2" ]; then
        echo "ok    $1 ($((SECONDS - ${started:-$SECONDS})) s)"
    else
        failures=$((failures + 1))
        echo "WRONG $1: $2"
        tail -n 40 "$work/output" | cut -c -200 | sed 's/^/      /'
    fi
}

# finish: the end of a script.
finish() {
    [ "$failures" -eq 0 ] || echo "$failures wrong"
    exit $((failures > 0))
}

# A counter of a Soft-RoCE device, as in "counter rxe0 sent_pkts".
counter() { cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2"; }

# pair SERVER CLIENT: a verbs program's two sides; the exit code is the worse one.
pair() {
    local server code=0
    # shellcheck disable=SC2086
    timeout 40 $1 >"$work/server" 2>&1 &
    server=$!
    sleep 0.7
    # shellcheck disable=SC2086
    timeout 40 $2 || code=$?
    wait $server || code=$?
    return $code
}
