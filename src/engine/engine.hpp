// SPDX-License-Identifier: BSD-3-Clause
// Point-to-point messages between processes: the public face of src/, and the only owner of its
// state machines.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/list.hpp"
#include "base/result.hpp"
#include "config/config.hpp"
#include "engine/communicator.hpp"
#include "engine/counters.hpp"
#include "engine/message.hpp"
#include "engine/message_pool.hpp"
#include "engine/pipe.hpp"
#include "engine/request.hpp"
#include "engine/request_table.hpp"
#include "memory/staging_pool.hpp"
#include "mover/cuda_ipc/handles.hpp"
#include "mover/cuda_ipc/verdicts.hpp"
#include "protocol/select.hpp"
#include "wire/headers.hpp"

namespace beeline::mover::verbs {
struct Api;
enum class Flush : std::uint8_t;
struct Connection;
struct Parcel;
struct Share;
}  // namespace beeline::mover::verbs

namespace beeline::engine {

enum class SendMode : std::uint8_t { kStandard, kSynchronous };

/// One per process. Not thread-safe by itself: with several threads every call is made under
/// lock().
class Engine {
 public:
    /// Starts the lanes with these parameters. kUnsupported, logged, when UCX cannot be started.
    /// `secret`: what request ids follow from, see RequestTable; 0 makes them predictable.
    static Result<std::unique_ptr<Engine>> create(const config::Params& params,
                                                  std::uint64_t secret = random_secret());
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// lock(). Recursive, because a completion may start other requests. Taken only when `threads`
    /// was set.
    class Guard {
     public:
        explicit Guard(Engine& engine) noexcept
            : mutex_(engine.threads ? &engine.mutex_ : nullptr) {
            if (mutex_ != nullptr) {
                engine.entries_.fetch_add(1, std::memory_order_relaxed);
                mutex_->lock();
            }
        }
        ~Guard() {
            if (mutex_ != nullptr) {
                mutex_->unlock();
            }
        }
        Guard(const Guard&) = delete;
        Guard& operator=(const Guard&) = delete;

     private:
        std::recursive_mutex* mutex_;
    };
    bool threads = false;  ///< several threads may call: set before the first call
    bool yields = false;   ///< callers that wait give up the processor, as others may need it

    /// This process's address, for the peers.
    std::vector<std::byte> address() const;
    /// A peer from its published address; the same one for the same process. Null, logged, when the
    /// bytes are not an address.
    Peer* add_peer(std::span<const std::byte> address);

    /// A communicator with `peers` possible senders and destinations. Messages that came before it
    /// existed are delivered now. Null when memory is out.
    Communicator* add_communicator(std::uint32_t id, int rank, int peers, Resolver resolver);
    /// Unmatched messages are dropped.
    void remove_communicator(Communicator* communicator);

    /// Starts a send. `destination` is a valid rank. On an error nothing was started and done is
    /// not called.
    /// `where` is what the buffer's address was found to be during this call of MPI; null: not
    /// asked yet.
    Status send(Request& request, Communicator& communicator, int destination, int tag,
                const Buffer& buffer, SendMode mode, const memory::Pointer* where = nullptr);
    /// Sends `bytes` in a row at once, without a request, when they are few and host memory; false
    /// when that is not possible now. `where` has a value afterwards if the driver was asked what
    /// `data` is.
    bool try_send(Communicator& communicator, int destination, int tag, const void* data,
                  std::size_t bytes, std::optional<memory::Pointer>& where);
    /// Starts a receive; source may be match::kAnySource, tag match::kAnyTag.
    Status receive(Request& request, Communicator& communicator, int source, int tag,
                   const Buffer& buffer);
    /// Takes back a receive that is not matched yet (done is called with outcome.cancelled); false
    /// otherwise.
    bool cancel(Request& request);

    /// The oldest unexpected message that matches, left in place; null when none.
    Message* probe(Communicator& communicator, int source, int tag) noexcept;
    /// Takes the message out of matching; it must be given to receive_matched().
    void extract(Communicator& communicator, Message* message) noexcept;
    /// Starts the receive of an extracted message, which is gone afterwards.
    Status receive_matched(Request& request, Communicator& communicator, Message* message,
                           const Buffer& buffer);

