// SPDX-License-Identifier: BSD-3-Clause
// Workspaces, those of others as mapped here, and their ends.
#include "coll/exec/fused_workspace.hpp"

#include <sys/mman.h>
#include <sys/random.h>

#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "coll/exec/fused_kernels.hpp"
#include "cuda/context.hpp"

namespace beeline::coll::exec {
namespace {

constexpr std::size_t kPage = 4096;
static_assert(sizeof(FusedMailbox) <= kPage);

struct Owned {
    FusedWorkspace workspace;
    bool in_use = false;
    bool dirty = false;
};

struct Mapped {
    FusedAddress address;
    const cuda::Driver* driver = nullptr;
    CUcontext context = nullptr;
    CUdeviceptr pointer = 0;
    std::uint64_t local_id = 0;  ///< of the mapping: shows that a reset took it away
};

struct State {
    std::mutex mutex;
    std::vector<std::unique_ptr<Owned>> owned;
    std::vector<Mapped> mapped;
    std::uint64_t process = 0;
};

State& state() noexcept {
    static State instance;
    return instance;
}

/// Tells processes apart whose ids may be equal.
std::uint64_t process_number(State& all) noexcept {
    while (all.process == 0) {
        if (getrandom(&all.process, sizeof all.process, 0) != sizeof all.process) {
            all.process = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&all));
        }
    }
    return all.process;
}

std::uint64_t buffer_id_of(const cuda::Driver& driver, CUdeviceptr pointer) noexcept {
    std::uint64_t id = 0;
    return driver.cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, pointer) ==
                   CUDA_SUCCESS
               ? id
               : 0;
}

bool alive(const FusedWorkspace& workspace) noexcept {
    return buffer_id_of(*workspace.driver, workspace.address.base) == workspace.address.buffer_id;
}

CUresult open_mailbox(FusedWorkspace& workspace) noexcept {
    const cuda::Driver& driver = *workspace.driver;
    void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult result = driver.cuMemHostRegister(
        page, kPage, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    if (result == CUDA_SUCCESS) {
        result = driver.cuMemHostGetDevicePointer(&workspace.mailbox_on_device, page, 0);
        if (result != CUDA_SUCCESS) {
            driver.cuMemHostUnregister(page);
        }
    }
    if (result != CUDA_SUCCESS) {
        munmap(page, kPage);
        return result;
    }
    workspace.mailbox = new (page) FusedMailbox{};
    return CUDA_SUCCESS;
}

/// Frees what there is of a workspace. The context must be current, unless it is gone.
void destroy(FusedWorkspace& workspace, bool context_is_gone) noexcept {
    if (!context_is_gone && workspace.address.base != 0) {
        workspace.driver->cuMemFree(workspace.address.base);
    }
    if (workspace.mailbox != nullptr) {
        workspace.driver->cuMemHostUnregister(workspace.mailbox);
        munmap(workspace.mailbox, kPage);
    }
    workspace.address.base = 0;
    workspace.mailbox = nullptr;
}

CUresult create(FusedWorkspace& workspace, std::size_t bytes) noexcept {
    const cuda::Driver& driver = *workspace.driver;
    if (driver.cuMemHostGetDevicePointer == nullptr || driver.cuMemsetD8Async == nullptr) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    auto stream = cuda::Stream::create(driver);
    if (!stream) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    workspace.stream = std::move(*stream);
    CUdeviceptr base = 0;
    CUresult result = driver.cuMemAlloc(&base, bytes);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    FusedAddress& address = workspace.address;
    address.base = base;
    address.bytes = bytes;
    address.buffer_id = buffer_id_of(driver, base);
    address.context = reinterpret_cast<std::uint64_t>(workspace.context);
    result = driver.cuIpcGetMemHandle(&address.handle, base);
    if (result == CUDA_SUCCESS) {
        result = open_mailbox(workspace);
    }
    workspace.place = memory::classify(reinterpret_cast<const void*>(base));
    return result;
}

bool clear(FusedWorkspace& workspace) noexcept {
    workspace.mailbox->report.store(0);
    workspace.mailbox->abort.store(0);
    const cuda::Driver& driver = *workspace.driver;
    return driver.cuMemsetD8Async(workspace.address.base, 0, workspace.address.bytes,
                                  workspace.stream.get()) == CUDA_SUCCESS &&
           driver.cuStreamSynchronize(workspace.stream.get()) == CUDA_SUCCESS;
}

/// One that nobody uses, all zero; null when there is none.
FusedWorkspace* reuse(State& all, CUcontext context, std::size_t bytes) noexcept {
    for (const auto& owned : all.owned) {
        FusedWorkspace& workspace = owned->workspace;
        if (owned->in_use || owned->dirty || workspace.context != context ||
            workspace.address.bytes != bytes) {
            continue;
        }
        if (alive(workspace) && clear(workspace)) {
            owned->in_use = true;
            return &workspace;
        }
        // Of a context that was reset: so are its kernels, and the handles may be others' now.
        owned->dirty = true;
        workspace.stream.forget();
        forget_fused_kernels(context);
    }
    return nullptr;
}

void close(const Mapped& mapped) noexcept {
    const cuda::ContextScope scope(*mapped.driver, mapped.context);
    if (scope.result() == CUDA_SUCCESS &&
        buffer_id_of(*mapped.driver, mapped.pointer) == mapped.local_id) {
        mapped.driver->cuIpcCloseMemHandle(mapped.pointer);
    }
}

/// Closes mappings of what the owner no longer has (a driver refuses the new one before), and
/// forgets those that a reset took away.
void close_outdated(State& all, const FusedAddress& now) noexcept {
    std::erase_if(all.mapped, [&now](const Mapped& mapped) {
        const FusedAddress& old = mapped.address;
        if (old.process != now.process) {
            return false;
        }
        const bool overlaps = old.base < now.base + now.bytes && now.base < old.base + old.bytes;
        if (overlaps && (old.base != now.base || old.buffer_id != now.buffer_id)) {
            close(mapped);
            return true;
        }
        return buffer_id_of(*mapped.driver, mapped.pointer) != mapped.local_id;
    });
}

}  // namespace

