# tests/mpi/: programs that run under mpirun, and the scripts that run them.
mpi_test_cppflags = $(MPI_PROGRAM_CPPFLAGS)
mpi_test_ldadd = libgpu.la $(OMPI_LIBS)

check_PROGRAMS += p2p_matrix p2p_rules p2p_types rma_host
p2p_matrix_SOURCES = tests/mpi/p2p_matrix.cpp tests/mpi/harness.hpp
p2p_matrix_CPPFLAGS = $(mpi_test_cppflags)
p2p_matrix_LDADD = $(mpi_test_ldadd)
p2p_rules_SOURCES = tests/mpi/p2p_rules.cpp tests/mpi/harness.hpp
p2p_rules_CPPFLAGS = $(mpi_test_cppflags)
p2p_rules_LDADD = $(mpi_test_ldadd)
p2p_types_SOURCES = tests/mpi/p2p_types.cpp tests/mpi/harness.hpp
p2p_types_CPPFLAGS = $(mpi_test_cppflags)
p2p_types_LDADD = $(mpi_test_ldadd)
rma_host_SOURCES = tests/mpi/rma_host.cpp tests/mpi/harness.hpp
rma_host_CPPFLAGS = $(mpi_test_cppflags)
rma_host_LDADD = $(mpi_test_ldadd)

# --- the problem itself: a stock Open MPI given device memory
check_PROGRAMS += tests/mpi/problem
tests_mpi_problem_SOURCES = tests/mpi/problem.c
tests_mpi_problem_CPPFLAGS = $(examples_cppflags)
tests_mpi_problem_CFLAGS = $(examples_cflags)
tests_mpi_problem_LDFLAGS = $(examples_ldflags)
tests_mpi_problem_LDADD = -lcuda $(OMPI_LIBS)
tests_mpi_problem_DEPENDENCIES = $(examples_dependencies)
TESTS += tests/mpi/stock_crashes.sh
EXTRA_DIST += tests/mpi/stock_crashes.sh
