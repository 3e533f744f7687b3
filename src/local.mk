# src/: the way of a message. One archive for the tests and tools, linked whole into libbeeline.so.
noinst_LTLIBRARIES += libcore.la
core_sources = \
	src/base/embed.hpp src/base/list.hpp src/base/log.cpp src/base/log.hpp src/base/result.hpp \
	src/config/config.cpp src/config/config.hpp src/config/params.def \
	src/cuda/api/cuda.h src/cuda/api/cuda_devices.h src/cuda/api/cuda_functions.h \
	src/cuda/api/cuda_memory.h src/cuda/api/cuda_results.h \
	src/cuda/context.hpp src/cuda/driver.cpp src/cuda/driver.hpp src/cuda/module.cpp \
	src/cuda/module.hpp src/cuda/stream.cpp src/cuda/stream.hpp \
	src/datatype/layout.cpp src/datatype/layout.hpp \
	src/memory/always_host.cpp src/memory/always_host.hpp \
	src/memory/copy.cpp src/memory/copy.hpp src/memory/pointer.cpp src/memory/pointer.hpp \
	src/memory/packed.cpp src/memory/packed.hpp \
	src/memory/kernel/image.hpp src/memory/run_kernels.cpp src/memory/run_kernels.hpp \
	src/memory/settle.cpp src/memory/settle.hpp \
	src/memory/staging_pool.cpp src/memory/staging_pool.hpp \
	src/topo/identity.cpp src/topo/identity.hpp \
	src/mover/cuda_ipc/exports.cpp src/mover/cuda_ipc/fd_passing.cpp \
	src/mover/cuda_ipc/fd_passing.hpp src/mover/cuda_ipc/handles.cpp src/mover/cuda_ipc/handles.hpp \
	src/mover/cuda_ipc/pools.cpp src/mover/cuda_ipc/pools.hpp src/mover/cuda_ipc/ring.cpp \
	src/mover/cuda_ipc/ring.hpp src/mover/cuda_ipc/shareable.cpp \
	src/mover/cuda_ipc/shareable.hpp src/mover/cuda_ipc/verdicts.cpp \
	src/mover/cuda_ipc/verdicts.hpp \
	src/mover/shm/lane.cpp src/mover/shm/lane.hpp src/mover/shm/segment.cpp \
	src/mover/shm/segment.hpp src/mover/ucx/lane.cpp src/mover/ucx/lane.hpp \
	src/protocol/bounce.cpp src/protocol/chunks.hpp src/protocol/cost.hpp src/protocol/eager_device.cpp src/protocol/eager_host.cpp \
	src/protocol/eager_rdma.cpp src/protocol/eager_ucx.cpp src/protocol/explain.cpp src/protocol/explain.hpp \
	src/protocol/fragments.cpp src/protocol/ipc.hpp src/protocol/ipc_get.cpp \
	src/protocol/ipc_push.cpp src/protocol/ipc_put.cpp src/protocol/path.cpp src/protocol/path.hpp \
	src/protocol/protocol.hpp src/protocol/rdma.hpp src/protocol/rdma_read.cpp \
	src/protocol/rdma_write.cpp src/protocol/rendezvous_shm.cpp src/protocol/rendezvous_ucx.cpp src/protocol/select.cpp \
	src/protocol/select.hpp src/protocol/self_copy.cpp src/protocol/staged.cpp \
	src/protocol/table.cpp \
	src/engine/address.cpp src/engine/address.hpp src/engine/arrival.cpp \
	src/engine/background.cpp src/engine/background.hpp \
	src/engine/bounce.cpp src/engine/device_state.hpp src/engine/offers.cpp \
	src/engine/communicator.hpp src/engine/counters.hpp src/engine/engine.cpp \
	src/engine/engine.hpp src/engine/fragments.cpp src/engine/message.hpp src/engine/message_pool.cpp src/engine/message_pool.hpp src/engine/origin.cpp src/engine/piece.hpp src/engine/parts.cpp src/engine/pipe.cpp src/engine/pipe.hpp src/engine/pull.cpp \
	src/engine/put.cpp src/engine/trace.cpp src/engine/ways.cpp src/engine/ways.hpp \
	src/engine/receive.cpp src/engine/request.hpp src/engine/request_table.hpp \
	src/engine/send.cpp src/engine/small.cpp src/engine/staged.cpp src/engine/staged_receive.cpp
