// SPDX-License-Identifier: BSD-3-Clause
// The receiver of an RDMA write: what immediates say, visibility to the device, and writes that
// failed or will never come.
#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "engine/device_state.hpp"
#include "engine/rdma_state.hpp"
#include "mover/verbs/parameters.hpp"
#include "wire/codec.hpp"

namespace beeline::engine {

using protocol::Reason;

/// An immediate has come: all that was to come by this rail is in the receiver's memory.
void Engine::written(RdmaPeer& from, unsigned rail, std::uint32_t immediate) {
    const std::uint32_t index = immediate & kMostSlots;
    RdmaSlot* slot = index < rdma_->slots.size() ? &rdma_->slots[index] : nullptr;
    if (slot == nullptr || slot->request == nullptr || slot->from != &from ||
        slot->generation != immediate >> kSlotBits || (slot->missing & bit(rail)) == 0) {
        return;  // of an attempt that was given up
    }
    slot->missing &= static_cast<RailBits>(~bit(rail));
    if (slot->missing != 0) {
        return;
    }
    Request& request = *slot->request;
    free_slot(request);
    Ways ways;
    resume(request, ways);
    rdma_->arrived.push_back(&request);
}

/// How to make what a card has written into a device's memory visible to the device.
mover::verbs::Flush Engine::flush_of(const memory::Pointer& where) noexcept {
    using namespace mover::verbs;
    const auto known = rdma_->flushes.find(where.device);
    if (known != rdma_->flushes.end()) {
        return known->second;
    }
    const Flush needed = flush_wanted(params_, write_ordering_of(where), Reader::kAllDevices);
    return rdma_->flushes.emplace(where.device, needed).first->second;
}

/// Handles completions; what has come whole is ended. The number of events.
int Engine::poll_lane() {
    const auto events = static_cast<int>(rdma_->lane->poll());
    if (!rdma_->arrived.empty()) {
        finish_arrived();
    }
    return events;
}

/// Ends the messages that have come, with one flush for all of a device.
void Engine::finish_arrived() {
    using namespace mover::verbs;
    std::vector<std::pair<int, Status>> flushed;  // by device
    for (Request* request : std::exchange(rdma_->arrived, {})) {
        const memory::Pointer& where = request->where_;
        Status status = Status::kOk;
        if (where.kind == memory::Kind::kDevice && flush_of(where) == Flush::kCall) {
            const auto done = std::find_if(flushed.begin(), flushed.end(), [&](const auto& one) {
                return one.first == where.device;
            });
            if (done == flushed.end()) {
                ++rdma_->counters.flushes;
                flushed.emplace_back(where.device, flush_writes(where, Reader::kAllDevices));
                status = flushed.back().second;
            } else {
                status = done->second;
            }
        }
        if (request->region_ != nullptr) {  // else it came through chunks
            request->outcome.reason = Reason::kDirect;
        }
        drop_region(*request);
        receive_done(*request, status);
    }
}

/// Whether a request goes on when its peer says something, and not before.
bool Engine::waits_for_peer(const Request& request) noexcept {
    return request.kind_ == Request::Kind::kSend ? request.awaits_ == Request::Awaits::kAnswer ||
                                                       request.awaits_ == Request::Awaits::kAck
                                                 : request.awaits_ == Request::Awaits::kRdma;
}

/// Notes a request that waits for a peer to which no rail is left: only for so long.
void Engine::may_be_lost(const Request& request) {
    for (const RdmaState::Lost& known : rdma_->lost) {
        if (known.id == request.id_) {
            return;
        }
    }
    rdma_->lost.push_back(
        {request.id_, Clock::now() + std::chrono::seconds(params_.pml_rdma_peer_limit)});
}

/// Ends what has waited too long for a peer that answers nothing.
void Engine::give_up_lost() {
    const Clock::time_point now = Clock::now();
    std::vector<RdmaState::Lost> still;
    for (const RdmaState::Lost& lost : std::exchange(rdma_->lost, {})) {
        Request* request = table_.find(lost.id);
        if (request == nullptr || !waits_for_peer(*request)) {
            continue;
        }
        if (now < lost.limit) {
            still.push_back(lost);
            continue;
        }
        const bool send = request->kind_ == Request::Kind::kSend;
        log(LogLevel::kError,
            "rank %d of communicator %u (process %lld of another node) has said nothing for %d s "
            "since RDMA to it failed: a message of %zu bytes %s it ends with an error",
            send ? request->destination_ : request->outcome.source, request->communicator_->id,
            static_cast<long long>(request->peer_->address.shm.pid), params_.pml_rdma_peer_limit,
            send ? request->buffer_.bytes : request->outcome.bytes, send ? "to" : "from");
        if (send) {
            send_done(*request, protocol::Path::kRdma, Status::kUnreachable);
            continue;
        }
        free_slot(*request);
        Ways ways;
        resume(*request, ways);
        drop_region(*request);
        receive_done(*request, Status::kUnreachable);
    }
    rdma_->lost.insert(rdma_->lost.end(), still.begin(), still.end());
}

/// Late immediates find nothing from now on.
void Engine::free_slot(Request& request) {
    const std::uint32_t index = request.slot_ & kMostSlots;
    RdmaSlot& slot = rdma_->slots[index];
    slot.request = nullptr;
    --slot.from->receives;
    rdma_->free_slots.push_back(index);
    request.awaits_ = Request::Awaits::kNothing;
}

/// The receiver's side of a write that failed: asks again, or for another way.
void Engine::on_rdma_failed(const wire::RdmaFailed& failed) {
    RdmaPeer* from = start_rdma() ? rdma_named(failed.from) : nullptr;
    if (from == nullptr) {
        return;
    }
    Request* request = table_.find(failed.receiver_request);
    if (request == nullptr || request->awaits_ != Request::Awaits::kRdma ||
        request->slot_ != failed.immediate || request->peer_ != from->peer) {
        // All of it had come, and what the sender has lost is only word of that.
        wire::Fin fin;
        fin.sender_request = failed.sender_request;
        fin.path = static_cast<std::uint8_t>(protocol::Path::kRdma);
        control(*from->peer, std::as_bytes(std::span(&fin, 1)));
        return;
    }
    free_slot(*request);
    drop_region(*request, true);
    ++rdma_->counters.retries;
    Ways ways;
    resume(*request, ways);
    ++ways.rdma_failed;
    const Reason reason =
        failed.reason < protocol::kReasons ? Reason{failed.reason} : Reason::kRdmaFailed;
    request->outcome.reason = reason;
    if (reason == Reason::kNotRegistered) {
        ways.situation.sender.registers = reason;
    } else if (reason == Reason::kNoRdmaDevice) {
        ways.situation.rdma = reason;
    }
    take_way(*request, ways);
}

}  // namespace beeline::engine
