// SPDX-License-Identifier: BSD-3-Clause
// The few driver calls that a benchmark or a test program makes for itself.
#include "tools/gpu/gpu.hpp"

#include <cuda.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

#include "tools/gpu/kinds.hpp"

namespace beeline::gpu {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

// A cache line, so that measured host buffers do not share lines with their neighbours.
constexpr std::size_t kHostAlignment = 64;

CUdeviceptr device_address(const void* address) noexcept {
    return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(address));
}

}  // namespace

const char* to_string(Kind kind) noexcept {
    switch (kind) {
        case Kind::kHost:
            return "host";
        case Kind::kDevice:
            return "device";
        case Kind::kManaged:
            return "managed";
        case Kind::kPinned:
            return "pinned";
        case Kind::kRegistered:
            return "registered";
        case Kind::kPool:
            return "pool";
        case Kind::kVmm:
            return "vmm";
    }
    return "unknown";
}

struct Gpu::Driver {
    void* library = nullptr;
    CUdevice device = 0;
    CUcontext context = nullptr;

    CUresult (*init)(unsigned) = nullptr;
    CUresult (*device_count)(int*) = nullptr;
    CUresult (*device_get)(CUdevice*, int) = nullptr;
    CUresult (*device_name)(char*, int, CUdevice) = nullptr;
    CUresult (*context_retain)(CUcontext*, CUdevice) = nullptr;
    CUresult (*context_release)(CUdevice) = nullptr;
    CUresult (*context_set)(CUcontext) = nullptr;
    CUresult (*context_wait)() = nullptr;
    CUresult (*allocate)(CUdeviceptr*, std::size_t) = nullptr;
    CUresult (*allocate_managed)(CUdeviceptr*, std::size_t, unsigned) = nullptr;
    CUresult (*release)(CUdeviceptr) = nullptr;
    CUresult (*to_device)(CUdeviceptr, const void*, std::size_t) = nullptr;
    CUresult (*to_host)(void*, CUdeviceptr, std::size_t) = nullptr;
    CUresult (*inside)(CUdeviceptr, CUdeviceptr, std::size_t) = nullptr;
    CUresult (*error_name)(CUresult, const char**) = nullptr;
    std::unique_ptr<Allocators> others;  // made when first asked for

    template <class Function>
    bool load(Function& function, const char* name, std::string& why) {
        function = reinterpret_cast<Function>(dlsym(library, name));
        if (function == nullptr) {
            why = std::string(kLibrary) + " has no " + name;
        }
        return function != nullptr;
    }

    bool load_all(std::string& why) {
        return load(init, "cuInit", why) && load(device_count, "cuDeviceGetCount", why) &&
               load(device_get, "cuDeviceGet", why) && load(device_name, "cuDeviceGetName", why) &&
               load(context_retain, "cuDevicePrimaryCtxRetain", why) &&
               load(context_release, "cuDevicePrimaryCtxRelease_v2", why) &&
               load(context_set, "cuCtxSetCurrent", why) &&
               load(context_wait, "cuCtxSynchronize", why) &&
               load(allocate, "cuMemAlloc_v2", why) &&
               load(allocate_managed, "cuMemAllocManaged", why) &&
               load(release, "cuMemFree_v2", why) && load(to_device, "cuMemcpyHtoD_v2", why) &&
               load(to_host, "cuMemcpyDtoH_v2", why) && load(inside, "cuMemcpyDtoD_v2", why) &&
               load(error_name, "cuGetErrorName", why);
    }

    bool check(CUresult result, const char* call, std::string& why) {
        if (result == CUDA_SUCCESS) {
            return true;
        }
        const char* name = nullptr;
        if (error_name(result, &name) != CUDA_SUCCESS || name == nullptr) {
            name = "an unknown error";
        }
        why = std::string(kLibrary) + " was loaded, but " + call + " returned " + name;
        return false;
    }
};

Gpu::Gpu(std::unique_ptr<Driver> driver) noexcept : driver_(std::move(driver)) {}

