// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of a communicator agree on fused collectives: all can, or none does.
#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "base/log.hpp"
#include "coll/exec/fused.hpp"
#include "coll/exec/fused_kernels.hpp"
#include "cuda/context.hpp"

namespace beeline::coll::exec {
namespace {

constexpr std::uint32_t kMagic = 0x46555345;
constexpr int kOffers = 0;  ///< channels
constexpr int kVerdicts = 1;

enum class Verdict : std::uint8_t { kCannot = 1, kCan = 2 };

/// The context to work in: that of the buffer, or, for a host buffer, the one that the application
/// uses in this thread. Null when there is none: no GPU is used here, and none is woken.
CUcontext context_for(const memory::Pointer& place, const cuda::Driver*& driver) noexcept {
    if (place.on_device()) {
        driver = place.driver;
        return place.context;
    }
    driver = cuda::Driver::find();
    CUcontext current = nullptr;
    if (driver == nullptr || driver->cuCtxGetCurrent(&current) != CUDA_SUCCESS) {
        return nullptr;
    }
    return current;
}

/// The same small record to and from every peer. False when a message failed.
template <class T>
bool exchange(Transport& transport, int channel, std::vector<T>& records) noexcept {
    std::vector<Handle> handles;
    const auto rank = static_cast<std::size_t>(transport.rank());
    try {
        handles.reserve(2 * records.size());
    } catch (const std::bad_alloc&) {
        return false;
    }
    bool fine = true;
    const auto note = [&](const Result<Handle>& started) {
        fine = fine && started.ok();
        if (started) {
            handles.push_back(started.value());
        }
    };
    for (std::size_t peer = 0; peer < records.size(); ++peer) {
        if (peer != rank) {
            note(transport.receive(&records[peer], sizeof(T), static_cast<int>(peer), channel));
        }
    }
    for (std::size_t peer = 0; peer < records.size(); ++peer) {
        if (peer != rank) {
            note(transport.send(&records[rank], sizeof(T), static_cast<int>(peer), channel));
        }
    }
    return transport.wait(handles) == Status::kOk && fine;
}

}  // namespace

/// What a rank brings to the agreement.
struct Fused::Offer {
    std::uint32_t magic = kMagic;
    std::uint8_t usable = 0;  ///< has a context and a workspace
    std::uint8_t device = 0;  ///< the buffers of this call are device memory
    std::uint8_t named = 0;   ///< `uuid` is known
    std::uint8_t unused = 0;
    std::uint64_t workspace = 0;  ///< FusedTerms
    CUuuid uuid{};
    FusedAddress address;
};

bool Fused::make_offer(const memory::Pointer& place, Offer& offer) noexcept {
    offer.workspace = terms_.workspace;
    offer.device = place.on_device() ? 1 : 0;
    const cuda::Driver* driver = nullptr;
    const CUcontext context = context_for(place, driver);
    if (context == nullptr) {
        return false;
    }
    const cuda::ContextScope scope(*driver, context);
    if (scope.result() != CUDA_SUCCESS) {
        return false;
    }
    CUdevice device = -1;
    if (driver->cuCtxGetDevice != nullptr && driver->cuDeviceGetUuid != nullptr &&
        driver->cuCtxGetDevice(&device) == CUDA_SUCCESS &&
        driver->cuDeviceGetUuid(&offer.uuid, device) == CUDA_SUCCESS) {
        offer.named = 1;
    }
    auto workspace = take_fused_workspace(*driver, context, terms_.workspace);
    if (!workspace) {
        return false;
    }
    workspace_ = workspace.value();
    offer.address = workspace_->address;
    return true;
}

bool Fused::map_all(const Offer* offers) noexcept {
    const cuda::ContextScope scope(*workspace_->driver, workspace_->context);
    if (scope.result() != CUDA_SUCCESS) {
        return false;
    }
    for (int peer = 0; peer < size_; ++peer) {
        void*& mapped = mapped_[static_cast<std::size_t>(peer)];
        mapped = peer == rank_ ? reinterpret_cast<void*>(workspace_->address.base)
                               : map_fused_workspace(*workspace_->driver, workspace_->context,
                                                     offers[peer].address);
        if (mapped == nullptr) {
            return false;
        }
    }
    return true;
}

/// Whether every rank says that it can.
bool Fused::all_can(Transport& transport, bool can) noexcept {
    std::vector<Verdict> verdicts;
    try {
        verdicts.resize(static_cast<std::size_t>(transport.size()), Verdict::kCannot);
    } catch (const std::bad_alloc&) {
        log(LogLevel::kError, "out of memory: peers may wait for this rank");
        return false;
    }
    verdicts[static_cast<std::size_t>(transport.rank())] = can ? Verdict::kCan : Verdict::kCannot;
    return exchange(transport, kVerdicts, verdicts) &&
           std::all_of(verdicts.begin(), verdicts.end(),
                       [](Verdict one) { return one == Verdict::kCan; });
}

bool Fused::load(kernel::Type type, kernel::Op op) const noexcept {
    const cuda::ContextScope scope(*workspace_->driver, workspace_->context);
    return scope.result() == CUDA_SUCCESS &&
           fused_kernel(*workspace_->driver, workspace_->context, type, op) != nullptr;
}

/// Workspaces: made, told to all, mapped.
void Fused::meet(Transport& transport, const memory::Pointer& place) noexcept {
    rank_ = transport.rank();
    number_ = 0;
    const auto ranks = static_cast<std::size_t>(size_);
    std::vector<Offer> offers;
    try {
        offers.resize(ranks);
    } catch (const std::bad_alloc&) {
        log(LogLevel::kError, "out of memory: peers may wait for this rank");
        return;
    }
    Offer& own = offers[static_cast<std::size_t>(rank_)];
    own.usable = make_offer(place, own) ? 1 : 0;
    bool fine = exchange(transport, kOffers, offers);
    bool any_device = false;
    bool alone = true;  // every rank has its GPU for itself
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const Offer& offer = offers[rank];
        fine = fine && offer.magic == kMagic && offer.usable == 1 &&
               offer.workspace == terms_.workspace && offer.address.bytes == terms_.workspace;
        any_device = any_device || offer.device != 0;
        const auto shares = [&](const Offer& other) {
            return std::memcmp(&other.uuid, &offer.uuid, sizeof offer.uuid) == 0;
        };
        alone = alone && offer.named != 0 &&
                std::none_of(offers.begin(), offers.begin() + static_cast<std::ptrdiff_t>(rank),
                             shares);
    }
    if (!fine || (!terms_.forced && (!any_device || !alone))) {
        // All ranks have seen the same offers. Those that share a GPU always will.
        let_go(true);
        if (fine && any_device) {
            state_ = State::kNever;
        }
        return;
    }
    fine = all_can(transport, map_all(offers.data()));
    state_ = fine ? State::kReady : State::kNever;
    if (!fine) {
        let_go(true);
    }
}

void Fused::agree(Transport& transport, const memory::Pointer& place, kernel::Type type,
                  kernel::Op op) noexcept {
    if (state_ == State::kUnknown) {
        meet(transport, place);
    }
    const auto family = static_cast<std::size_t>(kernel::family_of(kernel::kernel_index(type, op)));
    if (state_ == State::kReady && loaded_[family] == Loaded::kUnknown) {
        loaded_[family] = all_can(transport, load(type, op)) ? Loaded::kYes : Loaded::kNo;
    }
}

}  // namespace beeline::coll::exec
