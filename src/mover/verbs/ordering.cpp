// SPDX-License-Identifier: BSD-3-Clause
// The rules of visibility, and the driver calls for them.
#include "mover/verbs/ordering.hpp"

#include "cuda/context.hpp"
#include "cuda/driver.hpp"

namespace beeline::mover::verbs {

// A completion, or the immediate of a write, is put into host memory; the data went to the
// device's. These are two targets on the bus, and nothing orders a write to one after a write to
// the other: when the host sees the completion, data may still be on its way into the device. So:
//
// 1. Data is never announced by other data. What tells that a message has arrived is a completion
//    (of a receive with immediate, or of a read), never a byte of the payload that somebody polls:
//    with relaxed ordering, adaptive routing or several queue pairs, the last byte is not the
//    last to arrive.
// 2. A device whose WRITES_ORDERING covers the reader (OWNER: copies and kernels on the device
//    itself; ALL_DEVICES: also devices that reach its memory as peers) holds back work that is
//    submitted after the host saw the completion until the data is there. Nothing is to be done.
// 3. Otherwise the host calls cuFlushGPUDirectRDMAWrites, where FLUSH_WRITES_OPTIONS says it may
//    (HOST). After it returns, work that is submitted later sees the data. It is called once for
//    all completions found in one round of progress, and before any of them is told to MPI.
// 4. A device without it is flushed by a read of the written memory by the same card, over a
//    queue pair to itself: on the bus a read does not pass the writes before it, so its
//    completion tells that they have ended. This is how devices older than the attribute are
//    served as well.
// 5. Kernels that were running when the data came are promised nothing: MPI lets nobody look at a
//    receive buffer before the receive completes.
// 6. Relaxed ordering of a region lets its writes pass each other. Rules 1 to 4 do not depend on
//    their order: a receive completes after all writes of the messages before it on its queue
//    pair were put on the bus, and the flush, or the device's own ordering, covers all of them.
Flush flush_needed(const WriteOrdering& device, Reader reader) noexcept {
    const int wanted = reader == Reader::kOwner ? CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER
                                                : CU_GPU_DIRECT_RDMA_WRITES_ORDERING_ALL_DEVICES;
    if (device.ordering >= wanted) {
        return Flush::kNone;
    }
    return (device.flush_options & CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST) != 0 ? Flush::kCall
                                                                                     : Flush::kRead;
}

WriteOrdering write_ordering_of(const memory::Pointer& where) noexcept {
    WriteOrdering answer;
    if (where.driver == nullptr || where.driver->cuDeviceGetAttribute == nullptr) {
        return answer;
    }
    int value = 0;
    if (where.driver->cuDeviceGetAttribute(&value,
                                           CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING,
                                           where.device) == CUDA_SUCCESS) {
        answer.ordering = value;
    }
    if (where.driver->cuFlushGPUDirectRDMAWrites != nullptr &&
        where.driver->cuDeviceGetAttribute(&value,
                                           CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS,
                                           where.device) == CUDA_SUCCESS) {
        answer.flush_options = static_cast<unsigned>(value);
    }
    return answer;
}

Status flush_writes(const memory::Pointer& where, Reader reader) noexcept {
    if (where.driver == nullptr || where.driver->cuFlushGPUDirectRDMAWrites == nullptr) {
        return Status::kUnsupported;
    }
    const cuda::ContextScope scope(*where.driver, where.context);
    CUresult result = scope.result();
    if (result == CUDA_SUCCESS) {
        result = where.driver->cuFlushGPUDirectRDMAWrites(
            CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
            reader == Reader::kOwner ? CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER
                                     : CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES);
    }
    if (result != CUDA_SUCCESS) {
        cuda::report_failure(*where.driver, "cuFlushGPUDirectRDMAWrites", result,
                             reinterpret_cast<const void*>(where.base),
                             "the message ends with an error");
        return Status::kDriver;
    }
    return Status::kOk;
}

}  // namespace beeline::mover::verbs
