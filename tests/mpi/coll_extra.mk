# --- collectives: threads, reproducible results, tuning files, budgets
check_PROGRAMS += tests/mpi/coll_budget tests/mpi/coll_threads tests/mpi/reproducible
tests_mpi_coll_budget_SOURCES = tests/mpi/coll_budget.cpp tests/mpi/harness.hpp
tests_mpi_coll_budget_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_coll_budget_LDADD = $(mpi_test_ldadd)
tests_mpi_coll_threads_SOURCES = tests/mpi/coll_threads.cpp tests/mpi/contexts.hpp tests/mpi/harness.hpp
tests_mpi_coll_threads_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_coll_threads_LDADD = $(mpi_test_ldadd)
tests_mpi_reproducible_SOURCES = tests/mpi/reproducible.cpp tests/mpi/harness.hpp
tests_mpi_reproducible_CPPFLAGS = $(mpi_test_cppflags) -I$(top_srcdir)/include
tests_mpi_reproducible_LDADD = libbeeline_types.la $(mpi_test_ldadd)
coll_extra_scripts = tests/mpi/coll_budget_test.sh tests/mpi/coll_threads_test.sh tests/mpi/reproducible_test.sh tests/mpi/schedule_files_test.sh tests/mpi/tune_test.sh tests/mpi/tuning_test.sh
TESTS += $(coll_extra_scripts)
EXTRA_DIST += $(coll_extra_scripts)
