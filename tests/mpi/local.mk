# tests/mpi/: programs that run under mpirun, and the scripts that run them.
mpi_test_cppflags = $(MPI_PROGRAM_CPPFLAGS)
mpi_test_ldadd = libgpu.la $(OMPI_LIBS)

p2p_programs = tests/mpi/p2p_matrix tests/mpi/p2p_rules tests/mpi/p2p_types tests/mpi/rma_host \
	tests/mpi/ledger tests/mpi/ledger_table
check_PROGRAMS += $(p2p_programs)
tests_mpi_p2p_matrix_SOURCES = tests/mpi/p2p_matrix.cpp tests/mpi/calls.hpp tests/mpi/harness.hpp \
	tests/mpi/routes.hpp
tests_mpi_p2p_matrix_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_p2p_matrix_LDADD = $(mpi_test_ldadd)
tests_mpi_p2p_rules_SOURCES = tests/mpi/p2p_rules.cpp tests/mpi/harness.hpp
tests_mpi_p2p_rules_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_p2p_rules_LDADD = $(mpi_test_ldadd)
tests_mpi_p2p_types_SOURCES = tests/mpi/p2p_types.cpp tests/mpi/harness.hpp
tests_mpi_p2p_types_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_p2p_types_LDADD = $(mpi_test_ldadd)
tests_mpi_rma_host_SOURCES = tests/mpi/rma_host.cpp tests/mpi/harness.hpp
tests_mpi_rma_host_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_rma_host_LDADD = $(mpi_test_ldadd)
tests_mpi_ledger_SOURCES = tests/mpi/ledger.cpp tests/mpi/harness.hpp
tests_mpi_ledger_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_ledger_LDADD = $(mpi_test_ldadd)
tests_mpi_ledger_table_SOURCES = tests/mpi/ledger_table.cpp tests/mpi/harness.hpp
tests_mpi_ledger_table_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_ledger_table_LDADD = $(mpi_test_ldadd)

semantics_programs = tests/mpi/p2p_random tests/mpi/communicators tests/mpi/joining \
	tests/mpi/threads tests/mpi/contexts tests/mpi/endings
check_PROGRAMS += $(semantics_programs)
tests_mpi_p2p_random_SOURCES = tests/mpi/p2p_random.cpp tests/mpi/arena.hpp tests/mpi/completion.hpp \
	tests/mpi/harness.hpp tests/mpi/judge.hpp tests/mpi/program.cpp tests/mpi/program.hpp
tests_mpi_p2p_random_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_p2p_random_LDADD = $(mpi_test_ldadd)
tests_mpi_communicators_SOURCES = tests/mpi/communicators.cpp tests/mpi/harness.hpp
tests_mpi_communicators_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_communicators_LDADD = $(mpi_test_ldadd)
tests_mpi_joining_SOURCES = tests/mpi/joining.cpp tests/mpi/harness.hpp
tests_mpi_joining_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_joining_LDADD = $(mpi_test_ldadd)
tests_mpi_threads_SOURCES = tests/mpi/threads.cpp tests/mpi/contexts.hpp tests/mpi/harness.hpp
tests_mpi_threads_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_threads_LDADD = $(mpi_test_ldadd)
tests_mpi_contexts_SOURCES = tests/mpi/contexts.cpp tests/mpi/contexts.hpp tests/mpi/harness.hpp
tests_mpi_contexts_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_contexts_LDADD = $(mpi_test_ldadd)
tests_mpi_endings_SOURCES = tests/mpi/endings.cpp tests/mpi/contexts.hpp
tests_mpi_endings_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_endings_LDADD = $(mpi_test_ldadd)
semantics_scripts = tests/mpi/p2p_random_test.sh tests/mpi/communicators_test.sh tests/mpi/joining_test.sh \
	tests/mpi/threads_test.sh tests/mpi/contexts_test.sh tests/mpi/endings_test.sh
