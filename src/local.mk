# src/: the way of a message. One archive for the tests and tools, linked whole into libbeeline.so.
noinst_LTLIBRARIES += libcore.la
core_sources = \
	src/base/list.hpp src/base/log.cpp src/base/log.hpp src/base/result.hpp \
	src/config/config.cpp src/config/config.hpp src/config/params.def \
	src/cuda/api/cuda.h src/cuda/api/cuda_devices.h src/cuda/api/cuda_functions.h \
	src/cuda/api/cuda_memory.h src/cuda/api/cuda_results.h \
	src/cuda/context.hpp src/cuda/driver.cpp src/cuda/driver.hpp src/cuda/module.cpp \
	src/cuda/module.hpp src/cuda/stream.cpp src/cuda/stream.hpp \
	src/datatype/layout.cpp src/datatype/layout.hpp \
	src/memory/copy.cpp src/memory/copy.hpp src/memory/pointer.cpp src/memory/pointer.hpp
libcore_la_CPPFLAGS = $(AM_CPPFLAGS)
libcore_la_CXXFLAGS = $(AM_CXXFLAGS) $(UCX_CFLAGS)
libcore_la_LIBADD = $(UCX_LIBS) $(PTHREAD_LIBS) -ldl
libcore_la_SOURCES = $(core_sources)
core_sources += \
	src/match/keyed_queues.cpp src/match/keyed_queues.hpp src/match/matcher.cpp src/match/matcher.hpp \
	src/match/sequencer.hpp \
	src/wire/codec.cpp src/wire/codec.hpp src/wire/headers.hpp
