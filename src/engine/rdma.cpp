// SPDX-License-Identifier: BSD-3-Clause
// GPUDirect RDMA, the parts that stay: devices, registered memory, offers, and the progress loop.
#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "engine/device_state.hpp"
#include "engine/rdma_state.hpp"
#include "mover/verbs/affinity.hpp"
#include "mover/verbs/api.hpp"
#include "mover/verbs/parameters.hpp"
#include "protocol/select.hpp"
#include "wire/codec.hpp"

namespace beeline::engine {

using mover::verbs::Port;
using mover::verbs::RailSet;
using protocol::Reason;

namespace {

constexpr unsigned kClockEvery = 256;                // polls between two looks at the clock
constexpr unsigned kEventsEvery = 16 * kClockEvery;  // and at asynchronous events
constexpr std::chrono::seconds kPingEvery{5};
constexpr unsigned kIdleEvery = 1U << 14;    // polls between two looks for idle connections
constexpr std::size_t kLeastMessage = 1024;  // holds everything that has no data
static_assert(kLeastMessage >= wire::kMaxRtsBytes);

mover::verbs::LaneSettings settings_of(const config::Params& params) noexcept {
    mover::verbs::LaneSettings settings;
    settings.pair.depth = static_cast<unsigned>(params.pml_rdma_depth);
    settings.pair.reads = static_cast<unsigned>(params.pml_rdma_reads);
    settings.pair.timeout = static_cast<std::uint8_t>(params.pml_rdma_timeout);
    settings.pair.retries = static_cast<std::uint8_t>(params.pml_rdma_retries);
    settings.pair.receiver_retries = static_cast<std::uint8_t>(params.pml_rdma_receiver_retries);
    settings.pair.hop_limit = static_cast<std::uint8_t>(params.pml_rdma_hop_limit);
    settings.pair.traffic_class = static_cast<std::uint8_t>(params.pml_rdma_traffic_class);
    settings.pair.service_level = static_cast<std::uint8_t>(params.pml_rdma_service_level);
    settings.receives = static_cast<unsigned>(params.pml_rdma_receives);
    settings.unit = params.pml_rdma_unit;
    settings.channels = 1 + static_cast<unsigned>(params.pml_rdma_pairs);
    settings.credits = static_cast<unsigned>(params.pml_rdma_credits);
    settings.message_bytes =
        std::max(kLeastMessage, sizeof(wire::Eager) + params.pml_device_eager_limit);
    return settings;
}

}  // namespace

RailSet ports_of(const std::vector<const Port*>& rails, RailBits bits) noexcept {
    RailSet ports = 0;
    for (unsigned rail = 0; rail < rails.size(); ++rail) {
        if ((bits & bit(rail)) != 0) {
            ports |= RailSet{1} << rails[rail]->rail;
        }
    }
    return ports;
}

Engine::RdmaState::~RdmaState() {
    lane.reset();
    peers.clear();
    if (regions != nullptr) {
        landings.release(*regions);
    }
    regions.reset();
    devices.close();
}

/// Whether this process has network cards to use; opens them when asked first.
bool Engine::start_rdma() {
    if (rdma_ != nullptr) {
        return rdma_->usable;
    }
    if (!params_.pml_rdma) {
        return false;
    }
    rdma_ = std::make_unique<RdmaState>();
    RdmaState& state = *rdma_;
    state.api = verbs_ != nullptr ? verbs_ : mover::verbs::Api::load();
    if (state.api != nullptr && state.api->fork_init != nullptr) {
        // Nothing to do on kernels that copy pinned pages at a fork. Too late where another library
        // has registered memory already: then its choice stands, or RDMAV_FORK_SAFE's.
        state.api->fork_init();
    }
    if (state.api == nullptr ||
        state.devices.open(*state.api, mover::verbs::device_wish(params_)) != Status::kOk) {
        return false;
    }
    const cuda::Driver* driver = cuda::Driver::find();
    state.rails = rails_near(
        state.devices,
        driver != nullptr ? mover::verbs::place_of_gpu(*driver) : mover::verbs::GpuPlace{},
        static_cast<std::size_t>(params_.pml_rdma_rails), mover::verbs::farthest_port(params_));
    if (state.rails.empty()) {
        return false;
    }
    for (const Port* port : state.rails) {
        state.ports |= RailSet{1} << port->rail;
    }
    state.regions = std::make_unique<mover::verbs::Regions>(state.devices.ports(),
                                                            mover::verbs::region_limits(params_));
    state.lane = std::make_unique<mover::verbs::Lane>(
        state.rails, settings_of(params_),
        mover::verbs::LaneEvents{this, on_told, on_parcel, on_broken});
    state.usable = true;
    log(LogLevel::kInfo,
        "GPUDirect RDMA over %zu ports, the first %s; %zu KiB for each and %zu "
        "for each connection",
        state.rails.size(), state.rails[0]->name.c_str(), state.lane->bytes_per_rail() >> 10,
        state.lane->bytes_per_link());
    return true;
}

/// Registers what a request moves and keeps that until it ends. kUnsupported or kNoMemory, logged,
/// when no card takes it.
Status Engine::register_memory(Request& request, bool device) {
    if (request.region_ != nullptr) {
        return Status::kOk;
    }
    RdmaState& state = *rdma_;
    const std::size_t bytes =
        request.kind_ == Request::Kind::kSend ? request.buffer_.bytes : request.outcome.bytes;
    const bool managed = request.where_.kind == memory::Kind::kManaged;
    auto region =
        device && !managed
            ? state.regions->acquire(request.where_, reinterpret_cast<std::uint64_t>(request.data_),
                                     bytes, state.ports)
            : state.regions->add_host(request.data_, bytes, state.ports);
    if (!region) {
        return region.status();
    }
    request.region_ = *region;
    if (device && rdma_->device.driver == nullptr) {
        rdma_->device = request.where_;
    }
    return Status::kOk;
}

/// `failed`: it is registered anew when it is wanted again.
void Engine::drop_region(Request& request, bool failed) noexcept {
    mover::verbs::Region* region = std::exchange(request.region_, nullptr);
    if (region == nullptr || rdma_ == nullptr || rdma_->regions == nullptr) {
        return;
    }
    if (region->means == mover::verbs::Means::kHost) {
        rdma_->regions->remove(region);
    } else if (failed) {
        rdma_->regions->discard(region);
    } else {
        rdma_->regions->release(region);
    }
}

/// Adds the sender's registered memory to an RTS for another node; false when there is none, which
/// may still be offered to be written out.
bool Engine::offer_rdma(Request& request, wire::Rts& rts) {
    using protocol::Preference;
    if (preference_ == Preference::kStaged || request.peer_->rdma_refused || !start_rdma()) {
        return false;
    }
    wire::Offer& offer = rts.offers[rts.offer_count];
    if (request.data_ == nullptr || request.where_.kind != memory::Kind::kDevice ||
        !rdma_->regions->may_register(request.where_, rdma_->ports) ||
        register_memory(request, true) != Status::kOk) {
        request.outcome.reason =
            request.data_ == nullptr ? Reason::kSenderLayout : Reason::kNotRegistered;
        if (may_relay(request.where_)) {
            offer.type = wire::OfferType::kRdma;
            offer.rdma.relays = 1;
            ++rts.offer_count;
        }
        return false;
    }
    offer.type = wire::OfferType::kRdma;
    offer.rdma.address = reinterpret_cast<std::uint64_t>(request.data_);
    for (unsigned rail = 0; rail < rdma_->rails.size(); ++rail) {
        const unsigned port = rdma_->rails[rail]->rail;
        if ((request.region_->rails >> port & 1U) != 0) {
            offer.rdma.keys[rail] = request.region_->keys[port].remote;
            offer.rdma.rails |= bit(rail);
        }
    }
    if (offer.rdma.rails == 0) {
        drop_region(request);
        return false;
    }
    ++rts.offer_count;
    return true;
}

/// Whether cards may write to this device memory, as far as is known.
bool Engine::may_be_written(const memory::Pointer& where) noexcept {
    if (flush_of(where) == mover::verbs::Flush::kRead) {
        log_once(LogLevel::kWarning, "rdma.flush",
                 "GPU %d can neither order nor flush what a network card writes: messages to it "
                 "from other nodes go through host memory",
                 where.device);
        return false;
    }
    if (rdma_->device.driver == nullptr) {
        rdma_->device = where;
    }
    return rdma_->regions->may_register(where, rdma_->ports);
}

/// What the receiver can do with an offer of registered memory.
void Engine::consider_rdma(const Request& request, const Arrived& arrived, Ways& ways) noexcept {
    protocol::Situation& situation = ways.situation;
    ways.rdma = arrived.rdma;
    situation.rdma = !params_.pml_rdma ? Reason::kRdmaOff
                     : start_rdma()    ? Reason::kDirect
                                       : Reason::kNoRdmaDevice;
    if (situation.rdma == Reason::kDirect) {
        const memory::Pointer& where = request.where_;
        situation.receiver.registers =
            where.kind == memory::Kind::kDevice
                ? (may_be_written(where) ? Reason::kDirect : Reason::kNotRegistered)
            : where.kind == memory::Kind::kManaged                 ? Reason::kNotRegistered
            : request.outcome.bytes >= params_.pml_rdma_host_limit ? Reason::kDirect
                                                                   : Reason::kReceiverHost;
        situation.sender.registers =
            arrived.rdma.rails != 0 ? Reason::kDirect : Reason::kNotRegistered;
        situation.sender.relays = arrived.rdma.relays != 0;
        situation.receiver.relays =
            arrived.rdma.rails != 0 &&
            (situation.receiver.registers != Reason::kDirect || !situation.receiver.contiguous) &&
            may_relay(where);
    }
}

/// A receive into device memory of a message that its sender has in host memory: true when it is
/// to be written by RDMA, if the sender can.
bool Engine::rdma_for_host_sender(Request& request, std::uint32_t sender_chunk) {
    if (request.peer_->link != nullptr || request.peer_->same_process || !params_.pml_rdma ||
        request.peer_->rdma_refused || request.data_ == nullptr ||
        request.where_.kind != memory::Kind::kDevice ||
        request.outcome.bytes < params_.pml_rdma_host_limit || !start_rdma() ||
        !may_be_written(request.where_)) {
        return false;
    }
    Ways ways;
    ways.sender_chunk = sender_chunk;
    ways.told = true;
    protocol::Situation& situation = ways.situation;
    situation.bytes = request.outcome.bytes;
    situation.same_node = request.peer_->same_node;
    situation.rdma = Reason::kDirect;
    situation.receiver.on_device = true;
    take_way(request, ways);
    return true;
}

void Engine::on_rdma_control(std::span<const std::byte> in) {
    wire::RdmaConnect connect;
    wire::RdmaRails rails;
    wire::RdmaPut put;
    wire::RdmaFailed failed;
    if (wire::decode(in, connect)) {
        on_rdma_connect(connect);
    } else if (wire::decode(in, rails)) {
        on_rdma_rails(rails);
    } else if (wire::decode(in, put)) {
        on_rdma_put(put);
    } else if (wire::decode(in, failed)) {
        on_rdma_failed(failed);
    } else {
        malformed(in, "control");
    }
}

void Engine::poll_rdma(int& events) {
    RdmaState& state = *rdma_;
    if (!state.usable) {
        return;
    }
    const int before = events;
    events += poll_lane();
    by_rdma_ = state.lane->links() != 0;
    if (!state.changed.empty()) {
        for (RdmaPeer* peer : std::exchange(state.changed, {})) {
            rails_changed(*peer);
            ++events;
        }
    }
    if (!state.relays.empty()) {
        poll_relays(events);
    }
    if (!state.failed.empty()) {
        for (RdmaMove* move : std::exchange(state.failed, {})) {
            move_ended(*move);
            ++events;
        }
    }
    if (events != before) {
        resting_ = false;
    }
    if (++state.polls % kClockEvery == 0) {
        if (state.polls % kEventsEvery == 0) {
            take_card_events();
        }
        keep_time();
        resting_ = false;
    }
}

void Engine::take_card_events() {
    using mover::verbs::EventKind;
    RdmaState& state = *rdma_;
    mover::verbs::Event event;
    while (state.devices.next_event(event)) {
        if (event.kind == EventKind::kPairFatal) {
            state.lane->pair_failed(event.element, event.text);
            continue;
        }
        if (event.port == nullptr) {
            continue;  // of the device as a whole, or of a port that is not used
        }
        for (unsigned rail = 0; rail < state.rails.size(); ++rail) {
            if (state.rails[rail] != event.port) {
                continue;
            }
            if (event.kind == EventKind::kPortDown) {
                state.down_since[rail] = Clock::now();
            } else if (event.kind == EventKind::kPortUp) {
                state.down_since[rail] = {};
            }
        }
        if (event.kind == EventKind::kPortUp || event.kind == EventKind::kGidChange) {
            state.devices.refresh(*event.port);
            for (const auto& peer : state.peers) {  // worth another attempt
                peer->repair_at = {};
                peer->retry_at = {};
            }
        }
    }
}

/// Ends what has taken too long: tests, ports that are down, peers that say nothing.
void Engine::keep_time() {
    RdmaState& state = *rdma_;
    if (!state.lost.empty()) {
        give_up_lost();
    }
    if (table_.used() != 0 && Clock::now() >= state.ping_at) {
        // What has died is found out even where nothing of ours is under way to it.
        state.ping_at = Clock::now() + kPingEvery;
        for (const auto& peer : state.peers) {
            for (unsigned rail = 0; rail < state.rails.size(); ++rail) {
                if ((peer->confirmed & bit(rail)) != 0) {
                    state.lane->ping(peer->connection, rail);
                }
            }
        }
    }
    if (params_.pml_rdma_idle != 0 && state.polls % kIdleEvery == 0) {
        close_idle();
    }
    const auto grace = std::chrono::milliseconds(params_.pml_rdma_port_limit);
    for (unsigned rail = 0; rail < state.rails.size(); ++rail) {
        if (state.down_since[rail] == Clock::time_point{} ||
            Clock::now() < state.down_since[rail] + grace) {
            continue;
        }
        state.down_since[rail] = {};
        for (const auto& peer : state.peers) {
            if (peer->connection.connected(rail)) {
                close_rail(*peer, rail, "its port is down");
            }
        }
    }
    for (const auto& peer : state.peers) {
        if (peer->tests == 0 || Clock::now() <= peer->test_until) {
            continue;
        }
        for (unsigned rail = 0; rail < state.rails.size(); ++rail) {
            const auto& shares = peer->test_shares[rail];
            if (std::any_of(shares.begin(), shares.end(),
                            [](const auto& share) { return share.owner != nullptr; })) {
                close_rail(*peer, rail, "its test did not end in time");
            }
        }
    }
}

bool Engine::rdma_idle() const noexcept {
    if (!rdma_->usable) {
        return true;
    }
    return rdma_->lane->idle() && rdma_->changed.empty() && rdma_->moves == 0 &&
           rdma_->arrived.empty();
}

/// Before the end: no connection is needed any more.
void Engine::close_rdma() noexcept {
    if (rdma_ == nullptr || !rdma_->usable) {
        return;
    }
    rdma_->closing = true;
    for (const auto& peer : rdma_->peers) {
        close_end(*peer);
        end_test(*peer);
    }
}

RdmaCounters Engine::rdma_counters() const noexcept {
    if (rdma_ == nullptr || !rdma_->usable) {
        return {};
    }
    RdmaCounters counters = rdma_->counters;
    counters.registrations = rdma_->regions->counters().registrations;
    counters.registered_again = rdma_->regions->counters().hits;
    counters.rail_count = std::min(counters.rails.size(), rdma_->rails.size());
    counters.connection_bytes = rdma_->lane->bytes_per_link() * rdma_->rails.size();
    for (unsigned rail = 0; rail < counters.rail_count; ++rail) {
        const auto& counted = rdma_->lane->counters(rail);
        RdmaCounters::Rail& out = counters.rails[rail];
        const std::string& name = rdma_->rails[rail]->name;
        name.copy(out.name, sizeof out.name - 1);
        out.written = counted.written;
        out.read = counted.read;
        out.shares = counted.shares;
        out.messages = counted.messages;
    }
    return counters;
}

}  // namespace beeline::engine
