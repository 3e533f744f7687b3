#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# beeline-info: yes and no with their reasons, sources of parameters, explanations, and bad calls.
set -eu
BEELINE_BUILD=$top_builddir
export BEELINE_BUILD
info=$top_builddir/beeline-info
output=$(mktemp)
home=$(mktemp -d)
trap 'rm -rf "$output" "$home"' EXIT
HOME=$home
export HOME
failures=0

fail() {
    failures=$((failures + 1))
    echo "FAIL: $1; the output was:"
    cat "$output"
}

# run TEXT CODE COMMAND...: ends with that exit code.
run() {
    text=$1 code=$2
    shift 2
    got=0
    "$@" >"$output" 2>&1 || got=$?
    [ "$got" -eq "$code" ] || fail "$text: exit code $got instead of $code"
}
expect() {
    for pattern in "$@"; do
        grep -q -e "$pattern" "$output" || fail "$text: no '$pattern'"
    done
}
in_job() { "$top_srcdir/tests/support/mpirun.sh" --gpus 2 -n 1 "$@"; }

run "a job with GPUs" 0 in_job "$info"
expect "^CUDA-aware: yes" "^MPI: Open MPI v" "^Component: .*mca_pml_beeline.so" "^GPUs: 2$" "UUID [0-9a-f]*" \
    "^  pml_beeline_eager_limit  *8192 bytes  *default"
run "another pml" 1 in_job "$info" --mca pml ob1
expect "^CUDA-aware: no: the parameter pml is 'ob1' (command line)" "remedy: "
run "excluded" 1 in_job "$info" --mca pml ^beeline,cm
expect "'^beeline,cm'"
run "among others" 0 in_job "$info" --mca pml ob1,beeline
run "switched off" 1 in_job "$info" --mca pml_beeline_cuda no
expect "^CUDA-aware: no: pml_beeline_cuda is off (command line)"
run "no driver or GPU" 1 env SOFTCUDA_DEVICES=0 "$top_srcdir/tests/support/mpirun.sh" --gpus 1 -n 1 \
    env SOFTCUDA_DEVICES=0 "$info"
expect "^CUDA-aware: no: the driver " "^GPUs: 0, "
run "not loaded" 1 env -u OMPI_MCA_mca_base_component_path "$info"
expect "^CUDA-aware: no: Open MPI does not find Beeline: no mca_pml_beeline.so in /"
run "no Open MPI" 1 env PATH=/nonexistent "$info"
expect "ompi_info is not found"
run "JSON" 0 in_job "$info" --json
expect '"cuda_aware": true' '"gpus": \[' '"name": "pml_beeline_protocol"'

# Sources: the file, above it the environment, above it the command line.
mkdir "$home/.openmpi"
printf '# mine\npml_beeline_shm_slots = 32\npml_beeline_eager_limit = 4K\n' >"$home/.openmpi/mca-params.conf"
run "sources" 0 env OMPI_MCA_pml_beeline_eager_limit=1K "$info" params --mca pml_beeline_verbose 2
expect "pml_beeline_shm_slots = 32 slots  ($home/.openmpi/mca-params.conf; default 64)" \
    "pml_beeline_eager_limit = 1024 bytes  (environment; default 8192)" \
    "pml_beeline_verbose = 2  (command line; default 1)" "pml_beeline_shm = true  (default; default true)"
printf -- '--mca pml_beeline_shm_slots 16\n-x A=B\n' >"$home/tune"
run "a tune file" 0 "$info" params --tune "$home/tune"
expect "pml_beeline_shm_slots = 16 slots  ($home/tune; default 64)"
run "no such tune file" 1 "$info" params --tune "$home/none"
expect "beeline-info: the file $home/none (--tune) cannot be read"
run "an unknown parameter" 1 "$info" params --mca pml_beeline_eagre_limit 1
expect "parameter pml_beeline_eagre_limit, set by command line, is unknown"
run "a bad value" 1 "$info" params --mca pml_beeline_eager_limit banana
expect "'banana'" "64 to 65536"
rm "$home/.openmpi/mca-params.conf"

chosen() { # BYTES FROM TO PROTOCOL [ARGUMENTS...]
    bytes=$1 from=$2 to=$3 protocol=$4
    shift 4
    run "$bytes $from $to $*" 0 "$info" explain --bytes "$bytes" --from "$from" --to "$to" "$@"
    expect "^> $protocol "
}
chosen 1M device device ipc_get --same-node
chosen 1M pool device ipc_put
chosen 1M pool pool bounce
chosen 1M pool pool staged --receiver-cannot-map
chosen 1M pool pool staged --mca pml_beeline_cuda_bounce 0
chosen 1M device device ipc_put --receiver-cannot-map
chosen 1M device device staged --receiver-cannot-map --sender-cannot-map
chosen 1M device device staged --no-shared-memory --mca pml_beeline_rdma no
chosen 1M device host staged
chosen 1M device device staged --other-node --mca pml_beeline_rdma no
chosen 8K device device eager_device
chosen 8K device device eager_ucx --other-node
chosen 8K device device ipc_get --mca pml_beeline_cost_mapping 0
chosen 32K host host fragments
chosen 1G host host rendezvous_shm
chosen 1G host host rendezvous_ucx --mca pml_beeline_shm_limit 1M
chosen 1G host device self --same-process
run "an explanation as JSON" 0 "$info" explain --json
expect '"protocol": "ipc_get"' '"chosen": true' '"why_not": "larger than'
run "a size that is none" 2 "$info" explain --bytes 8Q
run "a kind that is none" 2 "$info" explain --from cloud
run "both" 2 "$info" explain --same-node --other-node
run "an unknown word" 2 "$info" explode
run "help" 0 "$info" explain --help
expect "receiver-cannot-map"
[ "$failures" -eq 0 ] && echo "OK beeline-info"
