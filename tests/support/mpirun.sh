#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs a program under mpirun with a chosen stack, on machines small and large, as root or as a user.
#   mpirun.sh [--stack beeline|coll|installed|ob1|ucx] [--gpus N] [--timeout SECONDS] MPIRUN-ARGUMENTS... PROGRAM ...
# --stack    beeline (default): the components of this build; coll: of them, only coll/beeline over pml/ob1;
#            installed: the same by PREFIX's beeline.conf;
#            ob1, ucx: Open MPI's own, without Beeline
# --gpus     run with N virtual GPUs of SoftCUDA; 0 (default): with whatever driver the machine has
# --timeout  end the job after this many seconds (default 60), exit code 124
# BEELINE_BUILD names the build folder (default: the current one). What is installed is looked for under
# its stage/ first, where "make check" puts it, then under the configured prefix.
# BEELINE_RESIDENT names more libraries, separated by colons, that are loaded in every rank from start to end, and with
# --stack beeline or coll the components are then too: a sanitizer knows nothing of what is loaded late and unloaded.
set -eu

stack=beeline
gpus=0
seconds=60
while [ $# -gt 0 ]; do
    case $1 in
        --stack) stack=$2; shift 2 ;;
        --gpus) gpus=$2; shift 2 ;;
        --timeout) seconds=$2; shift 2 ;;
        *) break ;;
    esac
done

build=${BEELINE_BUILD:-$PWD}
if [ ! -r "$build/tests/support/env.sh" ]; then
    echo "mpirun.sh: $build is not a configured build folder; set BEELINE_BUILD" >&2
    exit 2
fi
. "$build/tests/support/env.sh"
stage=
if [ -d "$build/stage$componentdir" ]; then
    stage=$build/stage
fi

if [ "$(id -u)" -eq 0 ]; then
    # Open MPI asks twice before it runs as root; in a container or a test there is often no one else.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

if [ ! -w /dev/shm ] && [ -z "${UCX_TLS:-}" ]; then
    # UCX gives up where it cannot make POSIX shared memory (a bare chroot); System V's it can.
    export UCX_TLS=^posix
fi

# More ranks than cores are fine here, and no rank may be tied to a core another one spins on.
set -- --oversubscribe --bind-to none "$@"
case $stack in
    beeline | coll)
        pml=beeline
        [ "$stack" = beeline ] || pml=ob1
        # The components by their place, not by beeline.conf, whose paths are those after installation.
        set -- --mca pml $pml --mca mca_base_component_path "SYSTEM_DEFAULT:$stage$componentdir" "$@"
        preload=$stage$componentdir/../beeline/libbeeline_preload.so
        if [ -r "$preload" ]; then
            if [ -n "${BEELINE_RESIDENT:-}" ]; then
                for component in "$stage$componentdir"/mca_*.so; do
                    preload=$preload:$component
                done
                preload=$preload:$BEELINE_RESIDENT
            fi
            set -- -x "LD_PRELOAD=$preload" "$@"
        fi
        ;;
    installed) set -- --tune "$prefix/share/beeline/beeline.conf" "$@" ;;
    ob1) set -- --mca pml ob1 "$@" ;;
    # Without these two UCX declines a machine that has no InfiniBand.
    ucx) set -- --mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any "$@" ;;
    *) echo "mpirun.sh: --stack $stack: expected beeline, coll, installed, ob1 or ucx" >&2; exit 2 ;;
esac

if [ "$gpus" -gt 0 ]; then
    # -x: ranks on another node need the variables too.
    [ -z "${SOFTCUDA_HOST_ACCESS:-}" ] || set -- -x SOFTCUDA_HOST_ACCESS "$@"
    set -- "$stage$bindir/softcuda-run" --quiet -g "$gpus" -- "$BEELINE_MPIRUN" -x LD_LIBRARY_PATH \
        -x SOFTCUDA_DEVICES -x SOFTCUDA_KERNELS -x SOFTCUDA_QUIET "$@"
else
    set -- "$BEELINE_MPIRUN" "$@"
fi
# mpirun passes SIGTERM on to the ranks; the second signal is for when it cannot.
exec timeout --kill-after=5 "$seconds" "$@"
