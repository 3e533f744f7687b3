# tests/model/: random sequences of operations against models; one program.
model_sources = tests/support/main.cpp \
	tests/model/layout_model_test.cpp tests/model/matcher_model_test.cpp \
	tests/model/wire_model_test.cpp
if HAVE_GTEST
check_PROGRAMS += tests/model/model_tests
TESTS += tests/model/model_tests
tests_model_model_tests_SOURCES = $(model_sources)
tests_model_model_tests_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests $(GTEST_CFLAGS)
tests_model_model_tests_LDADD = libcore.la $(GTEST_LIBS) -lrapidcheck
endif
