// SPDX-License-Identifier: BSD-3-Clause
// Kernel launches: the blocks of a twin run on the stream's worker and on helper threads.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "softcuda/driver/arena.hpp"
#include "softcuda/driver/capture.hpp"
#include "softcuda/driver/config.hpp"
#include "softcuda/driver/copy.hpp"
#include "softcuda/driver/helpers.hpp"
#include "softcuda/driver/module.hpp"

namespace softcuda {
namespace {

constexpr unsigned kMaxBlock = 1024;
constexpr unsigned kMaxGridX = 0x7fffffff;
constexpr unsigned kMaxGridYZ = 65535;

/** One launch, shared by the threads that run its blocks. */
struct LaunchWork {
    const SoftcudaKernel* twin;
    void* args;
    SoftcudaLaunch shape;
    uint64_t blocks;
    std::atomic<uint64_t> next;
};

void run_blocks(void* argument) {
    LaunchWork& work = *static_cast<LaunchWork*>(argument);
    SoftcudaLaunch launch = work.shape;
    for (uint64_t block = work.next++; block < work.blocks; block = work.next++) {
        const uint64_t plane = uint64_t{launch.grid[0]} * launch.grid[1];
        launch.block_index[0] = static_cast<unsigned>(block % launch.grid[0]);
        launch.block_index[1] = static_cast<unsigned>(block % plane / launch.grid[0]);
        launch.block_index[2] = static_cast<unsigned>(block / plane);
        work.twin->run(work.args, &launch);
    }
}

/** Half of the processors that this process may use, but one at least. */
uint64_t spare_processors() {
    static const uint64_t number = [] {
        cpu_set_t set;
        CPU_ZERO(&set);
        const int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 2;
        return static_cast<uint64_t>(std::max(count / 2, 1));
    }();
    return number;
}

/** Up to kMultiprocessors blocks run at the same time, so that they may wait for each other; those
 *  that never wait only where there are processors for them. */
void run_launch(LaunchWork* work) {
    const uint64_t most = work->twin->brief != 0
                              ? std::min<uint64_t>(kMultiprocessors, spare_processors())
                              : kMultiprocessors;
    const auto threads = std::min<uint64_t>(work->blocks, most);
    run_together(static_cast<int>(threads), run_blocks, work);
    work->twin->drop(work->args);
    delete work;
}

/** A brief launch of this many blocks or fewer may run in the calling thread. */
constexpr uint64_t kInlineBlocks = kMultiprocessors;

/** The whole launch in this thread. */
void run_here(LaunchWork* work) {
    run_blocks(work);
    work->twin->drop(work->args);
    delete work;
}

bool valid_shape(const unsigned (&grid)[3], const unsigned (&block)[3]) {
    for (int i = 0; i < 3; ++i) {
        if (grid[i] == 0 || block[i] == 0 || grid[i] > (i == 0 ? kMaxGridX : kMaxGridYZ)) {
            return false;
        }
    }
    return block[0] <= kMaxBlock && block[1] <= kMaxBlock && block[2] <= 64 &&
           uint64_t{block[0]} * block[1] * block[2] <= kMaxBlock;
}

CUresult launch(CUfunc_st* function, const unsigned (&grid)[3], const unsigned (&block)[3],
                CUstream handle, void** params, bool cooperative) {
    if (!valid_shape(grid, block)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult result = check_function(function);
    CUstream_st* stream = result == CUDA_SUCCESS ? resolve_stream(handle, &result) : nullptr;
    if (stream == nullptr) {
        return result;
    }
    if (stream->context != current_context()) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    const uint64_t blocks = uint64_t{grid[0]} * grid[1] * grid[2];
    if (cooperative && blocks > kMultiprocessors) {
        return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    }
    bool captured = false;
    result = capture_instead(*stream, &captured);
    if (result != CUDA_SUCCESS || captured) {
        return result;
    }
    void* args = function->twin->copy(params);
    if (args == nullptr) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    auto* work = new LaunchWork{function->twin, args, {}, blocks, {0}};
    std::copy(grid, grid + 3, work->shape.grid);
    std::copy(block, block + 3, work->shape.block);
    work->shape.arena = {arena_range.base, arena_range.span, arena_range.span};
    if (config().may_inline() && function->twin->brief != 0 && blocks <= kInlineBlocks &&
        run_inline(*stream, [work] { run_here(work); })) {
        return CUDA_SUCCESS;
    }
    enqueue(*stream, [work] { run_launch(work); });
    return CUDA_SUCCESS;
}

/** Values of kernel attributes; twins use no shared, constant or local memory. */
CUresult function_attribute(CUfunction_attribute which, int* value) {
    switch (which) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
            *value = kMaxBlock;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_NUM_REGS:
            *value = 32;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
            *value = 80;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
            *value = 48 << 10;
            return CUDA_SUCCESS;
        default:
            *value = 0;
            return which >= 0 && which <= CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE
                       ? CUDA_SUCCESS
                       : CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult active_blocks(int* blocks, const CUfunc_st* function, int block_size) {
    if (blocks == nullptr || block_size <= 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const CUresult result = check_function(function);
    if (result == CUDA_SUCCESS) {
        *blocks = block_size <= static_cast<int>(kMaxBlock) ? 1 : 0;
    }
    return result;
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;

CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                        unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                        unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                        void** kernelParams, void** extra) {
    return call(Entry::kLaunchKernel, Needs::kContext, [&] {
        (void)sharedMemBytes;
        if (extra != nullptr) {
            return CUDA_ERROR_NOT_SUPPORTED;  // a packed buffer has no types to copy by
        }
        return launch(f, {gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, hStream,
                      kernelParams, false);
    });
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                   unsigned int gridDimZ, unsigned int blockDimX,
                                   unsigned int blockDimY, unsigned int blockDimZ,
                                   unsigned int sharedMemBytes, CUstream hStream,
                                   void** kernelParams) {
    return call(Entry::kLaunchCooperativeKernel, Needs::kContext, [&] {
        (void)sharedMemBytes;
        return launch(f, {gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, hStream,
                      kernelParams, true);
    });
}

CUresult cuFuncGetAttribute(int* pi, CUfunction_attribute attrib, CUfunction hfunc) {
    return call(Entry::kFuncGetAttribute, Needs::kContext, [&] {
        if (pi == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const CUresult result = check_function(hfunc);
        return result == CUDA_SUCCESS ? function_attribute(attrib, pi) : result;
    });
}

CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
    return call(Entry::kFuncSetAttribute, Needs::kContext, [&] {
        (void)value;  // hints about shared memory, which twins do not use
        if (attrib != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
            attrib != CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        return check_function(hfunc);
    });
}

CUresult cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config) {
    return call(Entry::kFuncSetCacheConfig, Needs::kContext, [&] {
        (void)config;
        return check_function(hfunc);
    });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, CUfunction func, int blockSize,
                                                     size_t dynamicSMemSize) {
    return call(Entry::kOccupancyMaxActiveBlocksPerMultiprocessor, Needs::kContext, [&] {
        (void)dynamicSMemSize;
        return active_blocks(numBlocks, func, blockSize);
    });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* numBlocks, CUfunction func,
                                                              int blockSize, size_t dynamicSMemSize,
                                                              unsigned int flags) {
    return call(Entry::kOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, Needs::kContext, [&] {
        (void)dynamicSMemSize;
        return flags > 1 ? CUDA_ERROR_INVALID_VALUE : active_blocks(numBlocks, func, blockSize);
    });
}

CUresult cuOccupancyMaxPotentialBlockSize(int* minGridSize, int* blockSize, CUfunction func,
                                          CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                          size_t dynamicSMemSize, int blockSizeLimit) {
    return call(Entry::kOccupancyMaxPotentialBlockSize, Needs::kContext, [&] {
        (void)blockSizeToDynamicSMemSize;
        (void)dynamicSMemSize;
        if (minGridSize == nullptr || blockSize == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const CUresult result = check_function(func);
        if (result == CUDA_SUCCESS) {
            const int largest = static_cast<int>(kMaxBlock);
            *blockSize = blockSizeLimit > 0 ? std::min(blockSizeLimit, largest) : largest;
            *minGridSize = kMultiprocessors;
        }
        return result;
    });
}
