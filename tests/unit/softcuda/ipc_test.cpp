// SPDX-License-Identifier: BSD-3-Clause
// Memory and events shared between processes.
#include "support.hpp"

namespace softcuda_test {
namespace {

constexpr unsigned kLazy = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;

CUipcMemHandle export_of(CUdeviceptr address) {
    CUipcMemHandle handle{};
    EXPECT_OK(cuIpcGetMemHandle(&handle, address));
    return handle;
}

TEST(Ipc, MapsThePeersMemory) {
    in_pair(
        [](Peer peer) {
            start(0);
            for (const size_t size : {size_t{1000}, size_t{5} << 20}) {
                allocate(700);  // so that the shared one does not start its segment
                const CUdeviceptr mine = allocate(size);
                EXPECT_OK(cuMemsetD8(mine, 0x21, size));
                EXPECT_OK(cuCtxSynchronize());
                peer.send(export_of(mine + size / 2));  // an inner pointer exports the whole
                peer.barrier();
                EXPECT_EQ(bytes_at(mine, size), std::vector<unsigned char>(size, 0x43));
            }
        },
        [](Peer peer) {
            start(1);
            for (const size_t size : {size_t{1000}, size_t{5} << 20}) {
                const auto handle = peer.receive<CUipcMemHandle>();
                CUdeviceptr theirs = 0;
                ASSERT_OK(cuIpcOpenMemHandle(&theirs, handle, kLazy));
                EXPECT_EQ(bytes_at(theirs, size), std::vector<unsigned char>(size, 0x21));
                EXPECT_EQ(attribute<int>(theirs, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL), 0);
                CUdeviceptr base = 0;
                size_t range = 0;
                EXPECT_OK(cuMemGetAddressRange(&base, &range, theirs + 17));
                EXPECT_EQ(base, theirs);
                EXPECT_EQ(range, size);
                EXPECT_OK(cuMemsetD8(theirs, 0x43, size));
                EXPECT_OK(cuCtxSynchronize());
                EXPECT_OK(cuIpcCloseMemHandle(theirs));
                EXPECT_EQ(cuMemsetD8(theirs, 0, 1), CUDA_ERROR_INVALID_VALUE);
                peer.barrier();
            }
            EXPECT_EQ(softcuda_open_ipc_handles(), 0);
        });
}

TEST(Ipc, SameHandleIsCounted) {
    in_pair(
        [](Peer peer) {
            start();
            peer.send(export_of(allocate(4096)));
            peer.barrier();
        },
        [](Peer peer) {
            start();
            const auto handle = peer.receive<CUipcMemHandle>();
            CUdeviceptr first = 0;
            CUdeviceptr second = 0;
            EXPECT_OK(cuIpcOpenMemHandle(&first, handle, kLazy));
            EXPECT_OK(cuIpcOpenMemHandle(&second, handle, kLazy));
            EXPECT_EQ(first, second);
            EXPECT_EQ(softcuda_open_ipc_handles(), 1);
            EXPECT_OK(cuIpcCloseMemHandle(first));
            EXPECT_OK(cuMemsetD8(first, 1, 4096));
            EXPECT_EQ(cuMemFree(first), CUDA_ERROR_INVALID_VALUE);
            EXPECT_OK(cuIpcCloseMemHandle(first));
            EXPECT_EQ(cuIpcCloseMemHandle(first), CUDA_ERROR_INVALID_VALUE);
            EXPECT_EQ(softcuda_open_ipc_handles(), 0);
            peer.barrier();
        });
}

TEST(Ipc, OwnHandleIsRefused) {
    in_child({}, [] {
        start();
        const CUdeviceptr mine = allocate(4096);
        CUdeviceptr address = 0;
        const CUipcMemHandle handle = export_of(mine);
        EXPECT_EQ(cuIpcOpenMemHandle(&address, handle, kLazy), CUDA_ERROR_INVALID_CONTEXT);
        EXPECT_EQ(cuIpcOpenMemHandle(&address, handle, 0), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(cuIpcOpenMemHandle(&address, CUipcMemHandle{}, kLazy), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(cuIpcCloseMemHandle(mine), CUDA_ERROR_INVALID_VALUE);
        int host = 0;
        CUipcMemHandle none;
        EXPECT_EQ(cuIpcGetMemHandle(&none, reinterpret_cast<CUdeviceptr>(&host)),
                  CUDA_ERROR_INVALID_VALUE);
    });
}

TEST(Ipc, HandleOfFreedMemoryIsStale) {
    for (const size_t size : {size_t{1000}, size_t{5} << 20}) {
        in_pair(
            [size](Peer peer) {
                start();
                allocate(1000);
                const CUdeviceptr first = allocate(size);
                const CUipcMemHandle stale = export_of(first);
                EXPECT_OK(cuMemFree(first));
                const CUdeviceptr second = allocate(size);
                EXPECT_EQ(first, second);
                EXPECT_OK(cuMemsetD8(second, 9, size));
                EXPECT_OK(cuCtxSynchronize());
                peer.send(stale);
                peer.send(export_of(second));
                peer.barrier();
            },
            [size](Peer peer) {
                start();
                const auto stale = peer.receive<CUipcMemHandle>();
                const auto fresh = peer.receive<CUipcMemHandle>();
                CUdeviceptr address = 0;
                EXPECT_EQ(cuIpcOpenMemHandle(&address, stale, kLazy), CUDA_ERROR_INVALID_VALUE);
                EXPECT_OK(cuIpcOpenMemHandle(&address, fresh, kLazy));
                EXPECT_EQ(bytes_at(address, size)[size - 1], 9);
                peer.barrier();
            });
    }
}

size_t free_memory() {
    size_t free = 0;
    size_t total = 0;
    EXPECT_OK(cuMemGetInfo(&free, &total));
    return free;
}

/** Freed memory that another process still maps comes back when that one closes it. */
TEST(Ipc, MemoryStaysTakenWhileOthersMapIt) {
    constexpr size_t kSize = 64 << 20;
    in_pair(
        [](Peer peer) {
            start();
            const size_t before = free_memory();
            const CUdeviceptr memory = allocate(kSize);
            peer.send(export_of(memory));
            peer.barrier();
            EXPECT_OK(cuMemFree(memory));
            EXPECT_EQ(free_memory(), before - kSize);
            peer.barrier();
            peer.barrier();
            EXPECT_EQ(free_memory(), before);
        },
        [](Peer peer) {
            start();
            CUdeviceptr address = 0;
            ASSERT_OK(cuIpcOpenMemHandle(&address, peer.receive<CUipcMemHandle>(), kLazy));
            peer.barrier();
            peer.barrier();
            EXPECT_OK(cuIpcCloseMemHandle(address));
            peer.barrier();
        });
}

/** The exporter freed and reallocated the range while the importer kept its old mapping. */
TEST(Ipc, OldMappingBlocksANewOneOfTheSameRange) {
    for (const size_t size : {size_t{1000}, size_t{5} << 20}) {
        in_pair(
            [size](Peer peer) {
                start();
                const CUdeviceptr first = allocate(size);
                peer.send(export_of(first));
                peer.barrier();
                EXPECT_EQ(softcuda_violations(), 0U);
                EXPECT_OK(cuMemFree(first));
                EXPECT_EQ(softcuda_violations(), 1U);
                EXPECT_EQ(allocate(size), first);
                peer.send(export_of(first));
                peer.barrier();
                EXPECT_OK(cuMemFree(first));  // closed by then: no violation
                EXPECT_EQ(softcuda_violations(), 1U);
            },
            [size](Peer peer) {
                start();
                CUdeviceptr old_address = 0;
                ASSERT_OK(cuIpcOpenMemHandle(&old_address, peer.receive<CUipcMemHandle>(), kLazy));
                peer.barrier();
                const auto fresh = peer.receive<CUipcMemHandle>();
                EXPECT_EQ(bytes_at(old_address, size)[0], 0xdb);  // poisoned
                CUdeviceptr address = 0;
                EXPECT_EQ(cuIpcOpenMemHandle(&address, fresh, kLazy), CUDA_ERROR_ALREADY_MAPPED);
                EXPECT_OK(cuIpcCloseMemHandle(old_address));
                EXPECT_OK(cuIpcOpenMemHandle(&address, fresh, kLazy));
                EXPECT_OK(cuIpcCloseMemHandle(address));
                peer.barrier();
            });
    }
}

TEST(Ipc, NeedsPeerAccessBetweenDevices) {
    setenv("SOFTCUDA_TOPOLOGY", "none", 1);
    in_pair(
        [](Peer peer) {
            start(0);
            peer.send(export_of(allocate(64)));
            peer.barrier();
        },
        [](Peer peer) {
            start(1);
            const auto handle = peer.receive<CUipcMemHandle>();
            CUdeviceptr address = 0;
            EXPECT_EQ(cuIpcOpenMemHandle(&address, handle, kLazy),
                      CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
            start(0);
            EXPECT_OK(cuIpcOpenMemHandle(&address, handle, kLazy));
            peer.barrier();
        });
    unsetenv("SOFTCUDA_TOPOLOGY");
}

TEST(Ipc, OneContextOfADeviceOpensAnExportersMemory) {
    in_pair(
        [](Peer peer) {
            start();
            peer.send(export_of(allocate(64)));
            peer.send(export_of(allocate(64)));
            peer.barrier();
        },
        [](Peer peer) {
            start();
            CUdeviceptr address = 0;
            EXPECT_OK(cuIpcOpenMemHandle(&address, peer.receive<CUipcMemHandle>(), kLazy));
            CUcontext user = nullptr;
            EXPECT_OK(cuCtxCreate(&user, nullptr, 0, 0));
            EXPECT_EQ(cuIpcOpenMemHandle(&address, peer.receive<CUipcMemHandle>(), kLazy),
                      CUDA_ERROR_INVALID_CONTEXT);
            peer.barrier();
        });
}

TEST(Ipc, EventsOrderStreamsOfTwoProcesses) {
    constexpr unsigned kFlags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
    in_pair(
        [](Peer peer) {
            start(0);
            CUstream stream = nullptr;
            CUevent event = nullptr;
            CUipcEventHandle handle;
            EXPECT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
            EXPECT_OK(cuEventCreate(&event, kFlags));
            EXPECT_OK(cuIpcGetEventHandle(&handle, event));
            CUevent own = nullptr;
            EXPECT_EQ(cuIpcOpenEventHandle(&own, handle), CUDA_ERROR_INVALID_CONTEXT);
            const CUdeviceptr mine = allocate(64);
            EXPECT_OK(cuMemsetD8(mine, 1, 64));
            EXPECT_OK(cuCtxSynchronize());
            HeldStream held(stream);
            EXPECT_OK(cuMemsetD8Async(mine, 2, 64, stream));
            EXPECT_OK(cuEventRecord(event, stream));
            peer.send(handle);
            peer.send(export_of(mine));
            peer.barrier();  // the peer has queued its wait
            held.release();
            peer.barrier();
            EXPECT_OK(cuEventDestroy(event));
            peer.send(handle);
            peer.barrier();
        },
        [](Peer peer) {
            start(1);
            CUstream stream = nullptr;
            EXPECT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
            CUevent event = nullptr;
            CUdeviceptr theirs = 0;
            ASSERT_OK(cuIpcOpenEventHandle(&event, peer.receive<CUipcEventHandle>()));
            ASSERT_OK(cuIpcOpenMemHandle(&theirs, peer.receive<CUipcMemHandle>(), kLazy));
            const CUdeviceptr target = allocate(64);
            EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
            EXPECT_OK(cuStreamWaitEvent(stream, event, 0));
            EXPECT_OK(cuMemcpyDtoDAsync(target, theirs, 64, stream));
            EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
            EXPECT_EQ(bytes_at(theirs, 1)[0], 1);
            peer.barrier();
            EXPECT_OK(cuStreamSynchronize(stream));
            EXPECT_EQ(bytes_at(target, 1)[0], 2);
            EXPECT_OK(cuEventQuery(event));
            EXPECT_OK(cuEventDestroy(event));
            peer.barrier();
            EXPECT_EQ(cuIpcOpenEventHandle(&event, peer.receive<CUipcEventHandle>()),
                      CUDA_ERROR_INVALID_VALUE);  // destroyed since
            peer.barrier();
        });
}

/** The memory of a process that crashed with it mapped is not lost to its owner. */
TEST(Ipc, MemoryComesBackFromAUserThatCrashed) {
    constexpr size_t kSize = size_t{4} << 20;
    in_pair(
        [](Peer peer) {
            start();
            size_t before = 0;
            size_t now = 0;
            size_t total = 0;
            EXPECT_OK(cuMemGetInfo(&before, &total));
            const CUdeviceptr mine = allocate(kSize);
            peer.send(export_of(mine));
            peer.barrier();
            EXPECT_OK(cuMemFree(mine));
            EXPECT_OK(cuMemGetInfo(&now, &total));
            EXPECT_EQ(now, before - kSize);
            peer.send('c');
            char byte = 0;
            EXPECT_EQ(read(peer.socket(), &byte, 1), 0);  // it has ended
            for (int i = 0; i < 1000 && now != before; ++i) {
                usleep(1000);
                EXPECT_OK(cuMemGetInfo(&now, &total));
            }
            EXPECT_EQ(now, before);
        },
        [](Peer peer) {
            start();
            CUdeviceptr theirs = 0;
            EXPECT_OK(cuIpcOpenMemHandle(&theirs, peer.receive<CUipcMemHandle>(), kLazy));
            peer.barrier();
            peer.receive<char>();
            _exit(testing::Test::HasFailure() ? 1 : 0);  // nothing is closed
        });
}

/** SOFTCUDA_IPC: what some drivers do. */
TEST(Ipc, Oddities) {
    setenv("SOFTCUDA_IPC", "base,hollow,leak", 1);
    in_pair(
        [](Peer peer) {
            start();
            const CUdeviceptr mine = allocate(4096);
            CUipcMemHandle handle{};
            EXPECT_EQ(cuIpcGetMemHandle(&handle, mine + 1), CUDA_ERROR_INVALID_VALUE);
            peer.send(export_of(mine));

            CUmemAllocationProp props{};
            props.type = CU_MEM_ALLOCATION_TYPE_PINNED;
            props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
            CUmemGenericAllocationHandle part = 0;
            CUdeviceptr mapped = 0;
            EXPECT_OK(cuMemCreate(&part, size_t{2} << 20, &props, 0));
            EXPECT_OK(cuMemAddressReserve(&mapped, size_t{2} << 20, 0, 0, 0));
            EXPECT_OK(cuMemMap(mapped, size_t{2} << 20, 0, part, 0));
            EXPECT_EQ(attribute<unsigned>(mapped, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE),
                      0U);
            peer.send(export_of(mapped));
            peer.barrier();
        },
        [](Peer peer) {
            start();
            const auto handle = peer.receive<CUipcMemHandle>();
            CUdeviceptr theirs = 0;
            const int before = dup(0);
            EXPECT_OK(cuIpcOpenMemHandle(&theirs, handle, kLazy));
            EXPECT_OK(cuIpcCloseMemHandle(theirs));
            const int after = dup(0);
            EXPECT_GT(after, before + 1);
            EXPECT_EQ(cuIpcOpenMemHandle(&theirs, peer.receive<CUipcMemHandle>(), kLazy),
                      CUDA_ERROR_INVALID_VALUE);
            peer.barrier();
        });
    unsetenv("SOFTCUDA_IPC");
}

/** A thousand rounds at one address leave no handle open and never show old data. */
TEST(Ipc, RepeatedReuseOfOneAddress) {
    constexpr int kRounds = 1000;
    in_pair(
        [](Peer peer) {
            start();
            for (int round = 0; round < kRounds; ++round) {
                const CUdeviceptr mine = allocate(4096);
                EXPECT_OK(cuMemsetD8(mine, static_cast<unsigned char>(round), 4096));
                EXPECT_OK(cuCtxSynchronize());
                peer.send(export_of(mine));
                peer.barrier();
                EXPECT_OK(cuMemFree(mine));
            }
            EXPECT_EQ(softcuda_violations(), 0U);
        },
        [](Peer peer) {
            start();
            for (int round = 0; round < kRounds; ++round) {
                CUdeviceptr theirs = 0;
                ASSERT_OK(cuIpcOpenMemHandle(&theirs, peer.receive<CUipcMemHandle>(), kLazy));
                ASSERT_EQ(bytes_at(theirs, 4096)[4095], static_cast<unsigned char>(round));
                ASSERT_OK(cuIpcCloseMemHandle(theirs));
                peer.barrier();
            }
            EXPECT_EQ(softcuda_open_ipc_handles(), 0);
            EXPECT_EQ(softcuda_calls("cuIpcOpenMemHandle"), unsigned{kRounds});
        });
}

}  // namespace
}  // namespace softcuda_test
