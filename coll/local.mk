# coll/: the way of a collective.
core_sources += \
	coll/collective.cpp coll/collective.hpp \
	coll/exec/device_engine.cpp coll/exec/device_engine.hpp \
	coll/exec/device_home.cpp coll/exec/device_home.hpp coll/exec/engine.hpp \
	coll/exec/fused.cpp coll/exec/fused.hpp coll/exec/fused_agreement.cpp \
	coll/exec/fused_kernels.cpp coll/exec/fused_kernels.hpp \
	coll/exec/fused_workspace.cpp coll/exec/fused_workspace.hpp \
	coll/kernel/fused.hpp coll/kernel/fused_image.hpp coll/select/fused.cpp coll/select/fused.hpp \
	coll/exec/host_driven.cpp coll/exec/host_driven.hpp \
	coll/exec/host_engine.cpp coll/exec/host_engine.hpp coll/exec/transport.hpp \
	coll/kernel/image.hpp coll/kernel/kernel_table.cpp coll/kernel/reduce_host.hpp coll/kernel/types.def \
	coll/kernel/types.hpp \
	coll/pattern/chunks.hpp coll/pattern/doubling.hpp coll/pattern/ring.hpp \
	coll/pattern/binomial.hpp \
	coll/plan/algorithm.cpp coll/plan/algorithm.hpp coll/plan/collective.hpp \
	coll/plan/emitter.cpp coll/plan/emitter.hpp coll/plan/entries.hpp \
	coll/plan/imported.cpp coll/plan/imported.hpp coll/plan/json.hpp coll/plan/msccl.cpp coll/plan/msccl.hpp \
	coll/plan/msccl_file.cpp coll/plan/msccl_file.hpp coll/plan/xml.cpp coll/plan/xml.hpp \
	coll/plan/loaded.cpp coll/plan/loaded.hpp coll/plan/loops.cpp coll/plan/loops.hpp coll/plan/turn_over.cpp \
	coll/plan/meaning.cpp coll/plan/meaning.hpp \
	coll/plan/validate.cpp coll/plan/validate.hpp coll/plan/validate_local.cpp \
	coll/plan/layout.cpp coll/plan/layout.hpp coll/plan/print.cpp coll/plan/request.hpp \
	coll/plan/schedule.hpp coll/plan/transform.cpp coll/plan/transform.hpp \
	coll/pattern/bine.hpp coll/pattern/double_tree.hpp coll/plan/halving.hpp coll/plan/steps.hpp \
	coll/pattern/pat.hpp coll/plan/pat.hpp \
	coll/plan/allgather_bruck.cpp \
	coll/plan/allgather_direct.cpp \
	coll/plan/allgather_pat.cpp \
	coll/plan/allgather_recursive_doubling.cpp \
	coll/plan/allgather_ring.cpp \
	coll/plan/allreduce_bine.cpp \
	coll/plan/allreduce_bruck.cpp \
	coll/plan/allreduce_double_tree.cpp \
	coll/plan/allreduce_hierarchical.cpp \
	coll/plan/allreduce_one_shot.cpp \
	coll/plan/allreduce_pat.cpp \
	coll/plan/allreduce_rabenseifner.cpp \
	coll/plan/allreduce_recursive_doubling.cpp \
	coll/plan/allreduce_ring.cpp \
	coll/plan/allreduce_two_shot.cpp \
	coll/plan/alltoall_bruck.cpp \
	coll/plan/alltoall_direct.cpp \
	coll/plan/alltoall_pairwise.cpp \
	coll/plan/barrier_dissemination.cpp \
	coll/plan/bcast_binomial.cpp \
	coll/plan/bcast_chain.cpp \
	coll/plan/bcast_double_tree.cpp \
	coll/plan/bcast_scatter_allgather.cpp \
	coll/plan/exscan_linear.cpp \
	coll/plan/exscan_recursive_doubling.cpp \
	coll/plan/gather_binomial.cpp \
	coll/plan/gather_linear.cpp \
	coll/plan/neighbor_direct.cpp \
	coll/plan/reduce_binomial.cpp \
	coll/plan/reduce_linear.cpp \
	coll/plan/reduce_rabenseifner.cpp \
	coll/plan/reduce_scatter_bruck.cpp \
	coll/plan/reduce_scatter_direct.cpp \
	coll/plan/reduce_scatter_pat.cpp \
	coll/plan/reduce_scatter_recursive_halving.cpp \
	coll/plan/reduce_scatter_ring.cpp \
	coll/plan/scan_linear.cpp \
	coll/plan/scan_recursive_doubling.cpp \
	coll/plan/scatter_binomial.cpp \
	coll/plan/scatter_linear.cpp \
	coll/select/model.hpp coll/select/select.cpp coll/select/select.hpp \
	coll/select/schedule_files.cpp coll/select/schedule_files.hpp \
	coll/select/tuning.cpp coll/select/tuning.hpp
