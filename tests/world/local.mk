# tests/world/: N ranks in one process over a loopback transport.
world_sources = tests/world/allreduce_cases.cpp tests/world/allreduce_cases.hpp \
	tests/world/elements.cpp tests/world/elements.hpp \
	tests/world/loopback.cpp tests/world/loopback.hpp
if HAVE_GTEST
check_PROGRAMS += tests/world/allreduce_test
TESTS += tests/world/allreduce_test
tests_world_allreduce_test_SOURCES = $(world_sources) tests/world/allreduce_test.cpp \
	tests/world/algorithms_test.cpp tests/world/executor_test.cpp tests/model/coll/builders.hpp
tests_world_allreduce_test_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS)
tests_world_allreduce_test_LDADD = libcore.la $(GTEST_LIBS)

# The same on device memory: the software device, or with BEELINE_TEST_CUDA=libcuda.so.1 a real one.
check_PROGRAMS += tests/world/device_test
TESTS += tests/world/device_test
tests_world_device_test_SOURCES = $(world_sources) tests/world/device_memory.cpp \
	tests/world/device_memory.hpp tests/world/device_test.cpp
tests_world_device_test_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS)
tests_world_device_test_LDADD = libcore.la $(GTEST_LIBS)
check_PROGRAMS += tests/world/kernels_test
TESTS += tests/world/kernels_test
tests_world_kernels_test_SOURCES = tests/support/op_values.cpp tests/support/op_values.hpp \
	tests/world/device_memory.cpp tests/world/device_memory.hpp tests/world/kernels_test.cpp
tests_world_kernels_test_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS)
tests_world_kernels_test_LDADD = libcore.la $(GTEST_LIBS)
EXTRA_tests_world_kernels_test_DEPENDENCIES = libcuda.la libbeeline_kernels.la
EXTRA_tests_world_device_test_DEPENDENCIES = libcuda.la libbeeline_kernels.la
TESTS += tests/world/fallbacks.sh

# Engines in processes of their own, without MPI.
check_PROGRAMS += tests/world/engine_test
TESTS += tests/world/engine_test
tests_world_engine_test_SOURCES = tests/support/allocations.cpp tests/support/allocations.hpp tests/world/background_test.cpp tests/world/device_memory.cpp tests/world/device_memory.hpp \
	tests/world/engine_fault_test.cpp tests/world/engine_hostile_test.cpp \
	tests/world/engine_order_test.cpp tests/world/engine_pipe_test.cpp tests/world/engine_push_test.cpp tests/world/engine_put_test.cpp tests/world/engine_test.cpp tests/world/intruder.hpp \
	tests/world/message_memory.cpp tests/world/message_memory.hpp \
	tests/world/processes.cpp tests/world/processes.hpp tests/world/truncation_test.cpp
tests_world_engine_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests $(GTEST_CFLAGS)
tests_world_engine_test_LDADD = libcore.la $(GTEST_LIBS)
EXTRA_tests_world_engine_test_DEPENDENCIES = libcuda.la libbeeline_kernels.la
endif
EXTRA_DIST += tests/world/fallbacks.sh
if HAVE_GTEST
if HAVE_VERBS
check_PROGRAMS += tests/world/rdma_test
TESTS += tests/world/rdma_test
tests_world_rdma_test_SOURCES = tests/world/device_memory.cpp tests/world/device_memory.hpp \
	tests/world/fake_verbs.cpp tests/world/fake_verbs.hpp tests/world/message_memory.cpp \
	tests/world/message_memory.hpp tests/world/processes.cpp tests/world/processes.hpp \
	tests/world/rdma_fault_test.cpp tests/world/rdma_messages_test.cpp tests/world/rdma_nodes.hpp \
	tests/world/rdma_relay_test.cpp tests/world/rdma_test.cpp
tests_world_rdma_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests $(GTEST_CFLAGS)
tests_world_rdma_test_LDADD = libcore.la $(GTEST_LIBS)
EXTRA_tests_world_rdma_test_DEPENDENCIES = libcuda.la libbeeline_kernels.la
endif
endif
