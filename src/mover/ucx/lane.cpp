// SPDX-License-Identifier: BSD-3-Clause
// The UCX worker: set-up, active messages and their completion.
#include "mover/ucx/lane.hpp"

#include <ucp/api/ucp.h>

#include <cstdlib>
#include <cstring>

#include "base/log.hpp"

namespace beeline::mover::ucx {
namespace {

constexpr unsigned kMessage = 1;  // the one active message id; the header tells the rest
constexpr std::size_t kOperationsPerBlock = 64;

Status from_ucs(ucs_status_t status) noexcept {
    switch (status) {
        case UCS_OK:
            return Status::kOk;
        case UCS_INPROGRESS:
            return Status::kRetry;
        case UCS_ERR_CANCELED:
            return Status::kCanceled;
        case UCS_ERR_NO_MEMORY:
            return Status::kNoMemory;
        case UCS_ERR_UNREACHABLE:
        case UCS_ERR_CONNECTION_RESET:
        case UCS_ERR_ENDPOINT_TIMEOUT:
            return Status::kUnreachable;
        default:
            return Status::kIo;
    }
}

ucs_status_t on_message(void* self, const void* header, std::size_t header_bytes, void* data,
                        std::size_t bytes, const ucp_am_recv_param_t* param) noexcept {
    Payload payload;
    payload.data = data;
    payload.bytes = bytes;
    payload.rendezvous = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    switch (static_cast<Lane*>(self)->deliver({static_cast<const std::byte*>(header), header_bytes},
                                              payload)) {
        case Lane::Delivery::kDone:
            return UCS_OK;
        case Lane::Delivery::kKept:
            return UCS_INPROGRESS;
        case Lane::Delivery::kRejected:
            return UCS_ERR_CANCELED;
    }
    return UCS_OK;
}

void complete(void* request, void* user, ucs_status_t status) noexcept {
    auto* operation = static_cast<Operation*>(user);
    auto* lane = static_cast<Lane*>(operation->user);
    ucp_request_free(request);
    lane->finish(operation, from_ucs(status));
}

void on_sent(void* request, ucs_status_t status, void* user) noexcept {
    complete(request, user, status);
}

void on_received(void* request, ucs_status_t status, std::size_t, void* user) noexcept {
    complete(request, user, status);
}

}  // namespace

Result<std::unique_ptr<Lane>> Lane::create(Receiver receiver) noexcept {
    std::unique_ptr<Lane> lane(new Lane);
    lane->receiver_ = receiver;
    const Status status = lane->start_worker();
    if (status != Status::kOk) {
        return status;
    }
    return lane;
}

Status Lane::start_worker() noexcept {
    bool open = open_worker(nullptr);
    if (!open && std::getenv("UCX_TLS") == nullptr) {
        // Where /dev/shm cannot be written UCX's posix transport fails, and UCX with it.
        log_once(LogLevel::kWarning, "ucx.posix", "UCX is tried again without its posix transport");
        open = open_worker("^posix");
    }
    ucs_status_t status = open ? UCS_OK : UCS_ERR_NO_DEVICE;
    if (status == UCS_OK) {
        ucp_am_handler_param_t handler{};
        handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                             UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
        handler.id = kMessage;
        handler.flags = UCP_AM_FLAG_WHOLE_MSG | UCP_AM_FLAG_PERSISTENT_DATA;
        handler.cb = on_message;
        handler.arg = this;
        status = ucp_worker_set_am_recv_handler(worker_, &handler);
    }
    ucp_address_t* address = nullptr;
    std::size_t length = 0;
    if (status == UCS_OK) {
        status = ucp_worker_get_address(worker_, &address, &length);
    }
    if (status != UCS_OK) {
        log(LogLevel::kError,
            "without UCX there is no way to other nodes: pml/beeline is not used");
        return Status::kUnsupported;
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(address);
    address_.assign(bytes, bytes + length);
    ucp_worker_release_address(worker_, address);
    return Status::kOk;
}

/// Opens context and worker, with these transports if not null; nothing is left open on failure.
bool Lane::open_worker(const char* transports) noexcept {
    ucp_config_t* config = nullptr;
    ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
    if (status == UCS_OK && transports != nullptr) {
        status = ucp_config_modify(config, "TLS", transports);
    }
    if (status == UCS_OK) {
        ucp_params_t params{};
        params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
        params.features = UCP_FEATURE_AM;
        params.name = "beeline";
        status = ucp_init(&params, config, &context_);
        ucp_config_release(config);
    }
    if (status == UCS_OK) {
        ucp_worker_params_t params{};
        params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
        // One thread at a time, though not always the same one: the engine's lock sees to it.
        params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
        status = ucp_worker_create(context_, &params, &worker_);
    }
    if (status != UCS_OK && context_ != nullptr) {
        ucp_cleanup(context_);
        context_ = nullptr;
    }
    if (status != UCS_OK) {
        log_once(LogLevel::kWarning, "ucx.open", "UCX could not be started: %s",
                 ucs_status_string(status));
    }
    return status == UCS_OK;
}

Lane::~Lane() {
    if (worker_ != nullptr) {
        ucp_worker_destroy(worker_);
    }
    if (context_ != nullptr) {
        ucp_cleanup(context_);
    }
}

Result<Endpoint> Lane::connect(std::span<const std::byte> address) noexcept {
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address = reinterpret_cast<const ucp_address_t*>(address.data());
    ucp_ep_h endpoint = nullptr;
    const ucs_status_t status = ucp_ep_create(worker_, &params, &endpoint);
    if (status != UCS_OK) {
        log_once(LogLevel::kError, "ucx.connect", "UCX cannot connect to a peer: %s",
                 ucs_status_string(status));
        return Status::kUnreachable;
    }
    return endpoint;
}

void Lane::close(Endpoint endpoint, void (*progress_host)()) noexcept {
    ucp_request_param_t params{};
    void* request = ucp_ep_close_nbx(endpoint, &params);
    if (!UCS_PTR_IS_PTR(request)) {
        return;
    }
    while (ucp_request_check_status(request) == UCS_INPROGRESS) {
        ucp_worker_progress(worker_);
        if (progress_host != nullptr) {
            progress_host();
        }
    }
    ucp_request_free(request);
}

Operation* Lane::take() noexcept {
    if (free_ == nullptr) {
        blocks_.push_back(std::make_unique<Operation[]>(kOperationsPerBlock));
        for (std::size_t i = 0; i < kOperationsPerBlock; ++i) {
            blocks_.back()[i].next = free_;
            free_ = &blocks_.back()[i];
        }
    }
    Operation* operation = free_;
    free_ = operation->next;
    return operation;
}

void Lane::give_back(Operation* operation) noexcept {
    operation->next = free_;
    free_ = operation;
}

Status Lane::started(void* request, Operation* operation) noexcept {
    if (request == nullptr) {
        give_back(operation);
        return Status::kOk;
    }
    if (UCS_PTR_IS_ERR(request)) {
        give_back(operation);
        return from_ucs(UCS_PTR_STATUS(request));
    }
    ++outstanding_;
    return Status::kRetry;
}

Status Lane::send(Endpoint to, Operation* operation, const void* data, std::size_t bytes,
                  bool rendezvous) noexcept {
    ucp_request_param_t params{};
    params.op_attr_mask =
        UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = rendezvous ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER;
    params.cb.send = on_sent;
    params.user_data = operation;
    operation->user = this;
    return started(ucp_am_send_nbx(to, kMessage, operation->header, operation->header_bytes, data,
                                   bytes, &params),
                   operation);
}

Status Lane::receive(const Payload& payload, void* into, Operation* operation) noexcept {
    ucp_request_param_t params{};
    params.op_attr_mask =
        UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    params.cb.recv_am = on_received;
    params.user_data = operation;
    operation->user = this;
    return started(ucp_am_recv_data_nbx(worker_, payload.data, into, payload.bytes, &params),
                   operation);
}

Lane::Delivery Lane::deliver(std::span<const std::byte> header, const Payload& payload) noexcept {
    delivering_ = payload.rendezvous ? payload.data : nullptr;
    rejected_ = false;
    const bool kept = receiver_.arrived(receiver_.self, header, payload);
    delivering_ = nullptr;
    if (rejected_) {
        return Delivery::kRejected;
    }
    return kept ? Delivery::kKept : Delivery::kDone;
}

bool Lane::reject(const Payload& payload) noexcept {
    if (can_reject(payload)) {
        // UCX has not finished the descriptor while its callback runs: the callback's result says
        // it.
        rejected_ = true;
        return true;
    }
    ucp_am_data_release(worker_, payload.data);
    return false;
}

unsigned Lane::progress() noexcept {
    return ucp_worker_progress(worker_);
}

void Lane::finish(Operation* operation, Status status) noexcept {
    --outstanding_;
    operation->done(operation, status);
    give_back(operation);
}

}  // namespace beeline::mover::ucx
