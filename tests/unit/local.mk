# tests/unit/: one program; a folder's fragment adds its files to unit_sources.
unit_sources = tests/support/main.cpp \
	tests/unit/base/list_test.cpp tests/unit/base/log_test.cpp tests/unit/base/result_test.cpp \
	tests/unit/config/config_test.cpp \
	tests/unit/datatype/layout_test.cpp \
	tests/unit/engine/address_test.cpp tests/unit/engine/message_pool_test.cpp tests/unit/engine/request_table_test.cpp \
	tests/unit/match/matcher_test.cpp tests/unit/match/sequencer_test.cpp \
	tests/unit/memory/always_host_test.cpp tests/unit/memory/pointer_test.cpp \
	tests/unit/mover/cuda_ipc/fd_passing_test.cpp tests/unit/mover/cuda_ipc/verdicts_test.cpp \
	tests/unit/mover/shm/lane_test.cpp tests/unit/mover/shm/segment_test.cpp \
	tests/unit/protocol/choice_test.cpp tests/unit/protocol/chunks_test.cpp \
	tests/unit/protocol/limits_test.cpp \
	tests/unit/protocol/protocol_test.cpp tests/unit/protocol/situations.hpp \
	tests/unit/protocol/select_test.cpp tests/unit/topo/identity_test.cpp \
	tests/unit/topo/rails_test.cpp \
	tests/unit/wire/codec_test.cpp
verbs_unit_sources = tests/unit/mover/verbs/fake_gpu.hpp tests/unit/mover/verbs/fake_verbs.hpp \
	tests/unit/mover/verbs/affinity_test.cpp tests/unit/mover/verbs/device_test.cpp \
	tests/unit/mover/verbs/gid_test.cpp tests/unit/mover/verbs/parameters_test.cpp \
	tests/unit/mover/verbs/refusal_test.cpp tests/unit/mover/verbs/regions_test.cpp
if HAVE_VERBS
unit_sources += $(verbs_unit_sources)
else
EXTRA_DIST += $(verbs_unit_sources)
endif
EXTRA_DIST += tests/data/gids/README.md tests/data/gids/bond.txt tests/data/gids/connectx_roce.txt \
	tests/data/gids/connectx_vlans.txt tests/data/gids/infiniband.txt \
	tests/data/gids/infiniband_prefix.txt tests/data/gids/ipv6_only.txt tests/data/gids/no_lease.txt \
	tests/data/gids/roce_v1_only.txt tests/data/gids/soft_roce.txt
if HAVE_GTEST
check_PROGRAMS += tests/unit/unit_tests
TESTS += tests/unit/unit_tests
tests_unit_unit_tests_SOURCES = $(unit_sources)
tests_unit_unit_tests_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests $(GTEST_CFLAGS)
tests_unit_unit_tests_LDADD = libcore.la $(GTEST_LIBS) -lrapidcheck
EXTRA_tests_unit_unit_tests_DEPENDENCIES = libcuda.la

TESTS += tests/unit/memory/kernel_sources.sh
EXTRA_DIST += tests/unit/memory/kernel_sources.sh

# Those that need a device.
check_PROGRAMS += tests/unit/device_tests
TESTS += tests/unit/device_tests
tests_unit_device_tests_SOURCES = tests/unit/device_main.cpp \
	tests/unit/memory/copy_test.cpp tests/unit/memory/device_pointer_test.cpp \
	tests/unit/memory/run_kernels_test.cpp \
	tests/unit/mover/cuda_ipc/caches_test.cpp tests/unit/mover/cuda_ipc/exporter.cpp tests/unit/mover/cuda_ipc/exporter.hpp \
	tests/unit/mover/cuda_ipc/handles_test.cpp \
	tests/world/device_memory.cpp tests/world/device_memory.hpp
if HAVE_VERBS
tests_unit_device_tests_SOURCES += tests/unit/mover/verbs/device_memory_test.cpp
else
EXTRA_DIST += tests/unit/mover/verbs/device_memory_test.cpp
endif
tests_unit_device_tests_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests $(GTEST_CFLAGS)
tests_unit_device_tests_LDADD = libcore.la $(GTEST_LIBS)
EXTRA_tests_unit_device_tests_DEPENDENCIES = libcuda.la libbeeline_kernels.la
endif