    /// Makes progress; the number of events.
    int progress();
    /// Takes what is in shared memory, or has come by RDMA, fills what room there is, and does
    /// nothing else: for a caller that waits for a message and makes progress() every now and then.
    int poll() {
        int events = shm_ != nullptr && shm_->pending() ? take_arrived() : 0;
        if (by_rdma_) {
            poll_rdma(events);
        }
        return flowing() ? flow(events) : events;
    }
    /// Whether something may come by RDMA, from processes that need no processor of this node.
    bool by_rdma() const noexcept { return by_rdma_; }
    /// True when nothing of ours waits to be sent.
    bool idle() const noexcept;
    /// Closes connections, calling `progress_host` while it waits.
    void close_peers(void (*progress_host)());
    /// Gives back what belongs to CUDA. Quiet when the driver is gone.
    void release_device_resources();

    /// Other verbs than the system's, before the first message: for tests and fault injection.
    void use_verbs(const mover::verbs::Api* api) noexcept { verbs_ = api; }

    const Counters& counters() const noexcept { return counters_; }
    /// What went by RDMA; all zero when it was never used.
    RdmaCounters rdma_counters() const noexcept;
    const mover::cuda_ipc::ImportCache& imports() const noexcept { return imports_; }
    const mover::cuda_ipc::ExportCache& exports() const noexcept { return exports_; }
    const mover::cuda_ipc::Verdicts& verdicts() const noexcept;

 private:
    friend class Background;
    struct Piece;
    struct Control;
    struct WaitingPayload;
    struct BounceChunk;
    struct PendingWays;
    struct Ways;
    struct DeviceState;
    struct RdmaState;
    struct RdmaPeer;
    struct RdmaMove;
    struct RdmaPart;
    struct RdmaRelay;
    struct RdmaSlot;
    /// Shared memory that was offered to CUDA; empty `memory` when it was refused.
    struct Pinned {
        std::span<std::byte> memory;
        memory::Pointer side;
        bool tried = false;
    };

    Engine(const config::Params& params, std::uint64_t secret);
    static std::uint64_t random_secret() noexcept;

    // engine.cpp: a turn of progress
    int move_on();
    bool rests() const noexcept;

    // background.cpp: progress by a thread of its own
    int progress_aside() noexcept;  // -1: a caller is in the engine
    void watch(Request& request) noexcept;
    int take_over();
    // small.cpp: small host messages through shared memory
    int take_arrived();
    void on_message(const mover::shm::Arrival& arrival);
    Request* take_expected(std::span<const std::byte> message, wire::Eager& eager);
    void put_expected(Request& request, const wire::Eager& eager, std::span<const std::byte> data,
                      protocol::Path path);
    void place(Request& request, const wire::Eager& eager, const mover::shm::Arrival& arrival);

    // arrival.cpp: from the lanes to matching
    static void on_shm(void* self, const mover::shm::Arrival& arrival);
    static bool on_ucx(void* self, std::span<const std::byte> header,
                       const mover::ucx::Payload& payload);
    void on_eager(std::span<const std::byte> header, std::span<const std::byte> data,
                  std::uint32_t shm_sender, protocol::Path path);
    void on_rts(std::span<const std::byte> in, const mover::ucx::Payload* payload);
    void on_control(std::span<const std::byte> in);
    void on_device_control(std::span<const std::byte> in, std::uint32_t sender);
    void on_fragment(const wire::Data& header, std::span<const std::byte> data,
                     std::uint32_t sender);
    void malformed(std::span<const std::byte> in, const char* lane) noexcept;
    void arrive(const Arrived& arrived);

    // origin.cpp: what a peer may name, and what is kept of what it sends too early
    bool may_name(std::span<const std::byte> in, std::uint32_t sender) noexcept;
    bool reachable(Peer& peer);
    void keep_orphan(const Arrived& arrived);
    void forget_orphan(const Message& message) noexcept;

    void accept(Communicator& communicator, const Arrived& arrived);
    void match(Communicator& communicator, const Arrived& arrived);
    void match_early(std::uint32_t context, int source);
    void match_kept(Communicator& communicator, Message* message);
    void replay(Communicator& communicator, Message* message);
    Message* keep(const Arrived& arrived);
    void drop(Message* message);
    void release(Message& message) noexcept;
    void refuse_unmatched(const Arrived& arrived);
    bool may_be_for_device() const noexcept;
    Communicator* find(std::uint32_t context) const noexcept {
        return context < communicators_.size() ? communicators_[context] : nullptr;
    }

