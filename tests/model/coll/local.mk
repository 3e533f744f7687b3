# tests/model/coll/: every schedule proved symbolically, and the proof proved on planted mistakes.
if HAVE_GTEST
check_PROGRAMS += tests/model/coll/plan_test
TESTS += tests/model/coll/plan_test
tests_model_coll_plan_test_SOURCES = tests/model/coll/plan_test.cpp tests/model/coll/planted_test.cpp \
	tests/model/coll/cost_test.cpp tests/model/coll/fold_test.cpp tests/model/coll/builders.hpp tests/support/main.cpp
tests_model_coll_plan_test_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS)
tests_model_coll_plan_test_LDADD = libprove.la libcore.la $(GTEST_LIBS) -lrapidcheck

# Documents need the library that the tools are built with.
if HAVE_TOOL_LIBS
check_PROGRAMS += tests/model/coll/document_test
TESTS += tests/model/coll/document_test
tests_model_coll_document_test_SOURCES = tests/model/coll/document_test.cpp tests/model/coll/loaded_test.cpp \
	tests/model/coll/loops_test.cpp tests/model/coll/msccl_test.cpp tests/model/coll/schedule_files_test.cpp \
	tests/model/coll/builders.hpp tests/support/main.cpp
tests_model_coll_document_test_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS)
tests_model_coll_document_test_LDADD = libprove.la libcore.la $(GTEST_LIBS) -lrapidcheck
endif
endif
TESTS += tests/model/coll/plan_tool_test.sh
EXTRA_DIST += tests/model/coll/plan_tool_test.sh