TESTS += $(semantics_scripts)
EXTRA_DIST += $(semantics_scripts)

# Kinds of memory, by the driver itself.
kinds_programs = tests/mpi/memory_kinds tests/mpi/memory_growth tests/mpi/memory_reuse \
	tests/mpi/memory_requests
check_PROGRAMS += $(kinds_programs)
tests_mpi_memory_kinds_SOURCES = tests/mpi/memory_kinds.cpp tests/mpi/memory_blocks.hpp \
	tests/mpi/harness.hpp
tests_mpi_memory_kinds_CPPFLAGS = $(mpi_test_cppflags) -I$(top_srcdir)/src/cuda/api
tests_mpi_memory_kinds_LDFLAGS = $(examples_ldflags)
tests_mpi_memory_kinds_LDADD = $(mpi_test_ldadd) -lcuda
tests_mpi_memory_kinds_DEPENDENCIES = libgpu.la $(examples_dependencies)
tests_mpi_memory_growth_SOURCES = tests/mpi/memory_growth.cpp tests/mpi/memory_blocks.hpp \
	tests/mpi/harness.hpp
tests_mpi_memory_growth_CPPFLAGS = $(mpi_test_cppflags) -I$(top_srcdir)/src/cuda/api
tests_mpi_memory_growth_LDFLAGS = $(examples_ldflags)
tests_mpi_memory_growth_LDADD = $(mpi_test_ldadd) -lcuda
tests_mpi_memory_growth_DEPENDENCIES = libgpu.la $(examples_dependencies)
tests_mpi_memory_reuse_SOURCES = tests/mpi/memory_reuse.cpp tests/mpi/memory_blocks.hpp \
	tests/mpi/harness.hpp
tests_mpi_memory_reuse_CPPFLAGS = $(mpi_test_cppflags) -I$(top_srcdir)/src/cuda/api
tests_mpi_memory_reuse_LDFLAGS = $(examples_ldflags)
tests_mpi_memory_reuse_LDADD = $(mpi_test_ldadd) -lcuda
tests_mpi_memory_reuse_DEPENDENCIES = libgpu.la $(examples_dependencies)
tests_mpi_memory_requests_SOURCES = tests/mpi/memory_requests.cpp tests/mpi/memory_blocks.hpp \
	tests/mpi/harness.hpp
tests_mpi_memory_requests_CPPFLAGS = $(mpi_test_cppflags) -I$(top_srcdir)/src/cuda/api
tests_mpi_memory_requests_LDFLAGS = $(examples_ldflags)
tests_mpi_memory_requests_LDADD = $(mpi_test_ldadd) -lcuda
tests_mpi_memory_requests_DEPENDENCIES = libgpu.la $(examples_dependencies)
kinds_scripts = tests/mpi/memory_kinds_test.sh tests/mpi/memory_growth_test.sh \
	tests/mpi/memory_reuse_test.sh tests/mpi/memory_requests_test.sh
TESTS += $(kinds_scripts)
EXTRA_DIST += $(kinds_scripts)

coll_programs = tests/mpi/collectives tests/mpi/device_calls tests/mpi/layouts
check_PROGRAMS += $(coll_programs)
tests_mpi_collectives_SOURCES = tests/mpi/collectives.cpp tests/mpi/collectives.hpp \
	tests/mpi/collectives_intra.cpp tests/mpi/collectives_topology.cpp tests/mpi/differential.hpp
tests_mpi_collectives_CPPFLAGS = $(MPI_PROGRAM_CPPFLAGS)
tests_mpi_collectives_LDADD = libgpu.la $(OMPI_LIBS)
tests_mpi_device_calls_SOURCES = tests/mpi/device_calls.cpp tests/mpi/harness.hpp
tests_mpi_device_calls_CPPFLAGS = $(MPI_PROGRAM_CPPFLAGS)
tests_mpi_device_calls_LDADD = libgpu.la $(OMPI_LIBS)
# Open MPI's internals as the plugin sees them: types.cpp is compiled into the test.
tests_mpi_layouts_SOURCES = tests/mpi/layouts.cpp tests/mpi/structures.c tests/mpi/structures.def \
	tests/mpi/structures.h plugin/types.cpp
