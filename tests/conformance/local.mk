# tests/conformance/: the driver API as documented; judges SoftCUDA here, a real driver elsewhere.
check_PROGRAMS += beeline-conformance
beeline_conformance_SOURCES = \
	tests/conformance/contexts.cpp \
	tests/conformance/copies.cpp \
	tests/conformance/driver.cpp \
	tests/conformance/driver.hpp \
	tests/conformance/driver_entries.def \
	tests/conformance/errors.cpp \
	tests/conformance/host_memory.cpp \
	tests/conformance/ipc.cpp \
	tests/conformance/managed.cpp \
	tests/conformance/peers.cpp \
	tests/conformance/pointers.cpp \
	tests/conformance/pools.cpp \
	tests/conformance/streams.cpp \
	tests/conformance/suite.cpp \
	tests/conformance/suite.hpp \
	tests/conformance/tools.cpp \
	tests/conformance/tools.hpp \
	tests/conformance/virtual_memory.cpp
beeline_conformance_LDADD = -ldl $(PTHREAD_LIBS)

TESTS += tests/conformance/softcuda.sh
EXTRA_DIST += tests/conformance/softcuda.sh
