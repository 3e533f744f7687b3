#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# One go on a machine with a GPU: builds if needed, then the driver's conformance, the examples, the
# MPI matrix on device memory, and a first table of latency and bandwidth. Ends within ten minutes.
#   tests/gpu/run.sh [--build FOLDER] [--report FILE] [--minutes N]
# --build    the build folder (default: build in the source tree; made and configured if not there)
# --report   where everything goes that the steps print (default: gpu-report.txt in the build folder)
# --minutes  stop starting new steps after this time (default 9)
# Exit code: 0 all passed, 1 something failed, 77 no GPU here.
set -u

source=$(cd "$(dirname "$0")/../.." && pwd)
build=$source/build
report=
minutes=9
while [ $# -gt 0 ]; do
    case $1 in
        --build) mkdir -p "$2" && build=$(cd "$2" && pwd); shift 2 ;;
        --report) report=$2; shift 2 ;;
        --minutes) minutes=$2; shift 2 ;;
        *) sed -n '3,9s/^# //p' "$0" >&2; exit 2 ;;
    esac
done

say() { echo "gpu: $*"; }

# --- Is there a GPU? The driver library and a device file; what is missing is named.
find_library() {
    ldconfig -p 2>/dev/null | sed -n "s/.*$1 .*=> //p" | head -n 1
}
driver=$(find_library 'libcuda\.so\.1')
device=
for node in /dev/nvidia[0-9]* /dev/dxg; do
    [ -e "$node" ] && device="$device $node"
done
if [ -z "$driver" ] || [ -z "$device" ]; then
    say "no GPU here. Looked for the driver library libcuda.so.1 in the loader's cache (found: ${driver:-none})"
    say "and for /dev/nvidia0, /dev/nvidia1 ... (found:${device:- none}). To test without one: make check"
    exit 77
fi

# --- Build.
start=$(date +%s)
left() { echo $((start + minutes * 60 - $(date +%s))); }
cores=$(nproc)
mkdir -p "$build"
[ -n "$report" ] || report=$build/gpu-report.txt
case $report in /*) ;; *) report=$PWD/$report ;; esac
: >"$report" || exit 2

build_all() {
    set -e
    if [ ! -x "$source/configure" ]; then
        (cd "$source" && autoreconf -fi)
    fi
    cd "$build"
    [ -x config.status ] || "$source/configure"
    make -j"$cores"
    # The test programs, without running the tests.
    make -j"$cores" check TESTS=
    make install DESTDIR="$build/stage"
}
say "building in $build"
if ! (build_all) >"$build/gpu-build.log" 2>&1; then
    say "the build failed; the end of $build/gpu-build.log:"
    tail -n 30 "$build/gpu-build.log"
    exit 1
fi
cd "$build" || exit 1

# --- The real driver, never SoftCUDA's. Where no runtime library is installed, ours does on its own:
# it uses the public driver API only, but must not bring the software driver beside it along.
libraries=$build/gpu-libraries
rm -rf "$libraries" && mkdir -p "$libraries"
if [ -z "$(find_library 'libcudart\.so\.13')" ]; then
    toolkit=$(ls /usr/local/cuda/lib64/libcudart.so.13 2>/dev/null)
    cp "${toolkit:-.libs/libcudart.so.13}" "$libraries/"
fi
export LD_LIBRARY_PATH="$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export BEELINE_BUILD="$build" BEELINE_TEST_GPUS=0

passed=0
failed=0
skipped=0
late=0
failures=
# step NAME SECONDS COMMAND...: runs it with a limit; its output goes to the report.
step() {
    name=$1
    limit=$2
    shift 2
    if [ "$(left)" -le 5 ]; then
        late=$((late + 1))
        echo "== $name: not started, out of time" >>"$report"
        return
    fi
    [ "$limit" -le "$(left)" ] || limit=$(left)
    echo "== $name: $*" >>"$report"
    began=$(date +%s)
    timeout --kill-after=10 "$limit" "$@" >"$build/gpu-step.log" 2>&1
    status=$?
    cat "$build/gpu-step.log" >>"$report"
    echo "== $name: exit code $status after $(($(date +%s) - began)) s" >>"$report"
    case $status in
        0) passed=$((passed + 1)); verdict=ok ;;
        77) skipped=$((skipped + 1)); verdict="skipped: $(tail -n 1 "$build/gpu-step.log")" ;;
        *) failed=$((failed + 1)); failures="$failures $name"; verdict="FAILED, exit code $status" ;;
    esac
    say "$name: $verdict"
}
# mpi_step NAME MPIRUN-ARGUMENTS...: the same for a job, with a minute.
mpi_step() {
    job=$1
    shift
    step "$job" 70 "$source/tests/support/mpirun.sh" --timeout 60 "$@"
}

{
    echo "Beeline on a GPU, $(date -u '+%Y-%m-%d %H:%M') UTC"
    echo "driver library $driver, devices$device, $cores cores, $(uname -sr)"
    mpirun --version 2>/dev/null | head -n 1
    nvidia-smi --query-gpu=index,name,driver_version,memory.total,pci.bus_id --format=csv 2>/dev/null
    git -C "$source" describe --always --dirty 2>/dev/null | sed 's/^/commit /'
} >>"$report"

# --- Conformance: what SoftCUDA believes of a driver, asked of this one.
step conformance 240 ./beeline-conformance
grep -E '^(DIFFERS|FAIL)' "$build/gpu-step.log"

# --- Correctness.
step kernels 120 env BEELINE_TEST_CUDA=libcuda.so.1 tests/world/kernels_test
mpi_step pingpong -n 2 examples/pingpong
mpi_step allreduce-2 -n 2 examples/allreduce
mpi_step allreduce-4 -n 4 examples/allreduce
mpi_step halo-4 -n 4 examples/halo
for program in p2p_matrix p2p_rules p2p_types coll_matrix; do
    for ranks in 2 4; do
        if [ -x "$program" ]; then
            mpi_step "$program-$ranks" -n "$ranks" "./$program" host device managed
        fi
    done
done
for script in "$source"/tests/mpi/*.sh; do
    case $script in
        # Shows a crash on SoftCUDA, on purpose.
        */stock_crashes.sh | *'*.sh') ;;
        *) step "$(basename "$script" .sh)" 90 "$script" ;;
    esac
done

# --- A first table.
bench=stage/$(. tests/support/env.sh && echo "$bindir")/beeline-bench
if [ -x "$bench" ]; then
    mpi_step latency -n 2 "$bench" latency -d cuda -m 1:4M
    mpi_step bandwidth -n 2 "$bench" bw -d cuda -m 1K:64M
    cat "$build/gpu-step.log"
    mpi_step bandwidth-host-device -n 2 "$bench" bw -m 1K:64M H D
    mpi_step allreduce-time -n 2 "$bench" allreduce -d cuda -m 4:16M
else
    say "no table: this build has no beeline-bench"
    skipped=$((skipped + 1))
fi

say "report: $report, $(($(date +%s) - start)) s"
[ "$late" -eq 0 ] || say "$late steps were not started within $minutes minutes"
if [ "$failed" -gt 0 ]; then
    say "failed:$failures"
fi
echo "$passed passed, $failed failed, $skipped skipped" | tee -a "$report"
[ "$failed" -eq 0 ] && [ "$late" -eq 0 ]
