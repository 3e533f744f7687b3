# tests/: one fragment for each ring. Scripts and programs find the trees by these two variables.
AM_TESTS_ENVIRONMENT = \
	top_srcdir='$(abs_top_srcdir)'; export top_srcdir; \
	top_builddir='$(abs_top_builddir)'; export top_builddir; \
	CXX='$(CXX)'; export CXX; \
	HEADER_FLAGS='$(DEFS) -DOMPI_SKIP_MPICXX=1 -isystem $(abs_top_srcdir)/plugin/compat/include $(OMPI_CPPFLAGS) $(UCX_CFLAGS) $(BEELINE_CXXFLAGS)'; export HEADER_FLAGS;
TEST_EXTENSIONS = .sh
EXTRA_DIST += tests/support/asan.supp tests/support/tsan.supp
EXTRA_DIST += tests/support/guard_page.hpp tests/support/log_capture.hpp tests/support/uniform.hpp
include tests/unit/local.mk
include tests/model/local.mk
include tests/load/local.mk
include tests/mpi/local.mk
include tests/conformance/local.mk
include tests/rdma/local.mk
EXTRA_DIST += tests/gpu/run.sh tests/faults.md tests/README.md
