// SPDX-License-Identifier: BSD-3-Clause
// From `kernel<<<...>>>` and cudaLaunchKernel to cuLaunchKernel. SoftCUDA runs a kernel's host
// twin: a program whose kernels have none gets cudaErrorNoKernelImageForDevice, never silence.
#include "softcuda/runtime/nvcc_abi.hpp"
#include "softcuda/runtime/registry.hpp"
#include "softcuda/runtime/state.hpp"

#include <vector>

using softcuda::runtime::find_kernel;
using softcuda::runtime::Image;
using softcuda::runtime::Kernel;
using softcuda::runtime::record;
using softcuda::runtime::with_context;

namespace {

struct Configuration {
    dim3 grid;
    dim3 block;
    size_t shared;
    cudaStream_t stream;
};

/// Launch configurations between `<<<...>>>` and the stub's body; a stack, because an argument of
/// a launch may itself launch.
std::vector<Configuration>& pending() {
    static thread_local std::vector<Configuration> stack;
    return stack;
}

cudaError_t launch(Kernel* kernel, dim3 grid, dim3 block, void** args, size_t shared,
                   cudaStream_t stream) {
    // The generated stub ignores a failed lookup and launches a null kernel.
    if (kernel == nullptr) {
        return record(cudaErrorInvalidDeviceFunction);
    }
    if (shared > 0xffffffffU) {
        return record(cudaErrorInvalidValue);
    }
    return with_context([&] {
        CUfunction function = nullptr;
        const CUresult result = softcuda::runtime::resolve(kernel, &function);
        return result != CUDA_SUCCESS
                   ? result
                   : cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                    static_cast<unsigned>(shared), stream, args, nullptr);
    });
}

Kernel* kernel_of(cudaKernel_t handle) {
    return reinterpret_cast<Kernel*>(handle);
}

}  // namespace

void** __cudaRegisterFatBinary(void* wrapper) {
    return reinterpret_cast<void**>(softcuda::runtime::add_image(wrapper));
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** image) {
    softcuda::runtime::remove_image(reinterpret_cast<Image*>(image));
}

void __cudaRegisterFunction(void** image, const char* stub, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
    softcuda::runtime::add_kernel(reinterpret_cast<Image*>(image), stub, name);
}

// Device variables live in the kernels' twins; no call of this runtime takes a symbol, so a program
// that needs one fails to load rather than to compute.
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}

char __cudaInitModule(void**) {
    return 1;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st* stream) {
    try {
        pending().push_back({grid, block, shared, stream});
    } catch (...) {
        record(cudaErrorMemoryAllocation);
        return 1;
    }
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
    std::vector<Configuration>& stack = pending();
    if (stack.empty()) {
        return record(cudaErrorMissingConfiguration);
    }
    *grid = stack.back().grid;
    *block = stack.back().block;
    *shared = stack.back().shared;
    *static_cast<cudaStream_t*>(stream) = stack.back().stream;
    stack.pop_back();
    return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
    Kernel* found = find_kernel(stub);
    *kernel = reinterpret_cast<cudaKernel_t>(found);
    return found == nullptr ? record(cudaErrorInvalidDeviceFunction) : cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args,
                               size_t shared, cudaStream_t stream) {
    return launch(kernel_of(kernel), grid, block, args, shared, stream);
}

cudaError_t cudaGetKernel(cudaKernel_t* kernelPtr, const void* entryFuncAddr) {
    if (kernelPtr == nullptr) {
        return record(cudaErrorInvalidValue);
    }
    return __cudaGetKernel(kernelPtr, entryFuncAddr);
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* functionPtr, const void* symbolPtr) {
    Kernel* found = find_kernel(symbolPtr);
    if (functionPtr == nullptr || found == nullptr) {
        return record(functionPtr == nullptr ? cudaErrorInvalidValue
                                             : cudaErrorInvalidDeviceFunction);
    }
    return with_context([&] { return softcuda::runtime::resolve(found, functionPtr); });
}

cudaError_t cudaLaunchKernel(const void* func, dim3 gridDim, dim3 blockDim, void** args,
                             size_t sharedMem, cudaStream_t stream) {
    Kernel* kernel = find_kernel(func);
    if (kernel == nullptr) {
        // A cudaKernel_t is as good as the address of the stub.
        auto* candidate = const_cast<Kernel*>(static_cast<const Kernel*>(func));
        kernel = softcuda::runtime::known(candidate) ? candidate : nullptr;
    }
    return launch(kernel, gridDim, blockDim, args, sharedMem, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* func, void** args) {
    if (config == nullptr) {
        return record(cudaErrorInvalidValue);
    }
    if (config->numAttrs != 0) {
        return record(cudaErrorNotSupported);
    }
    return cudaLaunchKernel(func, config->gridDim, config->blockDim, args, config->dynamicSmemBytes,
                            config->stream);
}
