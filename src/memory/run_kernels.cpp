// SPDX-License-Identifier: BSD-3-Clause
// Loading the packing kernels, and the tables of datatypes they work by.
#include "memory/run_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>

#include "base/log.hpp"
#include "memory/kernel/image.hpp"

#define BEELINE_DEVICE inline
#include "memory/kernel/runs.inc"

namespace beeline::memory {
namespace {

using datatype::Layout;

// The kernels read datatype::Group as it lies in memory.
static_assert(sizeof(kernel::Group) == sizeof(datatype::Group) &&
              offsetof(kernel::Group, stride) == offsetof(datatype::Group, stride) &&
              offsetof(kernel::Group, packed) == offsetof(datatype::Group, packed));

constexpr std::size_t kTables = 64;
constexpr unsigned kThreads = 256;
constexpr std::size_t kWordsPerThread = 4;
constexpr std::size_t kMostBlocks = 64;

CUdeviceptr address(const void* pointer) noexcept {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

/// The widest word that divides everything, so that no word crosses the end of a block.
unsigned word_of(const Layout& layout, const void* buffer, const void* packed, std::size_t skip,
                 std::size_t bytes) noexcept {
    const std::uintptr_t all = layout.alignment | address(buffer) | address(packed) | skip | bytes;
    return static_cast<unsigned>(all & (~all + 1));
}

}  // namespace

bool RunKernels::load(const cuda::Driver& driver) noexcept {
    if (tried_) {
        return gather_ != nullptr;
    }
    tried_ = true;
    auto module = cuda::Module::load(driver, kernel::runs_image());
    if (!module) {
        return false;
    }
    if (!module->function(kernel::source_kernel_name())) {
        log_once(LogLevel::kWarning, "memory.kernels",
                 "the packing kernels found are not this version's (%s is missing; with the "
                 "software device, check SOFTCUDA_KERNELS): non-contiguous device data is copied "
                 "run by run",
                 kernel::source_kernel_name());
        return false;
    }
    auto gather = module->function("gather_runs");
    auto scatter = module->function("scatter_runs");
    if (!gather || !scatter) {
        return false;
    }
    module_ = std::move(*module);
    gather_ = *gather;
    scatter_ = *scatter;
    return true;
}

bool RunKernels::prepare(const cuda::Driver& driver, CUstream stream,
                         const Layout& layout) noexcept {
    if (layout.id == 0 || layout.groups.empty() || !load(driver)) {
        return false;
    }
    const auto found = std::find_if(tables_.begin(), tables_.end(),
                                    [&](const Table& table) { return table.layout == layout.id; });
    if (found != tables_.end()) {
        tables_.splice(tables_.begin(), tables_, found);
        return true;
    }
    const std::size_t bytes = layout.groups.size() * sizeof(datatype::Group);
    Table table{layout.id, 0};
    if (driver.cuMemAlloc(&table.memory, bytes) != CUDA_SUCCESS) {
        return false;
    }
    if (driver.cuMemcpyAsync(table.memory, address(layout.groups.data()), bytes, stream) !=
            CUDA_SUCCESS ||
        driver.cuStreamSynchronize(stream) != CUDA_SUCCESS) {
        driver.cuMemFree(table.memory);
        return false;
    }
    if (tables_.size() == kTables) {
        driver.cuMemFree(tables_.back().memory);  // waits for the kernels that read it
        tables_.pop_back();
    }
    tables_.push_front(table);
    return true;
}

CUresult RunKernels::move(const cuda::Driver& driver, CUstream stream, const Layout& layout,
                          const void* buffer, const void* packed, std::size_t skip,
                          std::size_t bytes, Direction direction) noexcept {
    kernel::Runs runs{reinterpret_cast<const kernel::Group*>(tables_.front().memory),
                      layout.groups.size(), layout.size, layout.extent};
    unsigned word = word_of(layout, buffer, packed, skip, bytes);
    const std::size_t words = bytes / word;
    const std::size_t blocks =
        std::clamp<std::size_t>(words / (kThreads * kWordsPerThread), 1, kMostBlocks);
    void* parameters[] = {&buffer, &packed, &runs, &skip, &bytes, &word};
    return driver.cuLaunchKernel(direction == Direction::kGather ? gather_ : scatter_,
                                 static_cast<unsigned>(blocks), 1, 1, kThreads, 1, 1, 0, stream,
                                 parameters, nullptr);
}

void RunKernels::release(const cuda::Driver& driver) noexcept {
    for (const Table& table : tables_) {
        driver.cuMemFree(table.memory);
    }
    tables_.clear();
    module_ = {};
    gather_ = nullptr;
    scatter_ = nullptr;
    tried_ = false;
}

}  // namespace beeline::memory