if HAVE_JSON
core_sources += coll/plan/json.cpp coll/plan/json_format.hpp coll/plan/json_write.cpp
endif
libcore_la_LIBADD += libkernel.la

# The reductions for the CPU need the vectoriser whatever -O says, and the image needs its path. (The image is
# compiled again when source_hash.h, made together with the PTX files, changes.)
noinst_LTLIBRARIES += libkernel.la
libkernel_la_SOURCES = coll/kernel/embed.hpp coll/kernel/fused_image.cpp coll/kernel/fused_source_hash.h \
	coll/kernel/image.cpp coll/kernel/reduce_host.cpp coll/kernel/elements.inc \
	coll/kernel/functors.hpp coll/kernel/reduce.inc coll/kernel/source_hash.h
libkernel_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DBEELINE_PTX_FOLDER='"$(abs_top_srcdir)/coll/kernel"'
# No fused multiply-add: every product rounds, on all processors alike.
kernel_cxxflags = $(AM_CXXFLAGS) -ftree-vectorize -fvect-cost-model=dynamic -ffp-contract=off
libkernel_la_CXXFLAGS = $(kernel_cxxflags)
EXTRA_DIST += coll/kernel/reduce_floating.ptx coll/kernel/reduce_integer.ptx coll/kernel/reduce_logical.ptx \
	coll/kernel/reduce_pair.ptx coll/kernel/reduce_small.ptx coll/kernel/reduce.cu coll/kernel/regenerate.sh
fused_images = coll/kernel/fused_floating.ptx coll/kernel/fused_integer.ptx coll/kernel/fused_logical.ptx \
	coll/kernel/fused_pair.ptx coll/kernel/fused_small.ptx
EXTRA_DIST += $(fused_images) coll/kernel/fused.cu coll/kernel/regenerate_fused.sh

# The same kernels for the software CUDA device.
kerneltwindir = $(libdir)/beeline-softcuda
kerneltwin_LTLIBRARIES = libbeeline_kernels.la
libbeeline_kernels_la_SOURCES = coll/kernel/fused_twins.cpp coll/kernel/fused.inc coll/kernel/fused_source_hash.h \
	 coll/kernel/twins.cpp coll/kernel/reduce.inc coll/kernel/source_hash.h \
	src/memory/kernel/twins.cpp src/memory/kernel/runs.inc src/memory/kernel/source_hash.h
libbeeline_kernels_la_LDFLAGS = -module -avoid-version -shared

# Proofs over many worlds, and pictures, for tests and tools.
noinst_LTLIBRARIES += libprove.la
libprove_la_SOURCES = coll/plan/draw.cpp coll/plan/draw.hpp \
	coll/plan/timeline.cpp coll/plan/timeline.hpp \
	coll/plan/prove.cpp coll/plan/prove.hpp

# For whoever changes the kernels and has a CUDA Toolkit.
.PHONY: regenerate-ptx
regenerate-ptx:
	@test -n '$(NVCC)' || { echo 'regenerate-ptx needs nvcc: configure --with-cuda=DIR'; exit 1; }
	$(top_srcdir)/coll/kernel/regenerate.sh '$(NVCC)'
	$(top_srcdir)/coll/kernel/regenerate_fused.sh '$(NVCC)'
	$(top_srcdir)/src/memory/kernel/regenerate.sh '$(NVCC)'

include tests/unit/coll/local.mk
include tests/model/coll/local.mk
include tests/world/local.mk
