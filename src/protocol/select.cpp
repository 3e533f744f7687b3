// SPDX-License-Identifier: BSD-3-Clause
// The decisions of select.hpp.
#include "protocol/select.hpp"

namespace beeline::protocol {
namespace {

/// Blocks move while a thread of either side runs, UCX's copy while the receiver's does: where the
/// application computes on the same cores, one thread is found time more easily than two in turn.
constexpr std::size_t kShmWithThread = std::size_t{1} << 20;

/// A message of `bytes` between two processes of one kind of memory, with every way open.
Situation typical(std::size_t bytes, bool shared_memory, bool on_device) noexcept {
    Situation situation;
    situation.bytes = bytes;
    situation.same_node = shared_memory;
    situation.shared_memory = shared_memory;
    for (Side* side : {&situation.sender, &situation.receiver}) {
        side->on_device = on_device;
        side->exports = Reason::kDirect;
    }
    return situation;
}

/// The largest size up to `limit` for which a protocol up to `last` in the table is the cheapest.
std::size_t crossover(std::size_t limit, Id last, bool shared_memory, bool on_device,
                      const Limits& limits, const Costs& costs) noexcept {
    const auto holds = [&](std::size_t bytes) {
        const Candidates all = candidates(typical(bytes, shared_memory, on_device), limits, costs);
        return cheapest(all)->protocol->id <= last;
    };
    if (limit == 0 || !holds(1)) {
        return 0;
    }
    std::size_t low = 1;
    std::size_t high = limit;
    while (low < high) {
        const std::size_t middle = high - (high - low) / 2;
        if (holds(middle)) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

}  // namespace

Candidates candidates(const Situation& situation, const Limits& limits,
                      const Costs& costs) noexcept {
    Candidates all;
    for (std::size_t i = 0; i < kProtocols; ++i) {
        const Protocol& protocol = *table()[i];
        all[i].protocol = &protocol;
        all[i].obstacle = protocol.obstacle(situation, limits);
        all[i].microseconds = protocol.estimate(situation, costs);
    }
    return all;
}

const Candidate* cheapest(const Candidates& all) noexcept {
    const Candidate* best = nullptr;
    for (const Candidate& each : all) {
        if (each.obstacle == Reason::kNone &&
            (best == nullptr || each.microseconds < best->microseconds)) {
            best = &each;
        }
    }
    return best;
}

const Protocol* choose_offer(const Situation& situation, const Costs& costs,
                             Preference preference) noexcept {
    Candidates all = candidates(situation, {}, costs);
    for (Candidate& each : all) {
        if (each.protocol->stage != Stage::kOffer) {
            each.obstacle = Reason::kNotOffered;
        }
    }
    const Id wanted = preference == Preference::kIpcGet      ? Id::kIpcGet
                      : preference == Preference::kIpcPut    ? Id::kIpcPut
                      : preference == Preference::kIpcPush   ? Id::kIpcPush
                      : preference == Preference::kStaged    ? Id::kStaged
                      : preference == Preference::kBounce    ? Id::kBounce
                      : preference == Preference::kRdmaWrite ? Id::kRdmaWrite
                      : preference == Preference::kRdmaRead  ? Id::kRdmaRead
                                                             : Id::kSelf;
    if (all[static_cast<std::size_t>(wanted)].obstacle == Reason::kNone) {
        return &get(wanted);
    }
    const Candidate* best = cheapest(all);
    return best != nullptr ? best->protocol : nullptr;
}

Limits limits_of(const config::Params& params) noexcept {
    static constexpr config::Params kDefaults;
    const auto of = [](const config::Params& from) {
        return Limits{.eager = from.pml_eager_limit,
                      .fragments = from.pml_fragments_limit,
                      .ucx_eager = from.pml_ucx_eager_limit,
                      .device_eager = from.pml_device_eager_limit,
                      .rendezvous_shm = from.pml_shm_limit,
                      .device_ucx = from.pml_device_ucx_eager_limit};
    };
    const Limits given = of(params);
    const Limits initial = of(kDefaults);
    struct Row {
        std::size_t Limits::*limit;
        std::size_t parameter;
        Id last;  // the last protocol up to this limit
        bool shared_memory;
        bool on_device;
    };
    using P = config::Params;
    static constexpr std::array<Row, 6> kRows{{
        {&Limits::eager, offsetof(P, pml_eager_limit), Id::kEagerHost, true, false},
        {&Limits::fragments, offsetof(P, pml_fragments_limit), Id::kFragments, true, false},
        {&Limits::rendezvous_shm, offsetof(P, pml_shm_limit), Id::kRendezvousShm, true, false},
        {&Limits::ucx_eager, offsetof(P, pml_ucx_eager_limit), Id::kEagerUcx, false, false},
        {&Limits::device_eager, offsetof(P, pml_device_eager_limit), Id::kEagerDevice, true, true},
        {&Limits::device_ucx, offsetof(P, pml_device_ucx_eager_limit), Id::kEagerUcx, false, true},
    }};
    const Costs costs = costs_of(params);
    Limits limits = given;
    for (const Row& row : kRows) {
        if (given.*row.limit == initial.*row.limit && !config::is_given(params, row.parameter)) {
            limits.*row.limit = crossover(given.*row.limit, row.last, row.shared_memory,
                                          row.on_device, given, costs);
        }
    }
    if (params.pml_async_progress && !config::is_given(params, offsetof(P, pml_shm_limit))) {
        limits.rendezvous_shm = std::min(limits.rendezvous_shm, kShmWithThread);
    }
    switch (preference_of(params)) {
        case Preference::kAuto:
            break;
        case Preference::kEager:
            limits = given;
            break;
        case Preference::kFragments:
            limits.eager = 0;
            break;
        case Preference::kRendezvous:
            limits = {.rendezvous_shm = limits.rendezvous_shm};
            break;
        case Preference::kRendezvousShm:
            limits = {.rendezvous_shm = SIZE_MAX};
            break;
        case Preference::kRendezvousUcx:
            limits = {};
            break;
        case Preference::kIpcGet:
        case Preference::kIpcPut:
        case Preference::kIpcPush:
        case Preference::kStaged:
        case Preference::kBounce:
        case Preference::kRdmaWrite:
        case Preference::kRdmaRead:
            limits.device_eager = limits.device_ucx = 0;
            break;
    }
    return limits;
}

Preference preference_of(const config::Params& params) noexcept {
    return static_cast<Preference>(params.pml_protocol);
}

SendChoice choose_start(const SendFacts& facts, const Limits& limits) noexcept {
    if (facts.same_process) {
        return {Start::kSelf, Reason::kSameProcess};
    }
    const std::size_t device =
        facts.shared_memory || facts.rdma ? limits.device_eager : limits.device_ucx;
    const std::size_t eager = facts.on_device       ? device
                              : facts.shared_memory ? limits.eager
                                                    : limits.ucx_eager;
    if (facts.bytes <= eager) {
        return {facts.shared_memory ? Start::kEagerShm : Start::kEagerUcx, Reason::kSmall};
    }
    if (facts.shared_memory && !facts.on_device && facts.bytes <= limits.fragments) {
        return {Start::kFragments, Reason::kSmall};
    }
    if (facts.shared_memory && !facts.on_device && facts.bytes <= limits.rendezvous_shm) {
        return {Start::kShmRendezvous, Reason::kHostMemory};
    }
    if (facts.on_device || !facts.contiguous) {
        return {Start::kOffers, Reason::kNone};
    }
    return {Start::kUcxRendezvous, Reason::kHostMemory};
}

const Protocol& choose(const Situation& situation, const Limits& limits, const Costs& costs,
                       Preference preference) noexcept {
    const SendFacts facts{.bytes = situation.bytes,
                          .same_process = situation.same_process,
                          .shared_memory = situation.shared_memory,
                          .on_device = situation.sender.on_device,
                          .rdma = situation.rdma == Reason::kDirect};
    switch (choose_start(facts, limits).start) {
        case Start::kSelf:
            return self_copy;
        case Start::kEagerShm:
            return situation.sender.on_device ? eager_device : eager_host;
        case Start::kFragments:
            return fragments;
        case Start::kShmRendezvous:
            if (!situation.receiver.on_device) {
                return rendezvous_shm;
            }
            break;
        case Start::kEagerUcx:
            return eager_rdma.obstacle(situation, limits) == Reason::kNone ? eager_rdma : eager_ucx;
        case Start::kUcxRendezvous:
        case Start::kOffers:
            break;
    }
    const Protocol* offer = choose_offer(situation, costs, preference);
    return offer != nullptr ? *offer : rendezvous_ucx;
}

Reason ipc_offer(const IpcFacts& facts) noexcept {
    if (!facts.same_node) {
        return Reason::kOtherNode;
    }
    if (!facts.enabled) {
        return Reason::kIpcOff;
    }
    if (!facts.shared_memory) {
        return Reason::kNoSharedMemory;
    }
    return facts.exportable ? Reason::kDirect : Reason::kNotExportable;
}

}  // namespace beeline::protocol
