# tests/rdma/: what runs in the guest of scripts/check-rdma, which scripts/check starts; not part of "make check".
check_PROGRAMS += tests/rdma/registrations
tests_rdma_registrations_SOURCES = tests/rdma/registrations.cpp tests/mpi/harness.hpp
tests_rdma_registrations_CPPFLAGS = $(mpi_test_cppflags)
tests_rdma_registrations_LDADD = $(mpi_test_ldadd)
EXTRA_DIST += \
	tests/rdma/lib.sh tests/rdma/limits.sh tests/rdma/linkdown.sh tests/rdma/netem.sh tests/rdma/registration.sh tests/rdma/smoke.sh \
	tests/rdma/suite.sh \
	tests/rdma/guest/image.py tests/rdma/guest/initrd_init tests/rdma/guest/on_host tests/rdma/guest/rsh_agent \
	tests/rdma/guest/start
