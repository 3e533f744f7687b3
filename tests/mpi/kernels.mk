# The reductions' rules against Open MPI's own.
check_PROGRAMS += tests/mpi/op_rules
TESTS += tests/mpi/op_rules_test.sh
EXTRA_DIST += tests/mpi/op_rules_test.sh
tests_mpi_op_rules_SOURCES = tests/mpi/op_rules.cpp tests/mpi/op_values.cpp tests/mpi/op_values.hpp \
	plugin/machine.cpp plugin/machine.def plugin/machine.hpp
tests_mpi_op_rules_CPPFLAGS = $(plugin_cppflags)
tests_mpi_op_rules_CXXFLAGS = $(AM_CXXFLAGS) $(OMPI_CXXFLAGS)
tests_mpi_op_rules_LDADD = libcore.la $(OMPI_LIBS)
