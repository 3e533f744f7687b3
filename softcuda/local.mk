# softcuda/: the software CUDA device. Installed beside, never on, the default library path.
softcudadir = $(libdir)/beeline-softcuda
softcudaincludedir = $(includedir)/beeline-softcuda
softcudainclude_HEADERS = softcuda/include/softcuda.h softcuda/include/softcuda_kernel.hpp

softcuda_LTLIBRARIES = libcuda.la
libcuda_la_SOURCES = \
	softcuda/driver/access.cpp \
	softcuda/driver/arena.cpp \
	softcuda/driver/capture.cpp \
	softcuda/driver/config.cpp \
	softcuda/driver/context.cpp \
	softcuda/driver/context_api.cpp \
	softcuda/driver/copy.cpp \
	softcuda/driver/copy_api.cpp \
	softcuda/driver/device.cpp softcuda/driver/dma_buf.cpp \
	softcuda/driver/driver.cpp \
	softcuda/driver/entry.cpp \
	softcuda/driver/error.cpp \
	softcuda/driver/event.cpp \
	softcuda/driver/held.cpp \
	softcuda/driver/held.hpp \
	softcuda/driver/helpers.cpp \
	softcuda/driver/host_memory.cpp \
	softcuda/driver/ipc.cpp \
	softcuda/driver/launch.cpp \
	softcuda/driver/ledger.cpp \
	softcuda/driver/legacy.cpp \
	softcuda/driver/managed.cpp \
	softcuda/driver/memory.cpp \
	softcuda/driver/memory_api.cpp \
	softcuda/driver/memset_api.cpp \
	softcuda/driver/module.cpp \
	softcuda/driver/pointer.cpp \
	softcuda/driver/pool.cpp \
	softcuda/driver/primary.cpp \
	softcuda/driver/segment.cpp \
	softcuda/driver/slab.cpp \
	softcuda/driver/sparse.cpp \
	softcuda/driver/stream.cpp \
	softcuda/driver/stream_api.cpp \
	softcuda/driver/stream_memop.cpp \
	softcuda/driver/vmm.cpp \
	softcuda/driver/access.hpp \
	softcuda/driver/arena.hpp \
	softcuda/driver/capture.hpp \
	softcuda/driver/config.hpp \
	softcuda/driver/context.hpp \
	softcuda/driver/copy.hpp \
	softcuda/driver/device.hpp \
	softcuda/driver/driver.hpp \
	softcuda/driver/entries.def \
	softcuda/driver/errors.def \
	softcuda/driver/event.hpp \
	softcuda/driver/graveyard.hpp \
	softcuda/driver/helpers.hpp \
	softcuda/driver/host_memory.hpp \
	softcuda/driver/ipc.hpp \
	softcuda/driver/ledger.hpp \
	softcuda/driver/legacy.hpp \
	softcuda/driver/memory.hpp \
	softcuda/driver/module.hpp \
	softcuda/driver/segment.hpp \
	softcuda/driver/slab.hpp \
	softcuda/driver/sparse.hpp \
	softcuda/driver/stream.hpp \
	softcuda/driver/vmm.hpp
libcuda_la_CXXFLAGS = $(AM_CXXFLAGS)
libcuda_la_LIBADD = $(PTHREAD_LIBS) -ldl
# A driver is never unloaded: its threads and thread-local contexts outlive any dlclose.
libcuda_la_LDFLAGS = -version-info 1:0:0 -Wl,-z,nodelete \
	-Wl,--version-script=$(srcdir)/softcuda/driver/exports.map
EXTRA_libcuda_la_DEPENDENCIES = softcuda/driver/exports.map
EXTRA_DIST += softcuda/driver/exports.map softcuda/softcuda-run.in docs/softcuda.md

# In the build tree the script finds the libraries in .libs beside it.
bin_SCRIPTS += softcuda-run
CLEANFILES += softcuda-run
softcuda-run: softcuda/softcuda-run.in Makefile
	$(AM_V_GEN)sed 's|@softcudadir@|$(softcudadir)|' $(srcdir)/softcuda/softcuda-run.in > $@.tmp && \
	chmod +x $@.tmp && mv $@.tmp $@

include tests/unit/softcuda/local.mk
include softcuda/runtime/local.mk