tests_mpi_layouts_CPPFLAGS = $(plugin_cppflags)
tests_mpi_layouts_LDADD = libcore.la $(OMPI_LIBS)
# The table of algorithms is compiled into the test.
check_PROGRAMS += tests/mpi/coll_matrix
tests_mpi_coll_matrix_SOURCES = tests/mpi/coll_matrix.cpp tests/mpi/coll_case.cpp tests/mpi/coll_case_calls.cpp tests/mpi/coll_case.hpp \
	tests/mpi/coll_elements.cpp tests/mpi/coll_groups.cpp tests/mpi/coll_groups.hpp tests/mpi/coll_served.hpp tests/mpi/harness.hpp
tests_mpi_coll_matrix_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_coll_matrix_LDADD = libgpu.la libcore.la $(OMPI_LIBS)
check_PROGRAMS += tests/mpi/coll_ledger
tests_mpi_coll_ledger_SOURCES = tests/mpi/coll_ledger.cpp tests/mpi/coll_case.cpp tests/mpi/coll_case_calls.cpp tests/mpi/coll_case.hpp \
	tests/mpi/coll_elements.cpp tests/mpi/coll_groups.cpp tests/mpi/coll_groups.hpp tests/mpi/harness.hpp
tests_mpi_coll_ledger_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_coll_ledger_LDADD = libgpu.la libcore.la $(OMPI_LIBS)
check_PROGRAMS += tests/mpi/coll_requests
tests_mpi_coll_requests_SOURCES = tests/mpi/coll_requests.cpp tests/mpi/harness.hpp
tests_mpi_coll_requests_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_coll_requests_LDADD = $(mpi_test_ldadd)
coll_scripts = tests/mpi/coll_ledger_test.sh tests/mpi/coll_requests_test.sh tests/mpi/collectives_test.sh tests/mpi/coll_matrix_test.sh tests/mpi/device_calls_test.sh tests/mpi/layouts_test.sh
TESTS += $(coll_scripts)
EXTRA_DIST += $(coll_scripts)

p2p_scripts = tests/mpi/p2p_matrix_test.sh tests/mpi/p2p_rules_test.sh tests/mpi/p2p_types_test.sh \
	tests/mpi/rma_host_test.sh tests/mpi/ledger_test.sh tests/mpi/ledger_table_test.sh \
	tests/mpi/bad_input_test.sh tests/mpi/info_test.sh tests/mpi/protocols_test.sh \
	tests/mpi/two_nodes_test.sh
TESTS += $(p2p_scripts)
EXTRA_DIST += $(p2p_scripts) tests/support/mpirun.sh tests/support/run_ranks.sh tests/support/spawning.sh

# --- the semantic suite
suite_programs = tests/mpi/p2p_errors tests/mpi/p2p_requests tests/mpi/thresholds
check_PROGRAMS += $(suite_programs)
tests_mpi_p2p_errors_SOURCES = tests/mpi/p2p_errors.cpp tests/mpi/calls.hpp tests/mpi/harness.hpp tests/mpi/routes.hpp
tests_mpi_p2p_errors_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_p2p_errors_LDADD = $(mpi_test_ldadd)
tests_mpi_p2p_requests_SOURCES = tests/mpi/p2p_requests.cpp tests/mpi/calls.hpp tests/mpi/harness.hpp \
	tests/mpi/routes.hpp
