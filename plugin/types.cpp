// SPDX-License-Identifier: BSD-3-Clause
// The cache of layouts, filled from the convertor's raw view of a datatype.
#include "plugin/types.hpp"

#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>

namespace beeline::plugin {
namespace {

using datatype::Block;
using datatype::Layout;

constexpr std::size_t kSweepAt = 256;  // layouts kept before those of dead datatypes are dropped

struct Cache {
    std::unordered_map<ompi_datatype_t*, std::unique_ptr<const Layout>> layouts;
    std::size_t sweep_at = kSweepAt;
};

// Made at first use and destroyed by release_layouts(): nothing runs at load or unload.
constinit std::mutex mutex;
constinit Cache* cache = nullptr;

/// Adds a run, merged with the one before when they touch.
void append(Layout& layout, std::ptrdiff_t offset, std::size_t bytes) {
    if (!layout.blocks.empty()) {
        Block& last = layout.blocks.back();
        if (last.offset + static_cast<std::ptrdiff_t>(last.bytes) == offset) {
            last.bytes += bytes;
            return;
        }
    }
    layout.blocks.push_back(Block{offset, bytes});
}

/// Walks one element as Open MPI itself would pack it. The base address is never dereferenced; it
/// only has to leave room for negative offsets.
void append_runs(Layout& layout, const ompi_datatype_t* type) {
    static constexpr std::uintptr_t kBase = std::uintptr_t{1} << 62;
    constexpr std::uint32_t kBatch = 64;
    opal_convertor_t convertor;
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super, 1,
                                             reinterpret_cast<const void*>(kBase), 0, &convertor);
    for (bool done = false; !done;) {
        iovec runs[kBatch];
        std::uint32_t count = kBatch;
        std::size_t bytes = 0;
        done = opal_convertor_raw(&convertor, runs, &count, &bytes) != 0;
        for (std::uint32_t i = 0; i < count; ++i) {
            if (runs[i].iov_len != 0) {
                const auto address = reinterpret_cast<std::uintptr_t>(runs[i].iov_base);
                append(layout, static_cast<std::ptrdiff_t>(address - kBase), runs[i].iov_len);
            }
        }
        done = done || count == 0;
    }
    OBJ_DESTRUCT(&convertor);
}

std::unique_ptr<const Layout> make_layout(const ompi_datatype_t* type) {
    auto layout = std::make_unique<Layout>();
    layout->size = type->super.size;
    layout->extent = extent_of(type);
    std::ptrdiff_t offset = 0;
    if (layout->size == 0) {
        return layout;
    }
    if (is_contiguous(type, 1, offset)) {
        layout->blocks.push_back(Block{offset, layout->size});
    } else {
        append_runs(*layout, type);
    }
    datatype::index(*layout);
    return layout;
}

/// Drops the layouts of datatypes that only the cache still holds. The next sweep waits until as
/// many new ones came, so that a program with many live datatypes doesn't sweep at every call.
void sweep(Cache& all) noexcept {
    std::erase_if(all.layouts, [](auto& entry) {
        ompi_datatype_t* type = entry.first;
        if (ompi_datatype_is_predefined(type) || type->super.super.obj_reference_count > 1) {
            return false;
        }
        OBJ_RELEASE(type);
        return true;
    });
    all.sweep_at = all.layouts.size() + kSweepAt;
}

}  // namespace

const Layout* layout_of(ompi_datatype_t* type) {
    const std::lock_guard lock(mutex);
    if (cache == nullptr) {
        cache = new Cache;
    }
    if (const auto found = cache->layouts.find(type); found != cache->layouts.end()) {
        return found->second.get();
    }
    if (cache->layouts.size() >= cache->sweep_at) {
        sweep(*cache);
    }
    const auto added = cache->layouts.emplace(type, make_layout(type)).first;
    OBJ_RETAIN(type);
    return added->second.get();
}

void release_layouts() noexcept {
    const std::lock_guard lock(mutex);
    if (cache == nullptr) {
        return;
    }
    for (auto& entry : cache->layouts) {
        ompi_datatype_t* type = entry.first;
        OBJ_RELEASE(type);
    }
    delete cache;
    cache = nullptr;
}

}  // namespace beeline::plugin
