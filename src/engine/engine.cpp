// SPDX-License-Identifier: BSD-3-Clause
// The engine's life: lanes, peers, communicators, progress and completion.
#include "engine/engine.hpp"

#include <bit>
#include <cstdlib>

#include "base/log.hpp"
#include "cuda/driver.hpp"
#include "engine/device_state.hpp"
#include "engine/piece.hpp"
#include "engine/rdma_state.hpp"
#include "memory/always_host.hpp"
#include "memory/copy.hpp"

namespace beeline::engine {
namespace {

constexpr unsigned kUcxEvery = 16;         // polls between two looks at a quiet UCX
constexpr unsigned kUcxEveryByRdma = 64;   // the same where cards bring what is small
constexpr unsigned kPollsPerCheck = 1024;  // of the shared memory queue's soundness
constexpr unsigned kUcxInterest = 512;     // polls UCX stays interesting after an event
constexpr std::size_t kHeaderRoom = 640;   // largest header in a slot (an RTS)
constexpr std::size_t kStagingChunks = 32;

constexpr std::size_t round_up(std::size_t value, std::size_t unit) noexcept {
    return (value + unit - 1) / unit * unit;
}

mover::shm::Geometry geometry_of(const config::Params& params) noexcept {
    mover::shm::Geometry geometry;
    geometry.cells = std::bit_ceil(static_cast<std::uint32_t>(params.pml_shm_cells));
    geometry.slots = static_cast<std::uint32_t>(params.pml_shm_slots);
    const std::size_t eager = std::max(params.pml_eager_limit, params.pml_device_eager_limit);
    geometry.slot_bytes = static_cast<std::uint32_t>(round_up(eager + kHeaderRoom, 64));
    geometry.chunks = static_cast<std::uint32_t>(params.pml_shm_chunks);
    geometry.chunk_bytes = static_cast<std::uint32_t>(round_up(params.pml_staging_chunk, 4096));
    geometry.blocks = static_cast<std::uint32_t>(params.pml_shm_blocks);
    geometry.block_bytes = static_cast<std::uint32_t>(round_up(params.pml_shm_block, 64));
    return geometry;
}

}  // namespace

Engine::Engine(const config::Params& params, std::uint64_t secret)
    : params_(params),
      limits_(protocol::limits_of(params)),
      costs_(protocol::costs_of(params)),
      preference_(protocol::preference_of(params)),
      tracing_(log_level() >= LogLevel::kDebug),
      node_(topo::this_node()),
      table_(secret),
      exports_(static_cast<std::size_t>(params.pml_ipc_cache_entries)),
      imports_(static_cast<std::size_t>(params.pml_ipc_cache_entries), params.pml_ipc_cache_bytes),
      device_(std::make_unique<DeviceState>(params)),
      staging_(std::max(params.pml_staging_chunk, params.pml_device_eager_limit), kStagingChunks) {}

Result<std::unique_ptr<Engine>> Engine::create(const config::Params& params, std::uint64_t secret) {
    std::unique_ptr<Engine> engine(new Engine(params, secret));
    auto ucx = mover::ucx::Lane::create({on_ucx, engine.get()});
    if (!ucx) {
        return ucx.status();
    }
    engine->ucx_ = std::move(*ucx);
    if (params.pml_shm && engine->node_ != topo::NodeId{}) {
        auto shm = mover::shm::Lane::create(geometry_of(params), {on_shm, engine.get()});
        if (shm) {
            engine->shm_ = std::move(*shm);
        } else {
            log_once(LogLevel::kWarning, "shm.create",
                     "no shared memory segment (%s): messages inside the node go over UCX",
                     to_string(shm.status()));
        }
    }
    return engine;
}

Engine::~Engine() {
    for (Message** list : {&orphans_, &unresolved_}) {
        while (Message* message = *list) {
            *list = message->next;
            drop(message);
        }
    }
    while (Piece* piece = free_pieces_) {
        free_pieces_ = piece->next_free;
        delete piece;
    }
}

std::vector<std::byte> Engine::address() const {
    Address address;
    address.node = node_;
    if (shm_ != nullptr) {
        address.shm = shm_->location();
    } else {
        const topo::ProcessId self = topo::this_process();
        address.shm = {self.pid, self.start_time, 0, -1};
    }
    address.ucx.assign(ucx_->address().begin(), ucx_->address().end());
    return encode(address);
}

Peer* Engine::add_peer(std::span<const std::byte> bytes) {
    resting_ = false;
    auto peer = std::make_unique<Peer>();
    if (!decode(bytes, peer->address)) {
        log(LogLevel::kError,
            "a peer's address (%zu bytes) is not one of this version of Beeline: is the same "
            "version "
            "installed on all nodes?",
            bytes.size());
        return nullptr;
    }
    for (auto& known : peers_) {
        if (known->address.shm == peer->address.shm && known->address.node == peer->address.node &&
            known->address.ucx == peer->address.ucx) {
            return known.get();
        }
    }
    const topo::ProcessId self = topo::this_process();
    peer->same_node = node_ != topo::NodeId{} && peer->address.node == node_;
    peer->guarded =
        peer->address.node.boot == node_.boot && peer->address.node.rights != node_.rights;
    peer->same_process = peer->same_node && peer->address.shm.pid == self.pid &&
                         peer->address.shm.start_time == self.start_time;
    if (!peer->same_process &&
        (!peer->same_node || shm_ == nullptr || peer->address.shm.descriptor < 0)) {
        remote_peers_ = true;
    }
    peers_.push_back(std::move(peer));
    return peers_.back().get();
}

Communicator* Engine::add_communicator(std::uint32_t id, int rank, int peers, Resolver resolver) {
    resting_ = false;
    auto* communicator = new Communicator(id, rank, peers, resolver);
    if (communicators_.size() <= id) {
        communicators_.resize(id + 1);
    }
    communicators_[id] = communicator;
    // Replay in the order of arrival: the list holds the newest first.
    Message* mine = nullptr;
    for (Message** link = &orphans_; *link != nullptr;) {
        Message* message = *link;
        if (message->arrived.context == id) {
            *link = message->next;
            message->next = mine;
            mine = message;
        } else {
            link = &message->next;
        }
    }
    while (mine != nullptr) {
        Message* message = mine;
        mine = mine->next;
        forget_orphan(*message);
        replay(*communicator, message);
    }
    return communicator;
}

/// Accepts a message that was kept before its turn was looked at.
void Engine::replay(Communicator& communicator, Message* message) {
    if (!communicator.valid(message->arrived.envelope.source)) {
        drop(message);
        return;
    }
    const std::uint32_t context = communicator.id;
    const int source = message->arrived.envelope.source;
    match::Sequencer& order = communicator.at(source).order;
    message->sequence = message->arrived.envelope.sequence;
    switch (order.accept(message->sequence)) {
        case match::Order::kNext:
            match_kept(communicator, message);
            match_early(context, source);
            break;
        case match::Order::kEarly:
            if (!order.hold(message)) {
                drop(message);
            }
            break;
        case match::Order::kDuplicate:
            drop(message);
            break;
    }
}

void Engine::remove_communicator(Communicator* communicator) {
    resting_ = false;
    take_over();
    communicators_[communicator->id] = nullptr;
    communicator->matcher.for_each_unexpected([&](match::Unexpected& message) {
        communicator->matcher.extract(&message);
        drop(static_cast<Message*>(&message));
    });
    for (int peer = 0; peer < communicator->size(); ++peer) {
        while (match::Held* held = communicator->at(peer).order.drop()) {
            drop(static_cast<Message*>(held));
        }
    }
    delete communicator;
}

int Engine::progress() {
    int events = 0;
    if (!resting_ && !aside_ && (!ended_.empty() || unresolved_ != nullptr)) {
        events += take_over();
    }
    events += poll();
    if (++polls_ % kPollsPerCheck == 0 && shm_ != nullptr) {
        shm_->check();
    }
    if (!resting_) {
        resting_ = rests();
        if (!resting_) {
            events += move_on();
        }
    }
    if ((remote_peers_ && !by_rdma_) || ucx_->outstanding() != 0 || ucx_interest_ != 0 ||
        ++idle_polls_ >= (by_rdma_ ? kUcxEveryByRdma : kUcxEvery)) {
        idle_polls_ = 0;
        if (ucx_interest_ != 0) {
            --ucx_interest_;
        }
        const unsigned handled = ucx_->progress();
        if (handled != 0) {
            ucx_interest_ = kUcxInterest;
            resting_ = false;
        }
        events += static_cast<int>(handled);
        if (rdma_ != nullptr && !by_rdma_) {
            poll_rdma(events);
        }
    }
    return events;
}

/// Moves on what is under way; the number of events.
int Engine::move_on() {
    int events = 0;
    if (!pulls_.empty()) {
        poll_pulls(events);
    }
    if (!puts_.empty()) {
        poll_puts(events);
    }
    if (!copying_.empty() || !to_send_.empty() || !waiting_payloads_.empty()) {
        poll_pieces(events);
    }
    if (bouncing()) {
        poll_bounces(events);
    }
    if (exports_.entries() != 0) {
        look_for_freed();
    }
    while (!controls_.empty() && try_control(*controls_.front().peer, controls_.front().message)) {
        controls_.pop_front();
        ++events;
    }
    if (!waiting_sends_.empty()) {
        for (Request* request = waiting_sends_.pop_front(); request != nullptr;
             request = waiting_sends_.pop_front()) {
            if (begin(*request) == Status::kRetry) {
                List<Request>::remove(request);  // begin() queued it at the back
                waiting_sends_.push_front(request);
                break;
            }
            ++events;
        }
    }
    for (Request* request = staged_sends_.front(); request != nullptr;) {
        Request* following = staged_sends_.after(request);
        advance(*request);
        request = following;
    }
    return events;
}

/// Whether move_on() and take_over() have nothing to do until the application calls or something
/// arrives: whoever starts or takes anything sets `resting_` to false.
bool Engine::rests() const noexcept {
    return idle() && pulls_.empty() && waiting_payloads_.empty() && exports_.entries() == 0;
}

bool Engine::idle() const noexcept {
    return controls_.empty() && puts_.empty() && waiting_sends_.empty() && staged_sends_.empty() &&
           pipes_.empty() && copying_.empty() && to_send_.empty() && device_->sends.empty() &&
           !bouncing() && ended_.empty() && unresolved_ == nullptr && ucx_->outstanding() == 0 &&
           (rdma_ == nullptr || rdma_idle());
}

void Engine::close_peers(void (*progress_host)()) {
    close_rdma();
    for (auto& peer : peers_) {
        if (peer->endpoint != nullptr) {
            ucx_->close(peer->endpoint, progress_host);
            peer->endpoint = nullptr;
        }
    }
}

void Engine::release_device_resources() {
    by_rdma_ = false;
    rdma_.reset();
    imports_.clear();
    device_->pools.clear();
    device_->rings.release();
    exports_.clear();
    for (Pinned& pinned : sender_pinned_) {
        if (!pinned.memory.empty()) {
            memory::unregister_host(*pinned.side.driver, pinned.side.context, pinned.memory.data());
        }
    }
    sender_pinned_.clear();
    if (!own_pinned_.memory.empty()) {
        memory::unregister_host(*own_pinned_.side.driver, own_pinned_.side.context,
                                own_pinned_.memory.data());
    }
    own_pinned_ = {};
    staging_.release();
    memory::release_copy_resources();
}

void Engine::classify(Request& request) noexcept {
    const void* address = request.buffer_.address;
    request.where_ = request.buffer_.bytes == 0 ? memory::Pointer{} : memory::look_at(address);
}

Request* Engine::find_request(std::uint64_t id, Request::Kind kind) noexcept {
    Request* request = table_.find(id);
    if (request == nullptr || request->kind_ != kind) {
        if (may_come_twice()) {
            return nullptr;
        }
        log_once(LogLevel::kError, "engine.unknown_request",
                 "a peer names request %#llx, which does not exist: the message is ignored",
                 static_cast<unsigned long long>(id));
        return nullptr;
    }
    return request;
}

/// The send that waits for an answer of this sort.
Request* Engine::find_send(std::uint64_t id, Request::Awaits awaits) noexcept {
    Request* request = find_request(id, Request::Kind::kSend);
    if (request != nullptr && request->awaits_ != awaits) {
        if (may_come_twice()) {
            return nullptr;
        }
        log_once(LogLevel::kError, "engine.unexpected_answer",
                 "a peer answers request %#llx, which does not wait for such an answer: ignored",
                 static_cast<unsigned long long>(id));
        return nullptr;
    }
    return request;
}

void Engine::count(protocol::Path path, std::size_t bytes, protocol::Reason reason) noexcept {
    ++counters_.messages[static_cast<std::size_t>(path)];
    counters_.bytes[static_cast<std::size_t>(path)] += bytes;
    if (protocol::is_fallback(reason)) {
        ++counters_.fallbacks[static_cast<std::size_t>(reason)];
    }
}

void Engine::drop_bounce(Request& request) noexcept {
    if (request.lent_) {
        staging_.give_back(request.bounce_);
        request.lent_ = false;
    } else {
        std::free(request.bounce_);
    }
    request.bounce_ = nullptr;
}

void Engine::finish(Request& request, Status status) {
    if (request.id_ != 0) {
        table_.remove(request.id_);
        request.id_ = 0;
        if (request.region_ != nullptr) {
            drop_region(request);
        }
    }
    if (request.bounce_ != nullptr) {
        drop_bounce(request);
    }
    request.active_ = false;
    request.outcome.status = status;
    if (request.large_) {
        request.large_ = false;
        large_.fetch_sub(1, std::memory_order_relaxed);
    }
    if (aside_) {
        ended_.push_back(&request);  // the host's requests are its threads' to complete
        return;
    }
    request.done(&request);
}

void Engine::send_done(Request& request, protocol::Path path, Status status) {
    request.outcome.path = path;
    if (tracing_) [[unlikely]] {
        trace("send", request);
    }
    count(path, request.buffer_.bytes, request.outcome.reason);
    finish(request, status);
}

void Engine::receive_done(Request& request, Status status) {
    if (request.import_ != nullptr) {  // the sender's bounce buffer
        imports_.release(request.import_);
        request.import_ = nullptr;
    }
    if (status == Status::kOk && request.outcome.status == Status::kTruncated) {
        status = Status::kTruncated;
    }
    if (tracing_) [[unlikely]] {
        trace("receive", request);
    }
    finish(request, status);
}

}  // namespace beeline::engine
