# softcuda/runtime/: the software CUDA runtime, built twice from the same sources, as CUDA 13's and
# as CUDA 12's library. They are linked by the compiler itself and not by libtool, because two
# libraries named libcudart with different versions go into one directory, beside libcuda.so.1,
# which they find there ($ORIGIN).
softcudart_sources = \
	softcuda/runtime/copy.cpp \
	softcuda/runtime/device.cpp \
	softcuda/runtime/entry.cpp \
	softcuda/runtime/error.cpp \
	softcuda/runtime/launch.cpp \
	softcuda/runtime/memory.cpp \
	softcuda/runtime/nvcc_abi.hpp \
	softcuda/runtime/per_thread.cpp \
	softcuda/runtime/pointer.cpp \
	softcuda/runtime/pool.cpp \
	softcuda/runtime/properties.cpp \
	softcuda/runtime/registry.cpp \
	softcuda/runtime/registry.hpp \
	softcuda/runtime/state.cpp \
	softcuda/runtime/state.hpp \
	softcuda/runtime/stream.cpp
softcudart_link = $(CXX) $(CXXFLAGS) $(LDFLAGS) -shared -Wl,-z,defs '-Wl,-rpath,$$ORIGIN'
softcudart_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/softcuda/include

# The directory of libcuda.so.1 in the build tree, so that one LD_LIBRARY_PATH entry finds both.
softcuda_PROGRAMS = .libs/libcudart.so.13 .libs/libcudart.so.12

_libs_libcudart_so_13_SOURCES = $(softcudart_sources)
_libs_libcudart_so_13_CPPFLAGS = $(softcudart_cppflags) -DSOFTCUDA_CUDART_MAJOR=13
_libs_libcudart_so_13_CXXFLAGS = $(AM_CXXFLAGS) -fPIC
_libs_libcudart_so_13_LINK = $(softcudart_link) -Wl,-soname,libcudart.so.13 \
	-Wl,--version-script=$(top_srcdir)/softcuda/runtime/cudart13.map -o $@
_libs_libcudart_so_13_LDADD = -L.libs -lcuda
_libs_libcudart_so_13_DEPENDENCIES = libcuda.la softcuda/runtime/cudart13.map

_libs_libcudart_so_12_SOURCES = $(softcudart_sources)
_libs_libcudart_so_12_CPPFLAGS = $(softcudart_cppflags) -DSOFTCUDA_CUDART_MAJOR=12
_libs_libcudart_so_12_CXXFLAGS = $(AM_CXXFLAGS) -fPIC
_libs_libcudart_so_12_LINK = $(softcudart_link) -Wl,-soname,libcudart.so.12 \
	-Wl,--version-script=$(top_srcdir)/softcuda/runtime/cudart12.map -o $@
_libs_libcudart_so_12_LDADD = -L.libs -lcuda
_libs_libcudart_so_12_DEPENDENCIES = libcuda.la softcuda/runtime/cudart12.map

EXTRA_DIST += softcuda/runtime/cudart12.map softcuda/runtime/cudart13.map

# For programs built against SoftCUDA where no toolkit is installed: headers, and the names that
# -lcudart and -lcuda look for.
softcudart_headers = \
	softcuda/include/driver_types.h \
	softcuda/include/device_types.h \
	softcuda/include/cuda_runtime_api.h
softcudainclude_HEADERS += $(softcudart_headers) softcuda/include/cuda_runtime.h \
	src/cuda/api/cuda.h src/cuda/api/cuda_devices.h src/cuda/api/cuda_functions.h \
	src/cuda/api/cuda_memory.h src/cuda/api/cuda_results.h

softcuda/dev/libcudart.so: .libs/libcudart.so.13
	$(AM_V_GEN)$(MKDIR_P) softcuda/dev && ln -sf ../../.libs/libcudart.so.13 $@
softcuda/dev/libcuda.so: libcuda.la
	$(AM_V_GEN)$(MKDIR_P) softcuda/dev && ln -sf ../../.libs/libcuda.so.1 $@
softcuda_DATA = softcuda/dev/libcudart.so
CLEANFILES += softcuda/dev/libcudart.so softcuda/dev/libcuda.so

include tests/unit/softcuda/runtime.mk
