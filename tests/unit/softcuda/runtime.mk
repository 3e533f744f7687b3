# tests/unit/softcuda/: the software CUDA runtime, and its declarations against the toolkit's.
EXTRA_DIST += \
	tests/unit/softcuda/runtime_abi_test.cpp tests/unit/softcuda/runtime_facts.hpp \
	tests/unit/softcuda/runtime_facts.inc tests/unit/softcuda/runtime_facts_softcuda.cpp \
	tests/unit/softcuda/runtime_facts_toolkit.cpp tests/unit/softcuda/runtime_names.awk

tests/unit/softcuda/runtime_names.inc: $(softcudart_headers) tests/unit/softcuda/runtime_names.awk
	$(AM_V_GEN)$(MKDIR_P) tests/unit/softcuda && cd $(srcdir) && \
	$(AWK) -f tests/unit/softcuda/runtime_names.awk $(softcudart_headers) \
	  > $(abs_builddir)/$@.tmp && mv $(abs_builddir)/$@.tmp $(abs_builddir)/$@
CLEANFILES += tests/unit/softcuda/runtime_names.inc

if HAVE_GTEST
# The kernel twin is a library of its own, which the driver opens; -rpath makes libtool build it shared.
check_LTLIBRARIES += tests/unit/softcuda/runtime_kernels.la
tests_unit_softcuda_runtime_kernels_la_SOURCES = tests/unit/softcuda/runtime_kernels.cpp
tests_unit_softcuda_runtime_kernels_la_LDFLAGS = -module -avoid-version -rpath $(abs_builddir)/none

check_PROGRAMS += tests/unit/softcuda/runtime_test
TESTS += tests/unit/softcuda/runtime_test
tests_unit_softcuda_runtime_test_SOURCES = \
	tests/unit/softcuda/runtime_fixture.hpp tests/unit/softcuda/runtime_launch_test.cpp \
	tests/unit/softcuda/runtime_test.cpp
tests_unit_softcuda_runtime_test_CPPFLAGS = $(softcudart_cppflags) $(GTEST_CFLAGS) \
	-DRUNTIME_TEST_KERNELS='"$(abs_builddir)/tests/unit/softcuda/.libs/runtime_kernels.so"'
tests_unit_softcuda_runtime_test_LDFLAGS = -Lsoftcuda/dev \
	-Wl,-rpath,$(abs_builddir)/.libs -Wl,-rpath-link,.libs
tests_unit_softcuda_runtime_test_LDADD = -lcudart $(GTEST_LIBS)
tests_unit_softcuda_runtime_test_DEPENDENCIES = softcuda/dev/libcudart.so \
	tests/unit/softcuda/runtime_kernels.la
if HAVE_CUDA_TOOLKIT
check_LTLIBRARIES += tests/unit/softcuda/libruntime_toolkit.la
tests_unit_softcuda_libruntime_toolkit_la_SOURCES = tests/unit/softcuda/runtime_facts_toolkit.cpp
tests_unit_softcuda_libruntime_toolkit_la_CPPFLAGS = -I$(builddir) -isystem $(CUDA_TOOLKIT)/include
tests_unit_softcuda_libruntime_toolkit_la_CXXFLAGS = $(AM_CXXFLAGS) -Wno-deprecated-declarations
check_PROGRAMS += tests/unit/softcuda/runtime_abi_test
TESTS += tests/unit/softcuda/runtime_abi_test
tests_unit_softcuda_runtime_abi_test_SOURCES = \
	tests/unit/softcuda/runtime_abi_test.cpp tests/unit/softcuda/runtime_facts_softcuda.cpp
tests_unit_softcuda_runtime_abi_test_CPPFLAGS = $(softcudart_cppflags) -I$(builddir) $(GTEST_CFLAGS)
tests_unit_softcuda_runtime_abi_test_LDADD = tests/unit/softcuda/libruntime_toolkit.la $(GTEST_LIBS)
tests/unit/softcuda/tests_unit_softcuda_libruntime_toolkit_la-runtime_facts_toolkit.lo: \
	tests/unit/softcuda/runtime_names.inc
tests/unit/softcuda/runtime_abi_test-runtime_facts_softcuda.$(OBJEXT): \
	tests/unit/softcuda/runtime_names.inc
endif
endif
