#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Ranks in containers of their own on one machine: separate namespaces, /dev/shm, and identity of the machine.
. "$top_srcdir/tests/mpi/peers_lib.sh"
if [ "$(id -u)" -ne 0 ] || ! unshare --pid --ipc --mount --fork --mount-proc true 2>"$output"; then
    echo "skipped: making namespaces is not allowed here: $(head -n 1 "$output")"
    exit 77
fi

# in_own TEXT "UNSHARE-OPTIONS" "UNSHARE-OPTIONS" PLACES...: of rank 0 and of rank 1, with commas; "-" for none.
in_own() {
    text=$1
    first= second=
    [ "$2" = - ] || first="RUN=unshare,$2,--"
    [ "$3" = - ] || second="RUN=unshare,$3,--"
    shift 3
    job "$text" 2 -n 2 "$per_rank" "$first" "$second" -- "$peers" "$@"
    has '^OK'
}
pids=--pid,--fork,--mount-proc

in_own "own pid namespaces" $pids $pids gpu0 gpu1
by 0 staged && by 1 staged && lacks cuda_ipc && has 'not on the best path: no CUDA IPC between nodes'
in_own "own pid and ipc namespaces" $pids,--ipc $pids,--ipc gpu0 gpu1
by 0 staged && by 1 staged && lacks cuda_ipc
in_own "one rank in a pid namespace" - $pids,--ipc gpu0 gpu1
by 0 staged && by 1 staged && lacks cuda_ipc
in_own "own pid namespaces, host memory" $pids,--ipc $pids,--ipc host host
by 0 ucx && by 1 ucx
in_own "own ipc namespaces" --ipc --ipc gpu0 gpu1
by 0 cuda_ipc && by 1 cuda_ipc && quiet

# In user namespaces of their own ranks may not look into each other's /proc.
in_own "a rank in a user namespace" - --user,--map-root-user gpu0 gpu1
by 0 staged && by 1 staged
in_own "own user namespaces" --user,--map-root-user --user,--map-root-user gpu0 gpu1
by 0 staged && by 1 staged

# The same for ranks with fewer capabilities: one direction would be allowed.
if setpriv --bounding-set=-sys_ptrace -- true 2>"$output"; then
    text="a rank without CAP_SYS_PTRACE"
    job "$text" 2 -n 2 "$per_rank" "" RUN=setpriv,--bounding-set=-sys_ptrace,-- -- "$peers" gpu0 gpu1
    has '^OK'
    by 0 staged && by 1 staged
    text="both without CAP_SYS_PTRACE"
    job "$text" 2 -n 2 "$per_rank" RUN=setpriv,--bounding-set=-sys_ptrace,-- -- "$peers" gpu0 gpu1
    has '^OK'
    by 0 cuda_ipc && by 1 cuda_ipc && quiet
fi

# Another /dev/shm for each, and for one another machine's boot id.
enter=$(mktemp)
boot=$(mktemp)
trap 'rm -f "$output" "$enter" "$boot"' EXIT
cat >"$enter" <<'END'
#!/bin/sh
mount -t tmpfs none /dev/shm || exit 1
[ -z "$BOOT_ID" ] || mount --bind "$BOOT_ID" /proc/sys/kernel/random/boot_id || exit 1
exec "$@"
END
echo 01234567-89ab-cdef-0123-456789abcdef >"$boot"
chmod +x "$enter"
if ! BOOT_ID=$boot unshare --mount "$enter" true 2>"$output"; then
    echo "not tested: mounting in a namespace is not allowed here: $(head -n 1 "$output")"
    finish
    exit 0
fi
for kind in gpu host; do
    first=$kind second=$kind
    [ $kind = host ] || first=gpu0 second=gpu1
    text="own /dev/shm, $kind memory"
    job "$text" 2 -n 2 "$per_rank" "BOOT_ID= RUN=unshare,--mount,$enter" -- "$peers" $first $second
    has '^OK'
    [ $kind = host ] || { by 0 cuda_ipc && by 1 cuda_ipc; }
    text="another machine's boot id, $kind memory"
    job "$text" 2 -n 2 "$per_rank" "BOOT_ID= RUN=unshare,--mount,$enter" \
        "BOOT_ID=$boot RUN=unshare,--mount,$enter" -- "$peers" $first $second
    has '^OK'
    lacks cuda_ipc
done
finish