    // send.cpp: the start of a send
    static wire::Envelope envelope_of(const Communicator& communicator, int tag,
                                      std::uint32_t sequence, std::size_t bytes,
                                      std::uint64_t id) noexcept {
        return {communicator.rank, tag, sequence, 0, bytes, id};
    }
    protocol::SendChoice choose(const Request& request);
    Status begin(Request& request);
    wire::Eager eager_header(Request& request);
    void announce(Request& request, wire::Rts& rts);
    bool eager_shm(Request& request);
    Status eager_ucx(Request& request);
    Status ucx_rendezvous(Request& request);
    Status offers(Request& request);
    Status to_self(Request& request);
    void tell_unreadable(Request& request);
    Status gather(Request& request, void* out);
    Status to_host(Request& request);
    Status lend(Request& request, std::size_t bytes);
    mover::shm::Link* link(Peer& peer);
    mover::ucx::Endpoint endpoint(Peer& peer);
    void control(Peer& peer, std::span<const std::byte> message);
    bool try_control(Peer& peer, std::span<const std::byte> message);
    static void on_eager_sent(mover::ucx::Operation* operation, Status status);
    static void on_rendezvous_sent(mover::ucx::Operation* operation, Status status);

    // receive.cpp: a matched receive
    void deliver(Request& request, const Arrived& arrived);
    void scatter(Request& request, std::span<const std::byte> data, bool pinned);
    Status put(Request& request, std::span<const std::byte> data);
    Status put_pageable(Request& request, std::span<const std::byte> data);
    Status through_chunks(Request& sender, Request& request, std::size_t bytes);
    void from_self(Request& request, Request& sender);
    void from_ucx(Request& request, const Arrived& arrived);
    void from_offers(Request& request, const Arrived& arrived);
    void after_refusal(Request& request, std::uint32_t sender_chunk);
    void ask_staged(Request& request, std::uint32_t sender_chunk);
    void ask(Request& request, std::uint32_t sender_chunk, wire::OfferType choice);
    void send_cts(Request& request, std::size_t bytes, std::uint32_t sender_chunk,
                  wire::OfferType choice);
    void abandon(Request& request);
    static void on_fetched(mover::ucx::Operation* operation, Status status);

    // fragments.cpp: host messages in several slots
    bool fragments(Request& request);
    Assembly* start_assembly(const Arrived& arrived, std::uint32_t sender);
    void assemble_into(Request& request, Assembly& assembly, std::span<const std::byte> start);
    void assembled(Assembly& assembly);
    void disown(Assembly* assembly) noexcept;

    // pipe.cpp: large host messages in blocks of shared memory, both sides
    Status offer_blocks(Request& request);
    void from_blocks(Request& request, const Arrived& arrived);
    void start_filling(Request& request, const wire::Cts& cts);
    bool flowing() const noexcept { return !pipes_.empty() || awaiting_blocks_ != 0; }
    int flow(int arrived);
    int fill_pipes();
    int fill(Pipe& pipe);
    bool fill_block(Pipe& pipe, Request& request);
    void on_block(const wire::Data& data, std::uint32_t sender);

    // offers.cpp: what the sender of device memory offers, and what happens to it
    void device_offers(Request& request, wire::Rts& rts);
    bool offer_direct(Request& request, wire::Rts& rts);
    void offer_packing(Request& request, wire::Rts& rts);
    bool offer_bounce(Request& request, wire::Rts& rts);
    const char* bounce_refusal(const Request& request) const noexcept;
    void on_refusal(Request& request, const wire::Put::Refusal& refused);
    void tell_freed();
    void look_for_freed();
    void on_freed(const wire::Freed& freed, std::uint32_t sender);
    void on_want(const wire::Want& want);
    Status send_descriptors(const Request& request, const wire::Want& want);

    // bounce.cpp: through a buffer on the sender's device, both sides
    void send_bounced(Request& request, const wire::Cts& cts);
    void advance_bounced(Request& request);
    bool fill_slot(Request& request);
    bool send_slot(const BounceChunk& chunk);
    void slot_back(BounceChunk* chunk, Status status);
    void on_slot_back(const wire::DataAck& ack);
    void receive_bounced(Request& request, const wire::IpcOffer& offer,
                         mover::cuda_ipc::Import* import);
    void on_slot_filled(const wire::Data& data);
    void slot_emptied(BounceChunk* chunk, Status status);
    void poll_bounces(int& events);
    bool bouncing() const noexcept;

