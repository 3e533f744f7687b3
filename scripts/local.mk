# scripts/: setup, demo and check, for a source tree; nothing of them is installed.
EXTRA_DIST += scripts/setup scripts/demo scripts/check scripts/check-rdma scripts/check-sanitizers scripts/lib.sh .ci/run
