# SPDX-License-Identifier: BSD-3-Clause
# What setup, demo and check share: messages, progress, and the build. Sourced by bash.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$top/build
install=$build/install
logs=$build/log
script=$(basename "$0")

say() { printf '%s: %s\n' "$script" "$*"; }

die() {
    printf '%s: %s\n' "$script" "$*" >&2
    exit 1
}

check_machine() {
    if [ ! -r /proc/self/status ]; then
        die "/proc is not mounted here, and the compiler, mpirun and Beeline need it; as root: mount -t proc proc /proc"
    fi
    if [ ! -d /sys/class/net ]; then
        say "note: /sys is not mounted, so hwloc and UCX will print complaints; all works without it"
    fi
}

# run_logged NAME TEXT COMMAND...: runs the command with its output in $logs/NAME.log. Shows on a terminal how long it
# has been running and its latest line; elsewhere a line every half minute. On failure shows the end of the log.
run_logged() {
    local name=$1 text=$2 log=$logs/$1.log started=$SECONDS child code=0 ticks=0
    shift 2
    mkdir -p "$logs"
    "$@" >"$log" 2>&1 </dev/null &
    child=$!
    trap 'kill "$child" 2>/dev/null; exit 130' INT TERM
    [ -t 1 ] || say "$text ..."
    while kill -0 "$child" 2>/dev/null; do
        sleep 0.2
        ticks=$((ticks + 1))
        if [ -t 1 ]; then
            printf '\r\033[K%s: %s ... %d s  %.60s' "$script" "$text" $((SECONDS - started)) \
                "$(tail -n 1 "$log" | tr -d '\r' | tr '\t' ' ')"
        elif [ $((ticks % 150)) -eq 0 ]; then
            say "$text ... $((SECONDS - started)) s"
        fi
    done
    wait "$child" || code=$?
    trap - INT TERM
    [ ! -t 1 ] || printf '\r\033[K'
    if [ "$code" -ne 0 ]; then
        tail -n 40 "$log" >&2
        die "$text failed (exit code $code); all of it is in $log"
    fi
    say "$text: done in $((SECONDS - started)) s"
}

jobs() { nproc 2>/dev/null || echo 1; }

# Configures build/ for installation into build/install, unless that has been done, and brings it up to date.
configure_tree() {
    if [ ! -x "$top/configure" ] || [ "$top/configure.ac" -nt "$top/configure" ]; then
        run_logged autoreconf "generate configure" autoreconf -fi "$top"
    fi
    mkdir -p "$build"
    if ! grep -qs "^prefix=$install\$" "$build/tests/support/env.sh"; then
        run_logged configure "configure" env -C "$build" "$top/configure" --prefix="$install"
        sed -n '/^  Beeline /,/^ *$/p' "$logs/configure.log"
    fi
}

build_tree() {
    configure_tree
    run_logged build "build" make -C "$build" -j"$(jobs)"
}

install_tree() {
    run_logged install "install into $install" make -C "$build" install
}