    // pull.cpp: by mapping the sender's memory
    Status take_offer(Request& request, const wire::Offer& offer);
    Status map(Request& request, const wire::Offer& offer, mover::cuda_ipc::Import*& import);
    Status map_pool_memory(Request& request, const wire::Offer& offer,
                           mover::cuda_ipc::Import*& import);
    Status map_descriptors(Request& request, const wire::Offer& offer, std::uint64_t token,
                           mover::cuda_ipc::Import*& import);
    Status start_pull(Request& request, const wire::Offer& offer, mover::cuda_ipc::Import* import);
    Status want(Request& request, const wire::Offer& offer);
    void on_descriptors(const wire::Descriptors& answer);
    void refuse(Request& request, protocol::Reason reason, wire::OfferType offer);
    void poll_pulls(int& events);

    // ways.cpp: the receiver's choice
    Ways ways_of(Request& request, const Arrived& arrived) noexcept;
    void tell(Request& request, Ways& ways);
    void take_way(Request& request, Ways ways);
    void direct_failed(Request& request, Ways& ways);
    void refuse_later(Request& request, Ways& ways, protocol::Reason reason, wire::OfferType offer);
    void say(Request& request, Ways& ways);
    bool resume(Request& request, Ways& ways);

    // put.cpp: CUDA IPC put, both sides
    bool ask_put(Request& request, Ways& ways, protocol::Path path);
    static protocol::Path put_path_of(const Request& request) noexcept {
        return request.data_ != nullptr ? protocol::Path::kCudaIpcPut
                                        : protocol::Path::kCudaIpcPush;
    }
    void on_put(const wire::Put& put);
    void refuse_put(Request& request, std::uint64_t receiver_request, protocol::Reason reason);
    bool map_target(Request& request, const wire::Put& put, mover::cuda_ipc::Import*& import);
    void put_refused(const wire::Nack& nack);
    void on_put_done(const wire::PutDone& done);
    void poll_puts(int& events);

    // rdma.cpp: devices, memory, and what the progress loop does
    bool start_rdma();
    bool offer_rdma(Request& request, wire::Rts& rts);
    void consider_rdma(const Request& request, const Arrived& arrived, Ways& ways) noexcept;
    bool rdma_for_host_sender(Request& request, std::uint32_t sender_chunk);
    Status register_memory(Request& request, bool device);
    bool may_be_written(const memory::Pointer& where) noexcept;
    void drop_region(Request& request, bool failed = false) noexcept;
    void on_rdma_control(std::span<const std::byte> in);
    void poll_rdma(int& events);
    void take_card_events();
    void keep_time();
    bool rdma_idle() const noexcept;
    void close_rdma() noexcept;

    // rdma_names.cpp
    static std::uint64_t name_of(std::span<const std::byte> address) noexcept;
    std::uint64_t own_name() const noexcept;
    void refuse_connection(std::uint64_t name, protocol::Reason reason);

    // rdma_connect.cpp: connections
    RdmaPeer& rdma_peer(Peer& peer);
    RdmaPeer* rdma_named(std::uint64_t name);
    bool any_connected(const RdmaPeer& to) const noexcept;
    Status rdma_connection(RdmaPeer& to, bool may_start);
    bool open_end(RdmaPeer& to);
    void close_end(RdmaPeer& to);
    bool is_unused(const RdmaPeer& peer) const noexcept;
    void close_unused(RdmaPeer& peer);
    void close_idle();
    void make_room();
    void send_end(RdmaPeer& to);
    void on_rdma_connect(const wire::RdmaConnect& message);
    void pair_rails(RdmaPeer& to, const wire::RdmaConnect& message);
    void connect_end(RdmaPeer& to, const wire::RdmaConnect& message);

    // rdma_trust.cpp: their test, and their failures
    void start_test(RdmaPeer& to);
    void end_test(RdmaPeer& to) noexcept;
    void check_pattern(RdmaPeer& to, unsigned rail);
    void close_rail(RdmaPeer& to, unsigned rail, const char* why);
    void connection_failed(RdmaPeer& to) noexcept;
    void on_rdma_rails(const wire::RdmaRails& message);
    void rails_changed(RdmaPeer& to);
    static void on_told(void* self, mover::verbs::Connection& connection, unsigned rail,
                        std::uint32_t immediate);
    static void on_broken(void* self, mover::verbs::Connection& connection, unsigned rail,
                          const char* why);

