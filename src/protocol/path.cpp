// SPDX-License-Identifier: BSD-3-Clause
// Names of paths and reasons.
#include "protocol/path.hpp"

namespace beeline::protocol {

const char* to_string(Path path) noexcept {
    switch (path) {
        case Path::kNone:
            return "none";
        case Path::kSelf:
            return "self";
        case Path::kShm:
            return "shm";
        case Path::kUcx:
            return "ucx";
        case Path::kCudaIpc:
            return "cuda_ipc";
        case Path::kStaged:
            return "staged";
        case Path::kCudaVmm:
            return "cuda_vmm";
        case Path::kCudaPool:
            return "cuda_pool";
        case Path::kCudaBounce:
            return "cuda_bounce";
        case Path::kCudaIpcPut:
            return "cuda_ipc_put";
        case Path::kRdma:
            return "rdma";
        case Path::kCudaIpcPush:
            return "cuda_ipc_push";
    }
    return "unknown";
}

const char* to_string(Reason reason) noexcept {
    switch (reason) {
        case Reason::kNone:
            return "no reason";
        case Reason::kSmall:
            return "small message";
        case Reason::kHostMemory:
            return "host memory on both sides";
        case Reason::kDirect:
            return "device memory reached directly";
        case Reason::kSameProcess:
            return "same process";
        case Reason::kOtherNode:
            return "no CUDA IPC between nodes";
        case Reason::kNoSharedMemory:
            return "shared memory of the peer cannot be reached";
        case Reason::kIpcOff:
            return "pml_beeline_cuda_ipc is off";
        case Reason::kNotExportable:
            return "memory that cannot be exported (managed, VMM or pool)";
        case Reason::kExportFailed:
            return "the driver made no handle of the memory";
        case Reason::kOpenFailed:
            return "the receiver could not map the memory";
        case Reason::kCopyFailed:
            return "the copy out of mapped device memory failed";
        case Reason::kReceiverHost:
            return "host receive buffer";
        case Reason::kReceiverLayout:
            return "receive buffer is not contiguous";
        case Reason::kReceiverDevice:
            return "host message into a device buffer";
        case Reason::kSenderLayout:
            return "send buffer is not contiguous";
        case Reason::kRefused:
            return "this kind of handle does not work between these processes";
        case Reason::kBounced:
            return "memory that cannot be exported: copied through a buffer on the device";
        case Reason::kAsked:
            return "pml_beeline_protocol asks for it";
        case Reason::kOtherProcess:
            return "sender and receiver are two processes";
        case Reason::kSharedMemory:
            return "the two processes share memory, which is faster";
        case Reason::kTooLarge:
            return "larger than this protocol's limit";
        case Reason::kSenderHost:
            return "host send buffer";
        case Reason::kSenderDevice:
            return "device send buffer";
        case Reason::kNotOffered:
            return "not offered by the sender";
        case Reason::kSenderCannotOpen:
            return "the sender could not map the memory";
        case Reason::kRdmaOff:
            return "pml_beeline_rdma is off";
        case Reason::kNoRdmaDevice:
            return "no RDMA device on one of the nodes";
        case Reason::kNotRegistered:
            return "memory that the RDMA devices do not take";
        case Reason::kRdmaFailed:
            return "the RDMA connection failed";
        case Reason::kSenderContiguous:
            return "send buffer is contiguous";
    }
    return "unknown";
}

bool is_fallback(Reason reason) noexcept {
    switch (reason) {
        case Reason::kNone:
        case Reason::kSmall:
        case Reason::kHostMemory:
        case Reason::kDirect:
        case Reason::kSameProcess:
        case Reason::kAsked:
            return false;
        case Reason::kOtherNode:
        case Reason::kNoSharedMemory:
        case Reason::kIpcOff:
        case Reason::kNotExportable:
        case Reason::kExportFailed:
        case Reason::kOpenFailed:
        case Reason::kCopyFailed:
        case Reason::kReceiverHost:
        case Reason::kReceiverLayout:
        case Reason::kReceiverDevice:
        case Reason::kSenderLayout:
        case Reason::kRefused:
        case Reason::kBounced:
        case Reason::kOtherProcess:
        case Reason::kSharedMemory:
        case Reason::kTooLarge:
        case Reason::kSenderHost:
        case Reason::kSenderDevice:
        case Reason::kNotOffered:
        case Reason::kSenderCannotOpen:
        case Reason::kRdmaOff:
        case Reason::kNoRdmaDevice:
        case Reason::kNotRegistered:
        case Reason::kRdmaFailed:
        case Reason::kSenderContiguous:
            return true;
    }
    return true;
}

}  // namespace beeline::protocol
