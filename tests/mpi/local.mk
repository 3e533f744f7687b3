# tests/mpi/: programs that run under mpirun, and the scripts that run them.
mpi_test_cppflags = $(MPI_PROGRAM_CPPFLAGS)
mpi_test_ldadd = libgpu.la $(OMPI_LIBS)

check_PROGRAMS += p2p_matrix
p2p_matrix_SOURCES = tests/mpi/p2p_matrix.cpp tests/mpi/harness.hpp
p2p_matrix_CPPFLAGS = $(mpi_test_cppflags)
p2p_matrix_LDADD = $(mpi_test_ldadd)