    // rdma_move.cpp: writes and reads
    Status take_rdma(Request& request, Ways& ways, bool read);
    Status ask_write(Request& request, Ways& ways, RdmaPeer& from, std::uint8_t rails);
    Status start_read(Request& request, Ways& ways, RdmaPeer& from, std::uint8_t rails);
    void on_rdma_put(const wire::RdmaPut& put);
    void early_puts();
    void refuse_write(const Request& request, const wire::RdmaPut& put, protocol::Reason reason);
    RdmaMove& take_move(Request& request, RdmaPeer& to, bool read);
    void start_shares(RdmaMove& move, std::uint8_t rails, std::uint64_t remote,
                      const std::array<std::uint32_t, wire::kMaxRails>& keys, std::size_t bytes);
    void move_ended(RdmaMove& move);
    static void on_share_done(mover::verbs::Share* share, Status status);

    // rdma_relay.cpp: through chunks, for memory that cannot be registered
    bool may_relay(const memory::Pointer& side);
    void start_relay(RdmaMove& move, std::uint8_t rails, std::uint64_t remote,
                     const std::array<std::uint32_t, wire::kMaxRails>& keys, std::size_t bytes);
    void poll_relays(int& events);
    bool advance_relay(RdmaRelay& relay, int& events);
    bool step_part(RdmaRelay& relay, RdmaPart& part);
    void start_part(RdmaRelay& relay, RdmaPart& part);
    void move_part(RdmaRelay& relay, RdmaPart& part);
    void free_part(RdmaPart& part);
    void tell_relayed(RdmaRelay& relay);

    // rdma_messages.cpp: small messages, and what large ones need to be said
    bool may_reach_by_rdma(const Peer& peer);
    unsigned message_rail(const RdmaPeer& to) const noexcept;
    bool say_by_rdma(Peer& peer, std::span<const std::byte> message);
    Status eager_rdma(Request& request);
    Status add_data(Request& request, mover::verbs::Parcel& parcel, unsigned rail);
    void confirm_rail(RdmaPeer& to, unsigned rail);
    void rail_confirmed(RdmaPeer& to, unsigned rail, std::span<const std::byte> in);
    bool may_come_twice() const noexcept;
    static void on_parcel(void* self, mover::verbs::Connection& connection, unsigned rail,
                          std::span<const std::byte> message);
    static void on_said(mover::verbs::Share* share, Status status);
    static void on_eager_rdma_sent(mover::verbs::Share* share, Status status);
    bool try_send_rdma(Communicator& communicator, int destination, int tag, const void* data,
                       std::size_t bytes, std::optional<memory::Pointer>& where);
    bool take_eager_rdma(std::span<const std::byte> message);
    void look_ahead(Request& request, const Peer* peer) noexcept;
    static void on_copied_sent(mover::verbs::Share* share, Status status);
    void send_copied(RdmaPeer& to, unsigned rail, mover::verbs::Parcel& parcel);
    bool eager_again(Peer& peer, std::span<const std::byte> message);

    // rdma_arrival.cpp: what was written here, or will not be
    int poll_lane();
    void written(RdmaPeer& from, unsigned rail, std::uint32_t immediate);
    mover::verbs::Flush flush_of(const memory::Pointer& where) noexcept;
    void finish_arrived();
    void free_slot(Request& request);
    void on_rdma_failed(const wire::RdmaFailed& failed);
    static bool waits_for_peer(const Request& request) noexcept;
    void may_be_lost(const Request& request);
    void give_up_lost();

    // trace.cpp: a line for each message
    void trace(const char* what, const Request& request) const noexcept;
    void trace_offers(const Request& request, const protocol::Situation& situation) const noexcept;

    // staged.cpp: chunks through host memory, the sender's side; and polling of both sides' pieces
    void on_cts(const wire::Cts& cts);
    void advance(Request& request);
    bool start_piece(Request& request);
    bool house(Request& request, Piece* piece);
    // parts.cpp: between a part of a request's data and contiguous memory
    static Result<memory::AsyncCopy> copy_out(
        const Request& request, std::size_t offset, std::size_t bytes, void* out,
        const memory::Pointer& to, memory::Packing packing,
        memory::WhenLost when_lost = memory::WhenLost::kRenew);
    static Result<memory::AsyncCopy> copy_in(const Request& request, std::size_t offset,
                                             std::size_t bytes, const void* in,
                                             const memory::Pointer& from, memory::Packing packing,
                                             memory::WhenLost when_lost = memory::WhenLost::kRenew);
    memory::Packing packing_of(const Piece& piece) const noexcept;
    Result<memory::AsyncCopy> fill(const Request& request, const Piece& piece);
    static protocol::Path path_of(const Request& request) noexcept {
        return request.whole_ ? protocol::Path::kUcx : protocol::Path::kStaged;
    }
    void send_piece(Piece* piece);
    void piece_sent(Piece* piece, Status status);
    void end_staged_send(Request& request);
    void poll_pieces(int& events);
    Piece* take_piece(Request& request);
    void give_back(Piece* piece);
    void pin(Pinned& pinned, std::span<std::byte> memory, const memory::Pointer& side);
    void pin_own(const memory::Pointer& side);
    void pin_payload(std::uint32_t sender, const memory::Pointer& side);
    static void on_piece_sent(mover::ucx::Operation* operation, Status status);