tests_mpi_p2p_requests_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_p2p_requests_LDADD = $(mpi_test_ldadd)
tests_mpi_thresholds_SOURCES = tests/mpi/thresholds.cpp tests/mpi/harness.hpp
tests_mpi_thresholds_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_thresholds_LDADD = $(mpi_test_ldadd)
suite_scripts = tests/mpi/p2p_errors_test.sh tests/mpi/p2p_requests_test.sh tests/mpi/thresholds_test.sh
TESTS += $(suite_scripts)
EXTRA_DIST += $(suite_scripts)

peers_programs = tests/mpi/peers tests/mpi/peers_order tests/mpi/manners
check_PROGRAMS += $(peers_programs)
tests_mpi_peers_SOURCES = tests/mpi/peers.cpp tests/mpi/contexts.hpp tests/mpi/harness.hpp
tests_mpi_peers_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_peers_LDADD = $(mpi_test_ldadd)
tests_mpi_peers_order_SOURCES = tests/mpi/peers_order.cpp tests/mpi/contexts.hpp \
	tests/mpi/harness.hpp
tests_mpi_peers_order_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_peers_order_LDADD = $(mpi_test_ldadd)
tests_mpi_manners_SOURCES = tests/mpi/manners.cpp tests/mpi/contexts.hpp tests/mpi/harness.hpp
tests_mpi_manners_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_manners_LDADD = $(mpi_test_ldadd)
peers_scripts = tests/mpi/peers_visibility_test.sh tests/mpi/peers_topology_test.sh \
	tests/mpi/peers_drivers_test.sh tests/mpi/peers_namespaces_test.sh tests/mpi/peers_order_test.sh \
	tests/mpi/manners_test.sh tests/mpi/missing_plugin_test.sh \
	tests/mpi/short_jobs_test.sh
TESTS += $(peers_scripts)
EXTRA_DIST += $(peers_scripts) tests/mpi/peers_lib.sh tests/support/per_rank.sh

# Tests under mpirun use an installation below the build folder, whatever the prefix.
check_DATA = stage.stamp
stage.stamp: $(LTLIBRARIES) $(PROGRAMS) $(SCRIPTS) Makefile
	$(AM_V_GEN)rm -rf stage && $(MAKE) $(AM_MAKEFLAGS) install DESTDIR='$(abs_builddir)/stage' \
		>stage.log 2>&1 || { cat stage.log; exit 1; }
	$(AM_V_at)touch $@
CLEANFILES += stage.stamp stage.log
clean-local: clean-stage
clean-stage:
	rm -rf stage
.PHONY: clean-stage

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

# --- messages and datatypes beyond 32 bits
check_PROGRAMS += tests/mpi/large_counts
tests_mpi_large_counts_SOURCES = tests/mpi/large_counts.cpp tests/mpi/harness.hpp
tests_mpi_large_counts_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_large_counts_LDADD = $(mpi_test_ldadd)
TESTS += tests/mpi/large_counts_test.sh
EXTRA_DIST += tests/mpi/large_counts_test.sh

# --- progress by a thread while the application computes
check_PROGRAMS += tests/mpi/async_progress
tests_mpi_async_progress_SOURCES = tests/mpi/async_progress.cpp tests/mpi/harness.hpp
tests_mpi_async_progress_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_async_progress_LDADD = $(mpi_test_ldadd)
TESTS += tests/mpi/async_progress_test.sh
EXTRA_DIST += tests/mpi/async_progress_test.sh

# --- tools that open and close the components
check_PROGRAMS += tests/mpi/tool_sessions
tests_mpi_tool_sessions_SOURCES = tests/mpi/tool_sessions.cpp tests/mpi/harness.hpp
tests_mpi_tool_sessions_CPPFLAGS = $(mpi_test_cppflags)
tests_mpi_tool_sessions_LDADD = $(mpi_test_ldadd)
TESTS += tests/mpi/tool_sessions_test.sh
EXTRA_DIST += tests/mpi/tool_sessions_test.sh

include tests/mpi/coll_extra.mk
include tests/mpi/kernels.mk
include tests/mpi/fused.mk
