# tests/unit/softcuda/: the software CUDA driver, and Beeline's declarations against the toolkit's.

# --- our cuda.h is the toolkit's, where one is installed
cuda_api_headers = \
	src/cuda/api/cuda.h src/cuda/api/cuda_devices.h src/cuda/api/cuda_functions.h \
	src/cuda/api/cuda_memory.h src/cuda/api/cuda_results.h
EXTRA_DIST += $(cuda_api_headers) tests/unit/softcuda/api_facts.inc
EXTRA_DIST += \
	tests/unit/softcuda/api_facts.hpp tests/unit/softcuda/api_facts_beeline.cpp \
	tests/unit/softcuda/api_facts_toolkit.cpp tests/unit/softcuda/api_test.cpp

# The toolkit hides its older revisions of cuCtxCreate.
tests/unit/softcuda/api_names.inc: $(cuda_api_headers)
	$(AM_V_GEN)$(MKDIR_P) tests/unit/softcuda && cd $(srcdir) && \
	sed -n -e '/cuCtxCreate_v[23]/d' -e 's/^ *\(CU[A-Z0-9_a-z]*\) = .*/VALUE(\1)/p' \
	  -e 's/^CUresult \(cu[A-Za-z0-9_]*\)(.*/FUNCTION(\1)/p' $(cuda_api_headers) \
	  > $(abs_builddir)/$@.tmp && mv $(abs_builddir)/$@.tmp $(abs_builddir)/$@
CLEANFILES += tests/unit/softcuda/api_names.inc

if HAVE_GTEST
if HAVE_CUDA_TOOLKIT
check_LTLIBRARIES += tests/unit/softcuda/libapi_toolkit.la
tests_unit_softcuda_libapi_toolkit_la_SOURCES = tests/unit/softcuda/api_facts_toolkit.cpp
tests_unit_softcuda_libapi_toolkit_la_CPPFLAGS = -I$(builddir) -isystem $(CUDA_TOOLKIT)/include
check_PROGRAMS += tests/unit/softcuda/api_test
TESTS += tests/unit/softcuda/api_test
tests_unit_softcuda_api_test_SOURCES = \
	tests/unit/softcuda/api_test.cpp tests/unit/softcuda/api_facts_beeline.cpp
tests_unit_softcuda_api_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(builddir) $(GTEST_CFLAGS)
tests_unit_softcuda_api_test_LDADD = tests/unit/softcuda/libapi_toolkit.la $(GTEST_LIBS)
tests/unit/softcuda/tests_unit_softcuda_libapi_toolkit_la-api_facts_toolkit.lo: \
	tests/unit/softcuda/api_names.inc
tests/unit/softcuda/api_test-api_facts_beeline.$(OBJEXT): tests/unit/softcuda/api_names.inc
endif
endif

# --- the driver itself
EXTRA_DIST += tests/unit/softcuda/softcuda_run_test.sh
TESTS += tests/unit/softcuda/softcuda_run_test.sh
if HAVE_GTEST
check_PROGRAMS += tests/unit/softcuda/driver_test
TESTS += tests/unit/softcuda/driver_test tests/unit/softcuda/driver_async_test.sh
EXTRA_DIST += tests/unit/softcuda/driver_async_test.sh
tests_unit_softcuda_driver_test_SOURCES = \
	tests/unit/softcuda/context_test.cpp tests/unit/softcuda/copy_test.cpp \
	tests/unit/softcuda/driver_test.cpp tests/unit/softcuda/host_memory_test.cpp \
	tests/unit/softcuda/ipc_test.cpp tests/unit/softcuda/kernel_test.cpp \
	tests/unit/softcuda/memory_test.cpp tests/unit/softcuda/sparse_test.cpp \
	tests/unit/softcuda/stream_test.cpp \
	tests/unit/softcuda/support.hpp tests/unit/softcuda/vmm_test.cpp
tests_unit_softcuda_driver_test_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS)
# The test brings its kernels' twins along; the driver finds them among the program's symbols.
tests_unit_softcuda_driver_test_LDFLAGS = -export-dynamic
tests_unit_softcuda_driver_test_LDADD = libcuda.la $(GTEST_LIBS)
endif
