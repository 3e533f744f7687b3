#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Gives each rank of a job its own environment.
#   mpirun ... per_rank.sh "NAME=VALUE NAME=VALUE" "NAME=VALUE" ... -- PROGRAM ARGUMENTS
# The first word is for rank 0, the next for rank 1, and so on; ranks without one share the last.
# A word may be empty, and NAME= sets an empty value. RUN=COMMAND puts a command, whose words are
# separated by commas, in front of the program.
set -eu
rank=${OMPI_COMM_WORLD_RANK:?per_rank.sh runs under mpirun}
RUN=
number=0
while [ "$1" != -- ]; do
    if [ "$number" -le "$rank" ]; then
        mine=$1
    fi
    number=$((number + 1))
    shift
done
shift
for assignment in $mine; do
    export "${assignment?}"
done
run=$(printf %s "$RUN" | tr , ' ')
unset RUN
# shellcheck disable=SC2086
exec $run "$@"
