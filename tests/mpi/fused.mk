# Allreduce by one kernel.
check_PROGRAMS += tests/mpi/fused
tests_mpi_fused_SOURCES = tests/mpi/fused.cpp tests/mpi/harness.hpp
tests_mpi_fused_CPPFLAGS = $(mpi_test_cppflags) -I$(top_srcdir)
tests_mpi_fused_LDADD = $(mpi_test_ldadd)
TESTS += tests/mpi/fused_test.sh
EXTRA_DIST += tests/mpi/fused_test.sh
