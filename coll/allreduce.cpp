// SPDX-License-Identifier: BSD-3-Clause
// The way of an allreduce.
#include "coll/allreduce.hpp"

#include <algorithm>
#include <new>

#include "coll/plan/allreduce.hpp"
#include "memory/copy.hpp"
#include "memory/pointer.hpp"

namespace beeline::coll {
namespace {

/// One engine must reach both buffers: both the CPU, or one context's kernels.
bool same_place(const memory::Pointer& one, const memory::Pointer& two) noexcept {
    return one.on_device() == two.on_device() && (!one.on_device() || one.context == two.context);
}

}  // namespace

const plan::Schedule& AllreduceContext::schedule(const select::Choice& choice, int size, int rank,
                                                 std::size_t count, bool in_place) {
    ++clock_;
    for (Kept& kept : kept_) {
        const plan::Schedule& old = kept.schedule;
        if (kept.used != 0 && kept.algorithm == choice.algorithm && kept.slice == choice.slice &&
            old.count == count && old.in_place == in_place && old.size == size &&
            old.rank == rank) {
            kept.used = clock_;
            return old;
        }
    }
    Kept& oldest = *std::min_element(kept_.begin(), kept_.end(),
                                     [](const Kept& a, const Kept& b) { return a.used < b.used; });
    oldest.used = 0;
    oldest.schedule = choice.algorithm == select::Algorithm::kRing
                          ? plan::build_allreduce_ring(size, rank, count, in_place, choice.slice)
                          : plan::build_allreduce_recursive_doubling(size, rank, count, in_place);
    oldest.algorithm = choice.algorithm;
    oldest.slice = choice.slice;
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
        const Status status =
            context.executor_.run(schedule, {send, receive, type, op}, *engine, transport);
        return copied != Status::kOk ? copied : status;
    } catch (const std::bad_alloc&) {
        return Status::kNoMemory;
    }
}

}  // namespace beeline::coll