libcore_la_CPPFLAGS = $(AM_CPPFLAGS)
# Visible here, so that libbeeline.so can export it; its version script says what really is.
libcore_la_CXXFLAGS = $(AM_CXXFLAGS) $(UCX_CFLAGS) -fvisibility=default -fno-semantic-interposition
libcore_la_LIBADD = libruns.la $(UCX_LIBS) $(PTHREAD_LIBS) -ldl

# The image of the packing kernels; the makefile knows its path. (It is compiled again when source_hash.h, made
# together with runs.ptx, changes.)
noinst_LTLIBRARIES += libruns.la
libruns_la_SOURCES = src/memory/kernel/image.cpp src/memory/kernel/image.hpp src/memory/kernel/runs.inc \
	src/memory/kernel/source_hash.h
libruns_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DBEELINE_RUNS_PTX_FILE='"$(abs_top_srcdir)/src/memory/kernel/runs.ptx"'
EXTRA_DIST += src/memory/kernel/runs.ptx src/memory/kernel/runs.cu src/memory/kernel/regenerate.sh
libcore_la_SOURCES = $(core_sources)
core_sources += \
	src/match/keyed_queues.cpp src/match/keyed_queues.hpp src/match/matcher.cpp src/match/matcher.hpp \
	src/match/sequencer.hpp \
	src/wire/codec.cpp src/wire/codec.hpp src/wire/headers.hpp
core_sources += src/topo/rails.cpp src/topo/rails.hpp

# Its headers name no type of verbs.h but api.hpp, so the rest of the tree compiles without.
verbs_sources = \
	src/mover/verbs/affinity.cpp \
	src/mover/verbs/affinity.hpp \
	src/mover/verbs/api.cpp \
	src/mover/verbs/api.hpp \
	src/mover/verbs/device.cpp \
	src/mover/verbs/device.hpp \
	src/mover/verbs/entry.hpp \
	src/mover/verbs/events.cpp \
	src/mover/verbs/gid.cpp \
	src/mover/verbs/gid.hpp \
	src/mover/verbs/ordering.cpp \
	src/mover/verbs/ordering.hpp \
	src/mover/verbs/parameters.cpp \
	src/mover/verbs/parameters.hpp \
	src/mover/verbs/parts.cpp \
	src/mover/verbs/parts.hpp \
	src/mover/verbs/refusal.cpp \
	src/mover/verbs/refusal.hpp \
	src/mover/verbs/register.cpp \
	src/mover/verbs/register.hpp \
	src/mover/verbs/regions.cpp \
	src/mover/verbs/regions.hpp \
	src/mover/verbs/regions_cards.cpp
if HAVE_VERBS
core_sources += $(verbs_sources)
else
EXTRA_DIST += $(verbs_sources)
endif

# The lane over them, and the engine's side of it.
rdma_sources = src/mover/verbs/connection.hpp src/mover/verbs/lane.cpp src/mover/verbs/lane.hpp \
	src/mover/verbs/lane_rails.cpp \
	src/mover/verbs/queue_pair.cpp src/mover/verbs/queue_pair.hpp \
	src/engine/rdma.cpp src/engine/rdma_arrival.cpp src/engine/rdma_connect.cpp \
	src/engine/rdma_landings.cpp src/engine/rdma_messages.cpp src/engine/rdma_move.cpp src/engine/rdma_relay.cpp \
	src/engine/rdma_small.cpp src/engine/rdma_trust.cpp
core_sources += src/engine/expected.hpp src/engine/rdma_landings.hpp src/engine/rdma_names.cpp src/engine/rdma_state.hpp
if HAVE_VERBS
core_sources += $(rdma_sources)
EXTRA_DIST += src/engine/rdma_none.cpp
else
core_sources += src/engine/rdma_none.cpp
EXTRA_DIST += $(rdma_sources)
endif
