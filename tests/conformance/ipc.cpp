// SPDX-License-Identifier: BSD-3-Clause
// Memory and events shared between processes by the legacy IPC calls.
#include "tests/conformance/tools.hpp"

namespace conformance {
namespace {

constexpr size_t kBytes = 3 << 20;  // above the size that allocators carve from a shared block
constexpr unsigned kLazy = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;

void skip_without_ipc() {
    // A container without the host's pid namespace, or a MIG slice, may refuse it.
    CUipcMemHandle handle;
    const CUdeviceptr probe = allocate(4096);
    if (cu.cuIpcGetMemHandle(&handle, probe) == CUDA_ERROR_NOT_SUPPORTED) {
        skip("this device has no IPC");
    }
    MUST(cu.cuMemFree(probe));
}

CUipcMemHandle handle_of(CUdeviceptr memory) {
    CUipcMemHandle handle;
    MUST(cu.cuIpcGetMemHandle(&handle, memory));
    return handle;
}

CUdeviceptr open_handle(const CUipcMemHandle& handle) {
    CUdeviceptr opened = 0;
    MUST(cu.cuIpcOpenMemHandle(&opened, handle, kLazy));
    return opened;
}

void data_both_ways() {
    run_pair(
        [](const Line& line) {
            open_device();
            skip_without_ipc();
            const CUdeviceptr memory = allocate(kBytes);
            put(memory, kBytes, 1);
            line.send(handle_of(memory));
            line.await();
            EXPECT(holds(memory, kBytes, 2));
        },
        [](const Line& line) {
            const auto handle = line.receive<CUipcMemHandle>();
            open_device();
            const CUdeviceptr opened = open_handle(handle);
            EXPECT(holds(opened, kBytes, 1));
            EXPECT(pointer_attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, opened) ==
                   CU_MEMORYTYPE_DEVICE);
            put(opened, kBytes, 2);
            line.signal();
            MUST(cu.cuIpcCloseMemHandle(opened));
        });
}

void own_handle() {
    open_device();
    skip_without_ipc();
    const CUdeviceptr memory = allocate(kBytes);
    CUdeviceptr opened = 0;
    EXPECT_RESULT(cu.cuIpcOpenMemHandle(&opened, handle_of(memory), kLazy),
                  CUDA_ERROR_INVALID_CONTEXT);
}

void opened_twice() {
    run_pair(
        [](const Line& line) {
            open_device();
            skip_without_ipc();
            const CUdeviceptr memory = allocate(kBytes);
            put(memory, kBytes, 3);
            line.send(handle_of(memory));
            line.await();
        },
        [](const Line& line) {
            const auto handle = line.receive<CUipcMemHandle>();
            open_device();
            const CUdeviceptr first = open_handle(handle);
            const CUdeviceptr second = open_handle(handle);
            EXPECT(first == second);
            MUST(cu.cuIpcCloseMemHandle(first));
            EXPECT(holds(second, kBytes, 3));
            MUST(cu.cuIpcCloseMemHandle(second));
            EXPECT_RESULT(cu.cuIpcCloseMemHandle(second), CUDA_ERROR_INVALID_VALUE);
            line.signal();
        });
}

void interior_pointer() {
    run_pair(
        [](const Line& line) {
            open_device();
            skip_without_ipc();
            const CUdeviceptr memory = allocate(kBytes);
            put(memory, kBytes, 4);
            line.send(handle_of(memory + 4096));
            line.await();
        },
        [](const Line& line) {
            const auto handle = line.receive<CUipcMemHandle>();
            open_device();
            const CUdeviceptr opened = open_handle(handle);
            EXPECT(holds(opened, 4096, 4));  // the base of the allocation, not the interior
            line.signal();
        });
}

void handle_kinds() {
    open_device();
    skip_without_ipc();
    CUipcMemHandle handle;
    CUdeviceptr managed = 0;
    MUST(cu.cuMemAllocManaged(&managed, kBytes, CU_MEM_ATTACH_GLOBAL));
    EXPECT_RESULT(cu.cuIpcGetMemHandle(&handle, managed), CUDA_ERROR_INVALID_VALUE);
    void* pinned = nullptr;
    MUST(cu.cuMemHostAlloc(&pinned, kBytes, 0));
    EXPECT_RESULT(cu.cuIpcGetMemHandle(&handle, address_of(pinned)), CUDA_ERROR_INVALID_VALUE);
    static char host[64];
    EXPECT_RESULT(cu.cuIpcGetMemHandle(&handle, address_of(host)), CUDA_ERROR_INVALID_VALUE);
    const CUdeviceptr freed = allocate(kBytes);
    MUST(cu.cuMemFree(freed));
    EXPECT_RESULT(cu.cuIpcGetMemHandle(&handle, freed), CUDA_ERROR_INVALID_VALUE);
}

void flags() {
    run_pair(
        [](const Line& line) {
            open_device();
            skip_without_ipc();
            line.send(handle_of(allocate(kBytes)));
            line.await();
        },
        [](const Line& line) {
            const auto handle = line.receive<CUipcMemHandle>();
            open_device();
            CUdeviceptr opened = 0;
            EXPECT_RESULT(cu.cuIpcOpenMemHandle(&opened, handle, 0), CUDA_ERROR_INVALID_VALUE);
            EXPECT_RESULT(cu.cuIpcOpenMemHandle(&opened, handle, 8), CUDA_ERROR_INVALID_VALUE);
            line.signal();
        });
}

void close_unknown() {
    open_device();
    EXPECT_RESULT(cu.cuIpcCloseMemHandle(allocate(kBytes)), CUDA_ERROR_INVALID_VALUE);
}

void needs_context() {
    run_pair(
        [](const Line& line) {
            open_device();
            skip_without_ipc();
            line.send(handle_of(allocate(kBytes)));
            line.await();
        },
        [](const Line& line) {
            const auto handle = line.receive<CUipcMemHandle>();
            CUdeviceptr opened = 0;
            EXPECT_RESULT(cu.cuIpcOpenMemHandle(&opened, handle, kLazy),
                          CUDA_ERROR_NOT_INITIALIZED);
            MUST(cu.cuInit(0));
            EXPECT_RESULT(cu.cuIpcOpenMemHandle(&opened, handle, kLazy),
                          CUDA_ERROR_INVALID_CONTEXT);
            line.signal();
        });
}

void freed_by_exporter() {
    run_pair(
        [](const Line& line) {
            open_device();
            skip_without_ipc();
            const CUdeviceptr memory = allocate(kBytes);
            const CUipcMemHandle handle = handle_of(memory);
            MUST(cu.cuMemFree(memory));
            line.send(handle);
            line.await();
        },
        [](const Line& line) {
            const auto handle = line.receive<CUipcMemHandle>();
            open_device();
            CUdeviceptr opened = 0;
            EXPECT(cu.cuIpcOpenMemHandle(&opened, handle, kLazy) != CUDA_SUCCESS);
            line.signal();
        });
}

/// The exporter frees and allocates again while the importer still has the old memory open.
/// Reported from the field: the new handle may be refused as already mapped; it must never show old
/// data.
void reused_address() {
    run_pair(
        [](const Line& line) {
            open_device();
            skip_without_ipc();
            CUdeviceptr memory = allocate(kBytes);
            put(memory, kBytes, 5);
            line.send(handle_of(memory));
            line.await();
            MUST(cu.cuMemFree(memory));
            memory = allocate(kBytes);
            put(memory, kBytes, 6);
            line.send(handle_of(memory));
            line.await();
        },
        [](const Line& line) {
            open_device();
            const CUdeviceptr old = open_handle(line.receive<CUipcMemHandle>());
            EXPECT(holds(old, kBytes, 5));
            line.signal();
            const auto renewed = line.receive<CUipcMemHandle>();
            CUdeviceptr opened = 0;
            CUresult result = cu.cuIpcOpenMemHandle(&opened, renewed, kLazy);
            EXPECT(result == CUDA_SUCCESS || result == CUDA_ERROR_ALREADY_MAPPED);
            if (result != CUDA_SUCCESS) {
                MUST(cu.cuIpcCloseMemHandle(old));
                opened = open_handle(renewed);
            }
            EXPECT(holds(opened, kBytes, 6));
            line.signal();
        });
}

void event_flags() {
    open_device();
    CUevent event = nullptr;
    EXPECT_RESULT(cu.cuEventCreate(&event, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
    MUST(cu.cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    CUipcEventHandle handle;
    EXPECT_RESULT(cu.cuIpcGetEventHandle(&handle, event), CUDA_SUCCESS);
    CUevent plain = nullptr;
    MUST(cu.cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
    EXPECT(cu.cuIpcGetEventHandle(&handle, plain) != CUDA_SUCCESS);
}

void event_orders_streams() {
    run_pair(
        [](const Line& line) {
            open_device();
            skip_without_ipc();
            CUstream stream = nullptr;
            CUevent event = nullptr;
            MUST(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
            MUST(cu.cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
            CUipcEventHandle handle;
            MUST(cu.cuIpcGetEventHandle(&handle, event));
            line.send(handle);
            line.await();  // opened
            Gate gate(stream);
            MUST(cu.cuEventRecord(event, stream));
            line.signal();
            line.await();  // seen not ready
            gate.open();
            MUST(cu.cuStreamSynchronize(stream));
            line.signal();
            line.await();
        },
        [](const Line& line) {
            const auto handle = line.receive<CUipcEventHandle>();
            open_device();
            CUevent event = nullptr;
            MUST(cu.cuIpcOpenEventHandle(&event, handle));
            CUstream stream = nullptr;
            MUST(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
            line.signal();
            line.await();
            EXPECT_RESULT(cu.cuEventQuery(event), CUDA_ERROR_NOT_READY);
            MUST(cu.cuStreamWaitEvent(stream, event, 0));
            EXPECT_RESULT(cu.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
            line.signal();
            line.await();
            EXPECT_RESULT(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
            EXPECT_RESULT(cu.cuEventQuery(event), CUDA_SUCCESS);
            line.signal();
        });
}

void event_before_record() {
    run_pair(
        [](const Line& line) {
            open_device();
            skip_without_ipc();
            CUevent event = nullptr;
            MUST(cu.cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
            CUipcEventHandle handle;
            MUST(cu.cuIpcGetEventHandle(&handle, event));
            line.send(handle);
            line.await();
        },
        [](const Line& line) {
            const auto handle = line.receive<CUipcEventHandle>();
            open_device();
            CUevent event = nullptr;
            MUST(cu.cuIpcOpenEventHandle(&event, handle));
            EXPECT_RESULT(cu.cuEventQuery(event), CUDA_SUCCESS);
            line.signal();
        });
}

const Case kCases[] = {
    {"ipc.data_both_ways", data_both_ways},
    {"ipc.own_handle", own_handle, Source::kBelieved},
    {"ipc.opened_twice", opened_twice},
    {"ipc.interior_pointer", interior_pointer, Source::kBelieved},
    {"ipc.handle_kinds", handle_kinds},
    {"ipc.flags", flags, Source::kBelieved},
    {"ipc.close_unknown", close_unknown},
    {"ipc.needs_context", needs_context},
    {"ipc.freed_by_exporter", freed_by_exporter, Source::kBelieved},
    {"ipc.reused_address", reused_address, Source::kBelieved},
    {"ipc.event_flags", event_flags},
    {"ipc.event_orders_streams", event_orders_streams},
    {"ipc.event_before_record", event_before_record, Source::kBelieved},
};

}  // namespace

std::span<const Case> ipc_cases() {
    return kCases;
}

}  // namespace conformance
