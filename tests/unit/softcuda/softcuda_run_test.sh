#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# softcuda-run: the environment it makes, and what it refuses.
set -u
run=$top_builddir/softcuda-run
failures=0

expect() { # expect DESCRIPTION STATUS TEXT COMMAND...: exit status and a part of the output
    what=$1
    status=$2
    text=$3
    shift 3
    output=$("$@" 2>&1)
    got=$?
    case $output in
        *"$text"*) ;;
        *) got="$got, output: $output" ;;
    esac
    if [ "$got" != "$status" ]; then
        echo "FAIL $what: expected status $status and '$text', got $got"
        failures=$((failures + 1))
    fi
}

expect 'gpus reach the command' 0 'gpus 3' "$run" -g 3 -- sh -c 'echo gpus $SOFTCUDA_DEVICES'
expect 'memory has suffixes' 0 'SOFTCUDA_MEMORY=67108864' "$run" --memory 64M --print
expect 'topology' 0 'SOFTCUDA_TOPOLOGY=pcie' "$run" --topology=pcie --print
expect 'libraries come first' 0 "LD_LIBRARY_PATH=$top_builddir/.libs:/elsewhere" \
    env LD_LIBRARY_PATH=/elsewhere "$run" --print
expect 'status of the command' 7 '' "$run" sh -c 'exit 7'
expect 'no command' 2 'no command given' "$run" -g 2
expect 'unknown command' 127 'command not found' "$run" no-such-command
expect 'bad number' 2 '0 to 16' "$run" -g many true
expect 'too many' 2 '0 to 16' "$run" -g 17 true
expect 'bad topology' 2 'nvlink, pcie, none' "$run" --topology ring true
expect 'bad memory' 2 'at least 2M' "$run" --memory 1K true
expect 'missing value' 2 'needs a value' "$run" -g
expect 'unknown option' 2 'unknown option' "$run" --nonsense true
expect 'help' 0 'usage: softcuda-run' "$run" --help

# A copy elsewhere finds nothing and says so.
place=$(mktemp -d)
sed "s|^configured_dir=.*|configured_dir=$place/none|" "$run" >"$place/softcuda-run"
chmod +x "$place/softcuda-run"
expect 'no libraries' 2 'was not found' "$place/softcuda-run" true
rm -r "$place"

[ "$failures" -eq 0 ] && echo 'softcuda-run: all as expected'
exit "$failures"
