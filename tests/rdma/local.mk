# tests/rdma/: what runs in the guest of scripts/check-rdma, which scripts/check starts; not part of "make check".
check_PROGRAMS += tests/rdma/registrations
tests_rdma_registrations_SOURCES = tests/rdma/registrations.cpp tests/mpi/harness.hpp
tests_rdma_registrations_CPPFLAGS = $(mpi_test_cppflags)
tests_rdma_registrations_LDADD = $(mpi_test_ldadd)
if HAVE_GTEST
if HAVE_VERBS
check_PROGRAMS += tests/rdma/dma_buf
tests_rdma_dma_buf_SOURCES = tests/rdma/dma_buf.cpp tests/world/device_memory.cpp tests/world/device_memory.hpp
tests_rdma_dma_buf_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests $(GTEST_CFLAGS)
tests_rdma_dma_buf_LDADD = libcore.la $(GTEST_LIBS)
EXTRA_tests_rdma_dma_buf_DEPENDENCIES = libcuda.la libbeeline_kernels.la
check_PROGRAMS += tests/rdma/keys
tests_rdma_keys_SOURCES = tests/rdma/keys.cpp tests/world/device_memory.cpp tests/world/device_memory.hpp \
	tests/world/fake_verbs.cpp tests/world/fake_verbs.hpp tests/world/message_memory.cpp \
	tests/world/message_memory.hpp tests/world/processes.cpp tests/world/processes.hpp tests/world/rdma_nodes.hpp
tests_rdma_keys_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests $(GTEST_CFLAGS)
tests_rdma_keys_LDADD = libcore.la $(GTEST_LIBS)
EXTRA_tests_rdma_keys_DEPENDENCIES = libcuda.la libbeeline_kernels.la
endif
endif
EXTRA_DIST += \
	tests/rdma/dma_buf.cpp tests/rdma/dma_buf.sh tests/rdma/failures.sh tests/rdma/keys.cpp tests/rdma/lib.sh tests/rdma/limits.sh \
	tests/rdma/linkdown.sh tests/rdma/netem.sh tests/rdma/registration.sh tests/rdma/smoke.sh \
	tests/rdma/suite.sh \
	tests/rdma/guest/image.py tests/rdma/guest/initrd_init tests/rdma/guest/on_host tests/rdma/guest/rsh_agent \
	tests/rdma/guest/start
