// SPDX-License-Identifier: BSD-3-Clause
// Registered fat binaries and kernels, and the modules loaded from them for each context.
#include "softcuda/runtime/registry.hpp"

#include "softcuda/runtime/state.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace softcuda::runtime {

struct Image {
    const void* data = nullptr;
    unsigned generation = 0;
    std::unordered_map<CUcontext, CUmodule> modules;
};

struct Kernel {
    Image* image = nullptr;
    std::string name;
    unsigned generation = 0;
    std::unordered_map<CUcontext, CUfunction> functions;
};

namespace {

/// The record that nvcc places in .nvFatBinSegment.
struct Wrapper {
    int magic;
    int version;
    const void* data;
    void* file_name;
};
constexpr int kWrapperMagic = 0x466243b1;

struct Registry {
    std::mutex lock;
    std::vector<std::unique_ptr<Image>> images;
    std::unordered_map<const void*, std::unique_ptr<Kernel>> kernels;
};

/// Made on first use, because programs register from their own load-time constructors, and never
/// destroyed, because they unregister from their destructors.
Registry& registry() {
    static Registry* const instance = new Registry;
    return *instance;
}

CUresult module_of(Image* image, CUcontext context, CUmodule* module) {
    const unsigned now = reset_generation();
    if (image->generation != now) {
        image->modules.clear();  // they went with their contexts
        image->generation = now;
    }
    CUmodule& slot = image->modules[context];
    if (slot == nullptr) {
        const CUresult result = cuModuleLoadData(&slot, image->data);
        if (result != CUDA_SUCCESS) {
            image->modules.erase(context);
            return result;
        }
    }
    *module = slot;
    return CUDA_SUCCESS;
}

}  // namespace

Image* add_image(const void* wrapper) {
    const auto* record = static_cast<const Wrapper*>(wrapper);
    if (record == nullptr || record->magic != kWrapperMagic) {
        return nullptr;
    }
    Registry& all = registry();
    const std::lock_guard guard(all.lock);
    all.images.push_back(std::make_unique<Image>());
    all.images.back()->data = record->data;
    return all.images.back().get();
}

void remove_image(Image* image) {
    Registry& all = registry();
    const std::lock_guard guard(all.lock);
    std::erase_if(all.kernels, [image](const auto& entry) { return entry.second->image == image; });
    std::erase_if(all.images, [image](const auto& entry) { return entry.get() == image; });
}

void add_kernel(Image* image, const void* stub, const char* name) {
    if (image == nullptr || stub == nullptr || name == nullptr) {
        return;
    }
    Registry& all = registry();
    const std::lock_guard guard(all.lock);
    auto kernel = std::make_unique<Kernel>();
    kernel->image = image;
    kernel->name = name;
    all.kernels[stub] = std::move(kernel);
}

Kernel* find_kernel(const void* stub) {
    Registry& all = registry();
    const std::lock_guard guard(all.lock);
    const auto found = all.kernels.find(stub);
    return found == all.kernels.end() ? nullptr : found->second.get();
}

bool known(const Kernel* kernel) {
    Registry& all = registry();
    const std::lock_guard guard(all.lock);
    for (const auto& entry : all.kernels) {
        if (entry.second.get() == kernel) {
            return true;
        }
    }
    return false;
}

CUresult resolve(Kernel* kernel, CUfunction* function) {
    CUcontext context = nullptr;
    CUresult result = cuCtxGetCurrent(&context);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    const std::lock_guard guard(registry().lock);
    const unsigned now = reset_generation();
    if (kernel->generation != now) {
        kernel->functions.clear();
        kernel->generation = now;
    }
    CUfunction& slot = kernel->functions[context];
    if (slot == nullptr) {
        CUmodule module = nullptr;
        result = module_of(kernel->image, context, &module);
        if (result == CUDA_SUCCESS) {
            result = cuModuleGetFunction(&slot, module, kernel->name.c_str());
        }
        if (result != CUDA_SUCCESS) {
            kernel->functions.erase(context);
            // The runtime's word for "this device cannot run any version of the kernel".
            return result == CUDA_ERROR_NOT_FOUND ? CUDA_ERROR_NO_BINARY_FOR_GPU : result;
        }
    }
    *function = slot;
    return CUDA_SUCCESS;
}

}  // namespace softcuda::runtime
