# tests/unit/coll/: patterns, kernels on the CPU, the choice of a schedule.
if HAVE_GTEST
check_PROGRAMS += tests/unit/coll/coll_test
TESTS += tests/unit/coll/coll_test
tests_unit_coll_coll_test_SOURCES = tests/unit/coll/kernel_test.cpp tests/unit/coll/layout_test.cpp \
	tests/unit/coll/pattern_test.cpp tests/unit/coll/print_test.cpp tests/unit/coll/select_test.cpp \
	tests/unit/coll/small_floats_test.cpp tests/unit/coll/tuning_test.cpp tests/unit/tools/rules_test.cpp \
	tools/beeline-tune/rules.cpp tools/beeline-tune/rules.hpp
tests_unit_coll_coll_test_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS)
tests_unit_coll_coll_test_LDADD = libcore.la $(GTEST_LIBS)
endif
TESTS += tests/unit/coll/kernel_sources.sh
EXTRA_DIST += tests/unit/coll/kernel_sources.sh
TESTS += tests/unit/coll/fused_sources.sh
EXTRA_DIST += tests/unit/coll/fused_sources.sh
