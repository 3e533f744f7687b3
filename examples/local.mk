# examples/: programs for users, built here against SoftCUDA's headers and installed as sources.
# They name libcudart and libcuda without a path, so the loader decides what they run on.
examples_cppflags = -I$(top_srcdir)/softcuda/include -I$(top_srcdir)/src/cuda/api $(OMPI_CPPFLAGS)
examples_cflags = -std=c11 -Wall -Wextra
examples_ldflags = -Lsoftcuda/dev -Wl,-rpath-link,.libs
examples_dependencies = softcuda/dev/libcudart.so softcuda/dev/libcuda.so

noinst_PROGRAMS += examples/pingpong examples/allreduce examples/halo
examples_pingpong_SOURCES = examples/pingpong.c
examples_pingpong_CPPFLAGS = $(examples_cppflags)
examples_pingpong_CFLAGS = $(examples_cflags)
examples_pingpong_LDFLAGS = $(examples_ldflags)
examples_pingpong_LDADD = -lcudart $(OMPI_LIBS)
examples_pingpong_DEPENDENCIES = $(examples_dependencies)

examples_allreduce_SOURCES = examples/allreduce.c
examples_allreduce_CPPFLAGS = $(examples_cppflags)
examples_allreduce_CFLAGS = $(examples_cflags)
examples_allreduce_LDFLAGS = $(examples_ldflags)
examples_allreduce_LDADD = -lcuda $(OMPI_LIBS)
examples_allreduce_DEPENDENCIES = $(examples_dependencies)

examples_halo_SOURCES = examples/halo.c
examples_halo_CPPFLAGS = $(examples_cppflags)
examples_halo_CFLAGS = $(examples_cflags)
examples_halo_LDFLAGS = $(examples_ldflags)
examples_halo_LDADD = -lcudart $(OMPI_LIBS)
examples_halo_DEPENDENCIES = $(examples_dependencies)

examplesdir = $(docdir)/examples
dist_examples_DATA = \
	examples/README.md examples/allreduce.c examples/halo.c examples/pingpong.c