    // staged_receive.cpp: the receiver's side
    Request* expects(const wire::Data& data) noexcept;
    void on_data_shm(const wire::Data& data, std::uint32_t sender);
    bool on_data_ucx(const wire::Data& data, const mover::ucx::Payload& payload);
    bool fetch(Request& request, const wire::Data& data, const mover::ucx::Payload& payload);
    void place(Request& request, Piece* piece);
    Result<memory::AsyncCopy> spread(const Request& request, const Piece& piece);
    void piece_received(Piece* piece, Status status);
    static void on_piece_fetched(mover::ucx::Operation* operation, Status status);
    void sender_failed(const wire::Nack& nack);

    // engine.cpp
    void finish(Request& request, Status status);
    void drop_bounce(Request& request) noexcept;
    void send_done(Request& request, protocol::Path path, Status status);
    void receive_done(Request& request, Status status);
    void count(protocol::Path path, std::size_t bytes, protocol::Reason reason) noexcept;
    void classify(Request& request) noexcept;
    Request* find_request(std::uint64_t id, Request::Kind kind) noexcept;
    Request* find_send(std::uint64_t id, Request::Awaits awaits) noexcept;

    config::Params params_;
    protocol::Limits limits_;
    protocol::Costs costs_;
    protocol::Preference preference_;
    const bool tracing_;
    std::recursive_mutex mutex_;
    topo::NodeId node_;
    std::unique_ptr<mover::shm::Lane> shm_;
    std::unique_ptr<mover::ucx::Lane> ucx_;
    std::vector<std::unique_ptr<Peer>> peers_;
    bool remote_peers_ = false;  // some peer is reached by UCX alone
    unsigned idle_polls_ = 0;
    bool resting_ = false;  // rests() held, and nothing has happened since
    bool early_ = false;    // nobody waits for a message after the one just taken
    unsigned polls_ = 0;
    unsigned ucx_interest_ = 0;  // polls for which UCX is asked every time
    std::vector<Communicator*> communicators_;
    std::vector<std::unique_ptr<Assembly>> assemblies_;
    MessagePool message_memory_;
    Message* orphans_ = nullptr;  // newest first
    std::size_t orphan_count_ = 0;
    std::size_t orphan_bytes_ = 0;
    RequestTable<Request> table_;
    List<Request> waiting_sends_;   // no slot, chunk or queue room yet
    List<Request> pulls_;           // CUDA IPC copies under way
    List<Request> puts_;            // CUDA IPC copies into receivers' memory under way
    List<Request> staged_sends_;    // more pieces to start
    List<Pipe> pipes_;              // with messages to put into blocks
    unsigned awaiting_blocks_ = 0;  // receives whose message comes in blocks
    List<Piece> copying_;           // pieces whose copy is under way
    List<Piece> to_send_;           // pieces copied, waiting for queue room
    Piece* free_pieces_ = nullptr;
    std::deque<Control> controls_;
    std::deque<WaitingPayload> waiting_payloads_;
    mover::cuda_ipc::ExportCache exports_;
    mover::cuda_ipc::ImportCache imports_;
    unsigned contexts_lost_ = 0;  // as far as imports_ knows
    CUresult last_pool_error_ = CUDA_SUCCESS;
    std::unique_ptr<DeviceState> device_;
    std::unique_ptr<RdmaState> rdma_;  // null until a device message to another node wants it
    bool by_rdma_ = false;             // there are connections
    const mover::verbs::Api* verbs_ = nullptr;
    memory::StagingPool staging_;
    Pinned own_pinned_;
    std::vector<Pinned> sender_pinned_;
    Counters counters_;
    bool watched_ = false;                   // a Background drives this engine as well
    bool aside_ = false;                     // and does so now
    List<Request> ended_;                    // in the Background: done is still to be called
    Message* unresolved_ = nullptr;          // taken by the Background, newest first
    std::atomic<std::uint32_t> entries_{0};  // calls under lock()
    std::atomic<std::uint32_t> large_{0};    // large requests under way
};

}  // namespace beeline::engine
