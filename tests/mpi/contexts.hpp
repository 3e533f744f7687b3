// SPDX-License-Identifier: BSD-3-Clause
// The driver calls about contexts that tests make to see whether MPI leaves them alone.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace beeline::test {

/// libcuda.so.1, initialized. Ends the program when it lacks something.
class Contexts {
 public:
    Contexts() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {
        load(init_, "cuInit");
        load(get_current_, "cuCtxGetCurrent");
        load(set_current_, "cuCtxSetCurrent");
        load(retain_, "cuDevicePrimaryCtxRetain");
        load(release_, "cuDevicePrimaryCtxRelease_v2");
        load(reset_, "cuDevicePrimaryCtxReset_v2");
        load(state_, "cuDevicePrimaryCtxGetState");
        load(device_get_, "cuDeviceGet");
        load(device_count_, "cuDeviceGetCount");
        load(device_uuid_, "cuDeviceGetUuid");
        load(create_, "cuCtxCreate_v2");
        load(pop_, "cuCtxPopCurrent_v2");
        load(destroy_, "cuCtxDestroy_v2");
        load(allocate_, "cuMemAlloc_v2");
        load(wait_, "cuCtxSynchronize");
        load(free_, "cuMemFree_v2");
        load(fill_, "cuMemsetD8_v2");
        load(read_, "cuMemcpyDtoH_v2");
        load(stream_create_, "cuStreamCreate");
        load(stream_destroy_, "cuStreamDestroy_v2");
        load(begin_capture_, "cuStreamBeginCapture_v2");
        load(end_capture_, "cuStreamEndCapture");
        load(graph_destroy_, "cuGraphDestroy");
        check(init_(0), "cuInit");
    }

    CUcontext current() const {
        CUcontext context = nullptr;
        check(get_current_(&context), "cuCtxGetCurrent");
        return context;
    }
    void use(CUcontext context) const { check(set_current_(context), "cuCtxSetCurrent"); }
    CUcontext retain(int device) const {
        CUcontext context = nullptr;
        check(retain_(&context, handle(device)), "cuDevicePrimaryCtxRetain");
        return context;
    }
    void release(int device) const { check(release_(handle(device)), "cuDevicePrimaryCtxRelease"); }
    /// What cudaDeviceReset does: all memory and streams of the device are gone.
    void reset(int device) const { check(reset_(handle(device)), "cuDevicePrimaryCtxReset"); }
    bool active(int device) const {
        unsigned flags = 0;
        int active = 0;
        check(state_(handle(device), &flags, &active), "cuDevicePrimaryCtxGetState");
        return active != 0;
    }
    /// A context of one's own; what is current stays so.
    CUcontext create(int device) const {
        CUcontext context = nullptr;
        CUcontext popped = nullptr;
        check(create_(&context, 0, handle(device)), "cuCtxCreate");
        check(pop_(&popped), "cuCtxPopCurrent");
        return context;
    }
    /// Captures a stream of the current context while `body` runs; whether the capture was left
    /// valid.
    template <class Body>
    bool captures(Body&& body) const {
        CUstream stream = nullptr;
        CUgraph graph = nullptr;
        check(stream_create_(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
        check(begin_capture_(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
        body();
        const bool valid = end_capture_(stream, &graph) == CUDA_SUCCESS;
        if (graph != nullptr) {
            check(graph_destroy_(graph), "cuGraphDestroy");
        }
        check(stream_destroy_(stream), "cuStreamDestroy");
        return valid;
    }
    void destroy(CUcontext context) const { check(destroy_(context), "cuCtxDestroy"); }

    int devices() const {
        int count = 0;
        check(device_count_(&count), "cuDeviceGetCount");
        return count;
    }
    /// As CUDA_VISIBLE_DEVICES takes it: GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx.
    std::string uuid(int device) const {
        CUuuid id;
        check(device_uuid_(&id, handle(device)), "cuDeviceGetUuid");
        std::string text = "GPU";
        for (int i = 0; i < 16; ++i) {
            char digits[4];
            std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(id.bytes[i]));
            text += i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
            text += digits;
        }
        return text;
    }

    /// Device memory of the current context, every byte `value`.
    void* allocate(std::size_t bytes, unsigned char value) const {
        CUdeviceptr address = 0;
        check(allocate_(&address, bytes), "cuMemAlloc");
        void* memory = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
        fill(memory, bytes, value);
        return memory;
    }
    void fill(void* memory, std::size_t bytes, unsigned char value) const {
        check(fill_(reinterpret_cast<CUdeviceptr>(memory), value, bytes), "cuMemsetD8");
        check(wait_(), "cuCtxSynchronize");  // the memset may still be under way
    }
    void free(void* memory) const {
        check(free_(reinterpret_cast<CUdeviceptr>(memory)), "cuMemFree");
    }
    /// Whether every byte is `value`.
    bool holds(const void* memory, std::size_t bytes, unsigned char value) const {
        std::vector<unsigned char> seen(bytes);
        check(read_(seen.data(), reinterpret_cast<CUdeviceptr>(memory), bytes), "cuMemcpyDtoH");
        return std::all_of(seen.begin(), seen.end(),
                           [value](unsigned char byte) { return byte == value; });
    }

 private:
    template <class Function>
    void load(Function& function, const char* name) {
        function =
            library_ == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library_, name));
        if (function == nullptr) {
            std::printf("FAIL: libcuda.so.1 has no %s\n", name);
            std::exit(1);
        }
    }
    static void check(CUresult result, const char* call) {
        if (result != CUDA_SUCCESS) {
            std::printf("FAIL: %s returned %d\n", call, static_cast<int>(result));
            std::exit(1);
        }
    }
    CUdevice handle(int device) const {
        CUdevice found = 0;
        check(device_get_(&found, device), "cuDeviceGet");
        return found;
    }

    void* library_;
    CUresult (*init_)(unsigned) = nullptr;
    CUresult (*stream_create_)(CUstream*, unsigned) = nullptr;
    CUresult (*stream_destroy_)(CUstream) = nullptr;
    CUresult (*begin_capture_)(CUstream, CUstreamCaptureMode) = nullptr;
    CUresult (*end_capture_)(CUstream, CUgraph*) = nullptr;
    CUresult (*graph_destroy_)(CUgraph) = nullptr;
    CUresult (*allocate_)(CUdeviceptr*, std::size_t) = nullptr;
    CUresult (*wait_)() = nullptr;
    CUresult (*free_)(CUdeviceptr) = nullptr;
    CUresult (*fill_)(CUdeviceptr, unsigned char, std::size_t) = nullptr;
    CUresult (*read_)(void*, CUdeviceptr, std::size_t) = nullptr;
    CUresult (*get_current_)(CUcontext*) = nullptr;
    CUresult (*set_current_)(CUcontext) = nullptr;
    CUresult (*retain_)(CUcontext*, CUdevice) = nullptr;
    CUresult (*release_)(CUdevice) = nullptr;
    CUresult (*reset_)(CUdevice) = nullptr;
    CUresult (*state_)(CUdevice, unsigned*, int*) = nullptr;
    CUresult (*device_get_)(CUdevice*, int) = nullptr;
    CUresult (*device_count_)(int*) = nullptr;
    CUresult (*device_uuid_)(CUuuid*, CUdevice) = nullptr;
    CUresult (*create_)(CUcontext*, unsigned, CUdevice) = nullptr;
    CUresult (*pop_)(CUcontext*) = nullptr;
    CUresult (*destroy_)(CUcontext) = nullptr;
};

}  // namespace beeline::test
