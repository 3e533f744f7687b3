#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Two network namespaces play two nodes: ranks in both exchange device buffers, which no CUDA IPC can carry.
set -euo pipefail

skip() {
    echo "skipped: $*"
    exit 77
}
[ "$(id -u)" -eq 0 ] || skip "making network namespaces needs root"
command -v ip >/dev/null || skip "no ip command (apt-get install iproute2)"
export BEELINE_BUILD=$top_builddir

id=$$
a=beeline${id}a
b=beeline${id}b
# Names of interfaces are limited to 15 characters.
link=bl${id}
work=$(mktemp -d)

clean_up() {
    for ns in "$a" "$b"; do
        ip netns pids "$ns" 2>/dev/null | xargs -r kill 2>/dev/null || true
        ip netns delete "$ns" 2>/dev/null || true
        rm -rf "/etc/netns/$ns"
    done
    rmdir /etc/netns 2>/dev/null || true
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

ip netns add "$a" 2>"$work/error" || skip "cannot make a network namespace: $(cat "$work/error")"
ip netns add "$b"
ip netns exec "$a" true 2>"$work/error" ||
    skip "cannot enter a network namespace (a chroot that is no mount point?): $(head -n 1 "$work/error")"
ip link add "${link}a" netns "$a" type veth peer name "${link}b" netns "$b" 2>"$work/error" ||
    skip "cannot make a pair of virtual interfaces: $(cat "$work/error")"
ip -n "$a" address add 10.77.0.1/24 dev "${link}a"
ip -n "$b" address add 10.77.0.2/24 dev "${link}b"
for ns in "$a" "$b"; do
    ip -n "$ns" link set lo up
    ip -n "$ns" link set "$link${ns: -1}" up
    # "ip netns exec" mounts these over /etc.
    mkdir -p "/etc/netns/$ns"
    printf '127.0.0.1 localhost\n10.77.0.1 beeline-a\n10.77.0.2 beeline-b\n' >"/etc/netns/$ns/hosts"
done

# UCX takes an interface only once its link is up, which takes the kernel a moment.
for ns in "$a" "$b"; do
    for _ in $(seq 50); do
        if ip -n "$ns" link show dev "$link${ns: -1}" | grep -q 'state UP'; then
            break
        fi
        sleep 0.1
    done
done

# A node has its own host name, and its own IPC namespace: without that UCX would find shared memory between them.
cat >"$work/enter" <<END
#!/bin/bash
host=\$1
shift
case \$host in
    beeline-a) ns=$a ;;
    beeline-b) ns=$b ;;
    *) echo "unknown node \$host" >&2; exit 1 ;;
esac
exec ip netns exec \$ns unshare --uts --ipc /bin/bash -c "hostname \$host; export SOFTCUDA_NODE=\$host; \$*"
END
chmod +x "$work/enter"

launch="$top_srcdir/tests/support/mpirun.sh"
# mpirun itself runs on the first node, and reaches the second by the script above in the place of ssh.
on_two_nodes() {
    "$work/enter" beeline-a "$launch" --gpus 2 --timeout 90 --mca plm_rsh_agent "$work/enter" \
        --mca plm_rsh_no_tree_spawn 1 --mca oob_tcp_if_include "${link}a,${link}b" \
        --mca btl_tcp_if_include 10.77.0.0/24 -H "${hosts:-beeline-a:2,beeline-b:2}" \
        -x UCX_TLS=tcp,self "$@"
}

failures=0
# expect TEXT PATTERN COMMAND...
expect() {
    text=$1 pattern=$2
    shift 2
    if ! on_two_nodes "$@" >"$work/output" 2>&1; then
        echo "FAIL: $text: exit code not 0"
        failures=$((failures + 1))
    elif ! grep -qE "$pattern" "$work/output"; then
        echo "FAIL: $text: no line with '$pattern'"
        failures=$((failures + 1))
    fi
    cat "$work/output"
}

bench=$top_builddir/beeline-bench
expect "large device buffers" '^1048576 .* staged +yes' --map-by node -n 2 "$bench" latency -d cuda -m 8:1M -i 20
expect "host buffers" '^65536 .* ucx +yes' --map-by node -n 2 "$bench" latency -m 8:64K -i 20
expect "allreduce of device buffers" '^65536 .* yes' -n 4 "$bench" allreduce -d cuda -m 64K:64K -i 5
expect "matching rules" '^OK' -n 4 "$top_builddir/tests/mpi/p2p_rules" host device
# Collectives by every algorithm, on nodes with equal and with different numbers of ranks.
matrix=$top_builddir/tests/mpi/coll_matrix
expect "collectives, one rank a node" '^OK' --map-by node -n 2 "$matrix" cases 4 seed 21 device
hosts=beeline-a:3,beeline-b:2 expect "collectives, three ranks and two" '^OK' -n 5 "$matrix" cases 4 seed 22 device
hosts=beeline-a:1,beeline-b:3 expect "collectives, one rank and three" '^OK' -n 4 "$matrix" cases 4 seed 23 device
hosts=
# Reproducible reductions give the bits that they give on one node.
one_node=$("$launch" --gpus 2 --timeout 60 --mca coll_beeline_reproducible 1 -n 4 "$top_builddir/tests/mpi/reproducible" device |
    grep '^digest')
expect "reproducible reductions" "^${one_node:-no digest}\$" --mca coll_beeline_reproducible 1 -n 4 \
    "$top_builddir/tests/mpi/reproducible" device
# The second node has no driver: no rank may choose anything for the other.
cat >"$work/bare" <<'END'
#!/bin/sh
[ "$(hostname)" != beeline-b ] || unset LD_LIBRARY_PATH LD_PRELOAD
exec "$@"
END
chmod +x "$work/bare"
expect "a node without a driver" '^OK' --map-by node -n 2 "$work/bare" "$top_builddir/tests/mpi/peers" gpus host
expect "an allreduce beside a node without a driver" '^OK' --map-by node -n 4 "$work/bare" \
    "$top_builddir/tests/mpi/peers" --allreduce gpu0 host gpu1 host
[ "$failures" -eq 0 ]
