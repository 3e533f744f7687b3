# tests/world/: N ranks in one process over a loopback transport.
if HAVE_GTEST
check_PROGRAMS += tests/world/allreduce_test
TESTS += tests/world/allreduce_test
tests_world_allreduce_test_SOURCES = tests/world/allreduce_cases.cpp tests/world/allreduce_cases.hpp \
	tests/world/allreduce_test.cpp tests/world/loopback.cpp tests/world/loopback.hpp
tests_world_allreduce_test_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS)
tests_world_allreduce_test_LDADD = libcore.la $(GTEST_LIBS)
endif
