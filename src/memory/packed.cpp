// SPDX-License-Identifier: BSD-3-Clause
// The choice between one launch and single copies.
#include "memory/packed.hpp"

namespace beeline::memory {
namespace {

CUdeviceptr address(const void* pointer) noexcept {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

/// From this number of runs on, one launch beats as many copies.
constexpr std::size_t kManyRuns = 4;

}  // namespace

bool many_runs(const Packed& range) noexcept {
    const datatype::Layout& layout = range.layout;
    return layout.size != 0 &&
           range.bytes / layout.size * layout.blocks.size() +
                   range.bytes % layout.size * layout.blocks.size() / layout.size >=
               kManyRuns;
}

CUresult enqueue_packed(const cuda::Driver& driver, RunKernels& kernels, CUstream stream,
                        const Packed& range) noexcept {
    if (many_runs(range) &&
        (range.packing == Packing::kPinned || classify(range.host).kind != Kind::kHost) &&
        kernels.prepare(driver, stream, range.layout)) {
        const CUresult launched =
            kernels.move(driver, stream, range.layout, range.buffer, range.host, range.skip,
                         range.bytes, range.direction);
        if (launched == CUDA_SUCCESS || is_stale(launched)) {
            return launched;
        }
        cuda::report_failure(driver, "cuLaunchKernel", launched, range.buffer,
                             "non-contiguous data is copied run by run");
    }
    CUresult result = CUDA_SUCCESS;
    datatype::for_each_run(
        range.layout, range.count, range.skip, range.bytes,
        [&](std::ptrdiff_t offset, std::size_t length, std::size_t packed) {
            if (result != CUDA_SUCCESS) {
                return;
            }
            const CUdeviceptr run = address(static_cast<const std::byte*>(range.buffer) + offset);
            const CUdeviceptr host = address(static_cast<const std::byte*>(range.host) + packed);
            result = range.direction == Direction::kGather
                         ? driver.cuMemcpyAsync(host, run, length, stream)
                         : driver.cuMemcpyAsync(run, host, length, stream);
        });
    return result;
}

}  // namespace beeline::memory
