// SPDX-License-Identifier: BSD-3-Clause
// The way of an allreduce.
#include "coll/allreduce.hpp"

#include <algorithm>
#include <new>

#include "coll/pattern/chunks.hpp"
#include "coll/plan/algorithm.hpp"
#include "memory/copy.hpp"
#include "memory/pointer.hpp"

namespace beeline::coll {
namespace {

/// One engine must reach both buffers: both the CPU, or one context's kernels.
bool same_place(const memory::Pointer& one, const memory::Pointer& two) noexcept {
    return one.on_device() == two.on_device() && (!one.on_device() || one.context == two.context);
}

/// Pieces of a chunk such that none is longer than the choice allows.
std::size_t slices_of(const select::Choice& choice, int size, std::size_t count) noexcept {
    const std::size_t chunk = pattern::largest_piece(count, static_cast<std::size_t>(size));
    return choice.slice == 0 || chunk == 0 ? 1 : (chunk + choice.slice - 1) / choice.slice;
}

}  // namespace

const plan::Schedule& AllreduceContext::schedule(const select::Choice& choice, int size, int rank,
                                                 std::size_t count, bool in_place) {
    ++clock_;
    const std::size_t slices = slices_of(choice, size, count);
    for (Kept& kept : kept_) {
        const plan::Schedule& old = kept.schedule;
        if (kept.used != 0 && kept.algorithm == choice.algorithm && kept.slices == slices &&
            old.in_place == in_place && old.size == size && old.rank == rank) {
            kept.used = clock_;
            return old;
        }
    }
    Kept& oldest = *std::min_element(kept_.begin(), kept_.end(),
                                     [](const Kept& a, const Kept& b) { return a.used < b.used; });
    oldest.used = 0;
    plan::Request request;
    request.size = size;
    request.rank = rank;
    request.in_place = in_place;
    request.slices = static_cast<int>(slices);
    oldest.schedule =
        plan::find(plan::Collective::kAllreduce, to_string(choice.algorithm))->build(request);
    oldest.algorithm = choice.algorithm;
    oldest.slices = slices;
    oldest.used = clock_;
    return oldest.schedule;
}

Status allreduce(AllreduceContext& context, const void* send, void* receive, std::size_t count,
                 kernel::Type type, kernel::Op op, exec::Transport& transport) noexcept {
    const select::Choice choice =
        select::choose({transport.size(), count, type, op}, config::params());
    const std::size_t bytes = count * kernel::size_of(type);
    Counters::Line& line =
        context.counters_.by_algorithm[static_cast<std::size_t>(choice.algorithm)];
    ++line.calls;
    line.bytes += bytes;
    if (choice.algorithm == select::Algorithm::kStaged) {
        return Status::kUnsupported;
    }
    if (count == 0) {
        return Status::kOk;
    }
    const memory::Pointer to = memory::classify(receive);
    Status copied = Status::kOk;
    if (send != nullptr) {
        const memory::Pointer from = memory::classify(send);
        if (!same_place(from, to)) {
            copied = memory::copy(receive, to, send, from, bytes);
            send = nullptr;
        }
    }
    exec::ReduceEngine* engine = &context.host_;
    if (to.on_device()) {
        context.device_.bind(to);
        engine = &context.device_;
    }
    ++(to.on_device() ? context.counters_.on_device : context.counters_.on_host);
    try {
        const plan::Schedule& schedule =
            context.schedule(choice, transport.size(), transport.rank(), count, send == nullptr);
        const Status status = context.executor_.run(
            schedule, {send, receive, {count, {}, {}}, type, op}, *engine, transport);
        return copied != Status::kOk ? copied : status;
    } catch (const std::bad_alloc&) {
        return Status::kNoMemory;
    }
}

}  // namespace beeline::coll
