// SPDX-License-Identifier: BSD-3-Clause
// Classification by one cuPointerGetAttributes call, for the buffer id alone where the rest is
// known.
#include "memory/pointer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "cuda/context.hpp"
#include "cuda/driver.hpp"
#include "memory/always_host.hpp"
#include "memory/settle.hpp"

namespace beeline::memory {
namespace {

/// Whether the CPU can read the byte, asked of the kernel, which answers EFAULT rather than raise a
/// signal.
bool readable(const void* pointer) noexcept {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        return false;
    }
    const bool answer = write(ends[1], pointer, 1) == 1;
    close(ends[0]);
    close(ends[1]);
    return answer;
}

/// The driver gives no answer. Before it is up and after it is gone every pointer is the host's.
/// Otherwise, as after an error of a kernel of the application, memory that the CPU cannot read is
/// taken for a device's, with no context: what wants to copy it fails.
[[gnu::cold]] Pointer without_answer(const cuda::Driver& driver, CUresult result,
                                     const void* pointer) noexcept {
    Pointer answer;
    if (result == CUDA_ERROR_NOT_INITIALIZED || result == CUDA_ERROR_DEINITIALIZED ||
        readable(pointer)) {
        return answer;
    }
    cuda::report_failure(driver, "cuPointerGetAttributes", result, pointer,
                         "messages from or to this memory end with an error");
    answer.kind = Kind::kDevice;
    answer.driver = &driver;
    return answer;
}

constinit thread_local std::span<const Pointer> known;

/// The device allocations that the thread asked about last, in turn.
struct Recent {
    static constexpr unsigned kPlaces = 4;
    Pointer places[kPlaces];
    unsigned next = 0;
    std::uint64_t lowest = UINT64_MAX;  // of all that ever were there
    std::uint64_t highest = 0;

    void add(const Pointer& place) noexcept {
        places[next] = place;
        next = (next + 1) % kPlaces;
        lowest = std::min(lowest, place.base);
        highest = std::max(highest, place.base + place.size);
    }
    /// False for most host memory, at once.
    bool may_hold(const void* pointer) const noexcept {
        const auto address = reinterpret_cast<std::uint64_t>(pointer);
        return address >= lowest && address < highest;
    }
};
constinit thread_local Recent recent;

/// Whether the memory is still the allocation that was asked about.
bool is_same(const Pointer& place, const void* pointer) noexcept {
    std::uint64_t id = 0;
    CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_BUFFER_ID;
    void* value = &id;
    return place.driver->cuPointerGetAttributes(
               1, &attribute, &value, reinterpret_cast<CUdeviceptr>(pointer)) == CUDA_SUCCESS &&
           id == place.buffer_id;
}

/// One of the recent allocations, if the pointer is in one that is still there; or null.
const Pointer* find_recent(const cuda::Driver& driver, const void* pointer) noexcept {
    if (!recent.may_hold(pointer)) {
        return nullptr;
    }
    for (Pointer& place : recent.places) {
        if (place.holds(pointer, 1) && place.driver == &driver) {
            if (is_same(place, pointer)) {
                settle(place);
                return &place;
            }
            place = {};
        }
    }
    return nullptr;
}

/// What is known of the allocation around `pointer`; or null.
const Pointer* find_known(const void* pointer) noexcept {
    const auto address = reinterpret_cast<std::uint64_t>(pointer);
    for (const Pointer& place : known) {
        if (place.on_device() && address - place.base < place.size) {
            return &place;
        }
    }
    return nullptr;
}

/// Classifies what is not known, by one driver call.
Pointer ask(const cuda::Driver& driver, const void* pointer) noexcept {
    Pointer answer;
    unsigned type = 0;
    unsigned managed = 0;
    unsigned legacy_ipc = 0;
    int device = -1;
    CUcontext context = nullptr;
    std::uint64_t id = 0;
    CUdeviceptr base = 0;
    const void* host = nullptr;
    std::size_t size = 0;
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_CONTEXT,
        CU_POINTER_ATTRIBUTE_BUFFER_ID,      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        CU_POINTER_ATTRIBUTE_RANGE_SIZE,     CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
        CU_POINTER_ATTRIBUTE_HOST_POINTER,
    };
    void* values[] = {&type, &managed, &device, &context, &id, &base, &size, &legacy_ipc, &host};
    constexpr unsigned kCount = sizeof attributes / sizeof attributes[0];
    const CUresult result = driver.cuPointerGetAttributes(kCount, attributes, values,
                                                          reinterpret_cast<CUdeviceptr>(pointer));
    if (result != CUDA_SUCCESS) {
        return without_answer(driver, result, pointer);
    }
    if (type == 0 && managed == 0) {
        return answer;  // not CUDA's: the CPU may touch it
    }
    answer.kind = managed != 0                 ? Kind::kManaged
                  : type == CU_MEMORYTYPE_HOST ? Kind::kPinned
                                               : Kind::kDevice;
    answer.driver = &driver;
    answer.device = device;
    if (!answer.on_device()) {
        answer.context = context;
        return answer;
    }
    answer.context = context != nullptr ? context : cuda::context_of_device(driver, device);
    answer.base = base;
    answer.size = size;
    answer.buffer_id = id;
    answer.ipc_capable = answer.kind == Kind::kDevice && legacy_ipc != 0;
    // One that has a legacy handle is mapped as a whole; reservations of cuMemCreate memory have
    // gaps.
    answer.host_access = answer.ipc_capable && host == pointer;
    if (answer.kind == Kind::kDevice && answer.context != nullptr) {
        settle(answer);
        if (context != nullptr) {  // else it lasts no longer than our hold on the primary one
            recent.add(answer);
        }
    }
    return answer;
}

}  // namespace

KnownScope::KnownScope(std::span<const Pointer> places) noexcept : before_(known) {
    known = places;
}

KnownScope::~KnownScope() {
    known = before_;
}

Pointer classify(const void* pointer) noexcept {
    if (pointer == nullptr) {
        return {};
    }
    const cuda::Driver* driver = cuda::Driver::find();
    if (driver == nullptr) {
        return {};
    }
    if (const Pointer* place = find_known(pointer); place != nullptr) {
        return *place;
    }
    if (const Pointer* place = find_recent(*driver, pointer); place != nullptr) {
        return *place;
    }
    return ask(*driver, pointer);
}

Pointer look_at(const void* pointer) noexcept {
    const cuda::Driver* driver = cuda::Driver::find();
    if (pointer == nullptr || driver == nullptr) {
        return {};
    }
    if (const Pointer* place = find_known(pointer); place != nullptr) {
        return *place;
    }
    if (const Pointer* place = find_recent(*driver, pointer); place != nullptr) {
        return *place;
    }
    return always_host(pointer) ? Pointer{} : ask(*driver, pointer);
}

const char* to_string(Kind kind) noexcept {
    switch (kind) {
        case Kind::kHost:
            return "host";
        case Kind::kPinned:
            return "pinned";
        case Kind::kManaged:
            return "managed";
        case Kind::kDevice:
            return "device";
    }
    return "unknown";
}

}  // namespace beeline::memory
