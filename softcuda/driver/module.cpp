// SPDX-License-Identifier: BSD-3-Clause
// Driver entries of modules: images are recognised, kernels are looked up among the host twins.
#include "softcuda/driver/module.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "softcuda/driver/config.hpp"
#include "softcuda/driver/ledger.hpp"

namespace softcuda {
namespace {

constexpr uint32_t kFatbinMagic = 0xba55ed50;
constexpr uint32_t kWrapperMagic = 0x466243b1;

/** Whether the image is a cubin, a fat binary (bare or wrapped) or PTX text. */
bool is_image(const void* image) {
    uint32_t magic = 0;
    std::memcpy(&magic, image, sizeof magic);
    const char* text = static_cast<const char*>(image);
    return magic == kFatbinMagic || magic == kWrapperMagic ||
           std::memcmp(text,
                       "\x7f"
                       "ELF",
                       4) == 0 ||
           std::strncmp(text, "//", 2) == 0 || std::strncmp(text, ".version", 8) == 0;
}

/** The kernel libraries, opened once; those that cannot be are named on stderr. */
const std::vector<void*>& kernel_libraries() {
    static const std::vector<void*>& libraries = *[] {
        auto* opened = new std::vector<void*>;
        for (const std::string& path : config().kernels) {
            if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
                opened->push_back(library);
            } else {
                std::fprintf(stderr, "SoftCUDA: cannot load kernels: %s\n", dlerror());
            }
        }
        return opened;
    }();
    return libraries;
}

const SoftcudaKernel* find_twin(const std::string& name) {
    const std::string symbol = "softcuda_kernel_" + name;
    for (void* library : kernel_libraries()) {
        if (const void* found = dlsym(library, symbol.c_str())) {
            return static_cast<const SoftcudaKernel*>(found);
        }
    }
    // A program may also bring twins of its own kernels in itself.
    return static_cast<const SoftcudaKernel*>(dlsym(RTLD_DEFAULT, symbol.c_str()));
}

CUresult load(CUmodule* out, const void* image) {
    if (out == nullptr || image == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!is_image(image)) {
        return CUDA_ERROR_INVALID_IMAGE;
    }
    CUctx_st& context = *current_context();
    drain_context(context);  // loading synchronises
    auto* module = new CUmod_st{&context, true, {}};
    const std::lock_guard lock(context.mutex);
    context.modules.push_back(module);
    ledger.modules.fetch_add(1);
    *out = module;
    return CUDA_SUCCESS;
}

CUresult check_module(const CUmod_st* module) {
    return module != nullptr && module->loaded ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult get_function(CUfunction* out, CUmod_st& module, const char* name) {
    const std::lock_guard lock(module.context->mutex);
    for (CUfunc_st* function : module.functions) {
        if (function->name == name) {
            *out = function;
            return CUDA_SUCCESS;
        }
    }
    const SoftcudaKernel* twin = find_twin(name);
    if (twin == nullptr) {
        if (config().log) {
            std::fprintf(stderr, "SoftCUDA: no host twin of kernel %s\n", name);
        }
        return CUDA_ERROR_NOT_FOUND;
    }
    module.functions.push_back(new CUfunc_st{&module, name, twin});
    *out = module.functions.back();
    return CUDA_SUCCESS;
}

}  // namespace

void forget_module(CUmod_st* module) {
    module->loaded = false;
    ledger.modules.fetch_sub(1);
}

CUresult check_function(const CUfunc_st* function) {
    if (function == nullptr || !function->module->loaded) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    // Functions, unlike copies, run only in the context their module was loaded into.
    return function->module->context == current_context() ? CUDA_SUCCESS
                                                          : CUDA_ERROR_INVALID_CONTEXT;
}

}  // namespace softcuda

using namespace softcuda;

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    return call(Entry::kModuleLoadData, Needs::kNoCapture, [&] { return load(module, image); });
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int numOptions,
                            CUjit_option* options, void** optionValues) {
    return call(Entry::kModuleLoadDataEx, Needs::kNoCapture, [&] {
        // Options steer the compiler of a real driver; the host twins are compiled already.
        return numOptions != 0 && (options == nullptr || optionValues == nullptr)
                   ? CUDA_ERROR_INVALID_VALUE
                   : load(module, image);
    });
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* fatCubin) {
    return call(Entry::kModuleLoadFatBinary, Needs::kNoCapture,
                [&] { return load(module, fatCubin); });
}

CUresult cuModuleLoad(CUmodule* module, const char* fname) {
    return call(Entry::kModuleLoad, Needs::kNoCapture, [&] {
        if (fname == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        std::FILE* file = std::fopen(fname, "re");
        if (file == nullptr) {
            return CUDA_ERROR_FILE_NOT_FOUND;
        }
        char head[16] = {};
        const size_t read = std::fread(head, 1, sizeof head - 1, file);
        std::fclose(file);
        return read < 4 ? CUDA_ERROR_INVALID_IMAGE : load(module, head);
    });
}

CUresult cuModuleUnload(CUmodule hmod) {
    return call(Entry::kModuleUnload, Needs::kContext, [&] {
        if (const CUresult result = check_module(hmod); result != CUDA_SUCCESS) {
            return result;
        }
        drain_context(*hmod->context);
        const std::lock_guard lock(hmod->context->mutex);
        std::erase(hmod->context->modules, hmod);
        forget_module(hmod);
        return CUDA_SUCCESS;
    });
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
    return call(Entry::kModuleGetLoadingMode, Needs::kDriver, [&] {
        if (mode == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *mode = CU_MODULE_LAZY_LOADING;
        return CUDA_SUCCESS;
    });
}

CUresult cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name) {
    return call(Entry::kModuleGetFunction, Needs::kContext, [&] {
        if (hfunc == nullptr || name == nullptr || *name == '\0') {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const CUresult result = check_module(hmod);
        return result == CUDA_SUCCESS ? get_function(hfunc, *hmod, name) : result;
    });
}

CUresult cuModuleGetGlobal(CUdeviceptr*, size_t*, CUmodule hmod, const char* name) {
    return call(Entry::kModuleGetGlobal, Needs::kContext, [&] {
        if (name == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const CUresult result = check_module(hmod);
        return result == CUDA_SUCCESS ? CUDA_ERROR_NOT_FOUND : result;  // twins have no globals
    });
}

CUresult cuFuncGetModule(CUmodule* hmod, CUfunction hfunc) {
    return call(Entry::kFuncGetModule, Needs::kContext, [&] {
        if (hmod == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const CUresult result = check_function(hfunc);
        if (result == CUDA_SUCCESS) {
            *hmod = hfunc->module;
        }
        return result;
    });
}

CUresult cuFuncGetName(const char** name, CUfunction hfunc) {
    return call(Entry::kFuncGetName, Needs::kContext, [&] {
        if (name == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const CUresult result = check_function(hfunc);
        if (result == CUDA_SUCCESS) {
            *name = hfunc->name.c_str();
        }
        return result;
    });
}

CUresult cuFuncLoad(CUfunction function) {
    return call(Entry::kFuncLoad, Needs::kContext, [&] { return check_function(function); });
}