std::unique_ptr<Gpu> Gpu::open(int index, std::string& why) {
    auto driver = std::make_unique<Driver>();
    driver->library = dlopen(kLibrary, RTLD_NOW | RTLD_GLOBAL);
    if (driver->library == nullptr) {
        why = std::string(kLibrary) +
              " was looked for on the loader's path and could not be loaded: " + dlerror();
        return nullptr;
    }
    int count = 0;
    if (!driver->load_all(why) || !driver->check(driver->init(0), "cuInit", why) ||
        !driver->check(driver->device_count(&count), "cuDeviceGetCount", why)) {
        return nullptr;
    }
    if (count == 0) {
        why = std::string(kLibrary) + " was loaded, but it reports no devices";
        return nullptr;
    }
    const int ordinal = index % count;
    if (!driver->check(driver->device_get(&driver->device, ordinal), "cuDeviceGet", why) ||
        !driver->check(driver->context_retain(&driver->context, driver->device),
                       "cuDevicePrimaryCtxRetain", why) ||
        !driver->check(driver->context_set(driver->context), "cuCtxSetCurrent", why)) {
        return nullptr;
    }
    std::unique_ptr<Gpu> gpu(new Gpu(std::move(driver)));
    gpu->ordinal_ = ordinal;
    gpu->count_ = count;
    return gpu;
}

Gpu::~Gpu() {
    // The library stays loaded: others in the process may use it.
    driver_->context_set(nullptr);
    driver_->context_release(driver_->device);
}

std::string Gpu::name() const {
    char text[256] = "";
    driver_->device_name(text, sizeof text, driver_->device);
    return text;
}

void* Gpu::allocate(Kind kind, std::size_t bytes) noexcept {
    CUdeviceptr address = 0;
    const std::size_t wanted = bytes == 0 ? 1 : bytes;
    CUresult result = CUDA_SUCCESS;
    if (kind == Kind::kManaged) {
        result = driver_->allocate_managed(&address, wanted, CU_MEM_ATTACH_GLOBAL);
    } else if (kind == Kind::kDevice) {
        result = driver_->allocate(&address, wanted);
    } else {
        if (!driver_->others) {
            driver_->others = Allocators::load(driver_->library, driver_->device);
        }
        return driver_->others ? driver_->others->allocate(kind, wanted) : nullptr;
    }
    return result == CUDA_SUCCESS ? reinterpret_cast<void*>(static_cast<std::uintptr_t>(address))
                                  : nullptr;
}

void Gpu::release(Kind kind, void* address, std::size_t bytes) noexcept {
    if (address == nullptr) {
        return;
    }
    if (kind == Kind::kManaged || kind == Kind::kDevice) {
        driver_->release(device_address(address));
    } else {
        driver_->others->release(kind, address, bytes == 0 ? 1 : bytes);
    }
}

bool Gpu::write(void* to, const void* from, std::size_t bytes) noexcept {
    // A copy from pageable memory may return before it has reached the device, so wait for it.
    return bytes == 0 || (driver_->to_device(device_address(to), from, bytes) == CUDA_SUCCESS &&
                          driver_->context_wait() == CUDA_SUCCESS);
}

bool Gpu::read(void* to, const void* from, std::size_t bytes) noexcept {
    return bytes == 0 || driver_->to_host(to, device_address(from), bytes) == CUDA_SUCCESS;
}

bool Gpu::copy(void* to, const void* from, std::size_t bytes) noexcept {
    // The host may be told that such a copy is over before it is.
    return bytes == 0 ||
           (driver_->inside(device_address(to), device_address(from), bytes) == CUDA_SUCCESS &&
            driver_->context_wait() == CUDA_SUCCESS);
}

Buffer::Buffer(Gpu* gpu, Kind kind, std::size_t bytes) : gpu_(gpu), kind_(kind), bytes_(bytes) {
    if (kind == Kind::kHost) {
        const std::size_t rounded = (bytes / kHostAlignment + 1) * kHostAlignment;
        address_ = static_cast<unsigned char*>(std::aligned_alloc(kHostAlignment, rounded));
    } else {
        address_ =
            gpu == nullptr ? nullptr : static_cast<unsigned char*>(gpu->allocate(kind, bytes));
    }
    if (address_ == nullptr) {
        throw std::bad_alloc();
    }
}

Buffer::~Buffer() {
    if (kind_ == Kind::kHost) {
        std::free(address_);
    } else {
        gpu_->release(kind_, address_, bytes_);
    }
}

void Buffer::write(std::size_t offset, const void* from, std::size_t bytes) {
    if (is_host(kind_)) {
        std::memcpy(address_ + offset, from, bytes);
    } else if (!gpu_->write(address_ + offset, from, bytes)) {
        throw std::runtime_error("a copy from host to device memory failed");
    }
}

void Buffer::read(std::size_t offset, void* to, std::size_t bytes) const {
    if (is_host(kind_)) {
        std::memcpy(to, address_ + offset, bytes);
    } else if (!gpu_->read(to, address_ + offset, bytes)) {
        throw std::runtime_error("a copy from device to host memory failed");
    }
}

}  // namespace beeline::gpu
