# The reductions' rules against Open MPI's own.
check_PROGRAMS += tests/mpi/op_rules
TESTS += tests/mpi/op_rules_test.sh
EXTRA_DIST += tests/mpi/op_rules_test.sh
tests_mpi_op_rules_SOURCES = tests/mpi/op_rules.cpp tests/support/op_values.cpp tests/support/op_values.hpp \
	plugin/machine.cpp plugin/machine.def plugin/machine.hpp
tests_mpi_op_rules_CPPFLAGS = $(plugin_cppflags)
tests_mpi_op_rules_CXXFLAGS = $(AM_CXXFLAGS) $(OMPI_CXXFLAGS)
tests_mpi_op_rules_LDADD = libcore.la $(OMPI_LIBS)

# The datatypes of include/beeline/types.h.
check_PROGRAMS += tests/mpi/extension_types
TESTS += tests/mpi/extension_types_test.sh
EXTRA_DIST += tests/mpi/extension_types_test.sh
tests_mpi_extension_types_SOURCES = tests/mpi/extension_types.cpp tests/mpi/harness.hpp
tests_mpi_extension_types_CPPFLAGS = $(mpi_test_cppflags) -I$(top_srcdir)/include
tests_mpi_extension_types_LDADD = libbeeline_types.la $(mpi_test_ldadd)