Result<FusedWorkspace*> take_fused_workspace(const cuda::Driver& driver, CUcontext context,
                                             std::size_t bytes) noexcept {
    State& all = state();
    const std::lock_guard lock(all.mutex);
    const cuda::CaptureScope captures(driver);
    if (FusedWorkspace* workspace = reuse(all, context, bytes); workspace != nullptr) {
        return workspace;
    }
    try {
        all.owned.reserve(all.owned.size() + 1);
        auto owned = std::make_unique<Owned>();
        FusedWorkspace& workspace = owned->workspace;
        workspace.driver = &driver;
        workspace.context = context;
        workspace.address.process = process_number(all);
        CUresult result = create(workspace, bytes);
        if (result == CUDA_SUCCESS && !clear(workspace)) {
            result = CUDA_ERROR_UNKNOWN;
        }
        if (result != CUDA_SUCCESS) {
            destroy(workspace, false);
            cuda::report_failure(driver, "making a workspace", result, nullptr,
                                 "small collectives of device memory take several steps");
            return Status::kDriver;
        }
        owned->in_use = true;
        all.owned.push_back(std::move(owned));
        return &all.owned.back()->workspace;
    } catch (const std::bad_alloc&) {
        return Status::kNoMemory;
    }
}

void give_back_fused_workspace(FusedWorkspace* workspace, bool clean) noexcept {
    State& all = state();
    const std::lock_guard lock(all.mutex);
    for (const auto& owned : all.owned) {
        if (&owned->workspace == workspace) {
            owned->in_use = false;
            owned->dirty = owned->dirty || !clean;
        }
    }
}

void* map_fused_workspace(const cuda::Driver& driver, CUcontext context,
                          const FusedAddress& address) noexcept {
    State& all = state();
    const std::lock_guard lock(all.mutex);
    if (address.process == process_number(all)) {
        // A rank of this process. Another context would have to be given access first.
        return address.context == reinterpret_cast<std::uint64_t>(context)
                   ? reinterpret_cast<void*>(address.base)
                   : nullptr;
    }
    const cuda::CaptureScope captures(driver);
    close_outdated(all, address);
    for (const Mapped& mapped : all.mapped) {
        if (mapped.address.process == address.process && mapped.address.base == address.base &&
            mapped.context == context) {
            return reinterpret_cast<void*>(mapped.pointer);
        }
    }
    Mapped mapped{address, &driver, context, 0, 0};
    try {
        all.mapped.reserve(all.mapped.size() + 1);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
    const CUresult result = driver.cuIpcOpenMemHandle(&mapped.pointer, address.handle,
                                                      CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    if (result != CUDA_SUCCESS) {
        log_once(LogLevel::kInfo, "coll.fused_map",
                 "cuIpcOpenMemHandle failed with %s: small collectives of device memory take "
                 "several steps",
                 driver.name_of(result));
        return nullptr;
    }
    mapped.local_id = buffer_id_of(driver, mapped.pointer);
    all.mapped.push_back(mapped);
    return reinterpret_cast<void*>(mapped.pointer);
}

void unmap_fused_workspaces() noexcept {
    State& all = state();
    const std::lock_guard lock(all.mutex);
    for (const Mapped& mapped : all.mapped) {
        close(mapped);
    }
    all.mapped.clear();
}

void free_fused_workspaces() noexcept {
    State& all = state();
    const std::lock_guard lock(all.mutex);
    for (const auto& owned : all.owned) {
        FusedWorkspace& workspace = owned->workspace;
        const cuda::ContextScope scope(*workspace.driver, workspace.context);
        const bool gone = scope.result() != CUDA_SUCCESS || !alive(workspace);
        destroy(workspace, gone);
        if (gone) {
            workspace.stream.forget();
        } else {
            workspace.stream = {};
        }
    }
    all.owned.clear();
}

}  // namespace beeline::coll::exec
