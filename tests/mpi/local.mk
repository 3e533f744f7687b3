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

check_PROGRAMS += collectives
collectives_SOURCES = tests/mpi/collectives.cpp tests/mpi/collectives.hpp \
	tests/mpi/collectives_intra.cpp tests/mpi/collectives_topology.cpp tests/mpi/differential.hpp
collectives_CPPFLAGS = $(mpi_test_cppflags)
collectives_LDADD = $(mpi_test_ldadd)
check_PROGRAMS += device_calls
device_calls_SOURCES = tests/mpi/device_calls.cpp tests/mpi/harness.hpp
device_calls_CPPFLAGS = $(mpi_test_cppflags)
device_calls_LDADD = $(mpi_test_ldadd)
