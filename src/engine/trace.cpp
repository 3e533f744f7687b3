// SPDX-License-Identifier: BSD-3-Clause
// pml_beeline_verbose 3: a line for each message that ended, and for each choice among offers.
#include "base/log.hpp"
#include "engine/engine.hpp"
#include "protocol/explain.hpp"

namespace beeline::engine {

void Engine::trace(const char* what, const Request& request) const noexcept {
    const bool send = request.kind_ == Request::Kind::kSend;
    const Outcome& outcome = request.outcome;
    log(LogLevel::kDebug,
        "%s, communicator %u, %s rank %d, tag %d: %zu bytes of %s memory by %s (%s)", what,
        request.communicator_->id, send ? "to" : "from",
        send ? request.destination_ : outcome.source, send ? request.send_tag_ : outcome.tag,
        send ? request.buffer_.bytes : outcome.bytes, memory::to_string(request.where_.kind),
        protocol::to_string(outcome.path), protocol::to_string(outcome.reason));
}

void Engine::trace_offers(const Request& request,
                          const protocol::Situation& situation) const noexcept {
    char list[400];
    log(LogLevel::kDebug, "choice for %zu bytes from rank %d: %s of %s", request.outcome.bytes,
        request.outcome.source, protocol::choose_offer(situation, costs_, preference_)->name,
        protocol::list_offers(situation, costs_, list));
}

}  // namespace beeline::engine
