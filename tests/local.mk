# tests/
include tests/mpi/local.mk
