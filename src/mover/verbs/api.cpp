// SPDX-License-Identifier: BSD-3-Clause
// Finding libibverbs.so.1, and the verbs that its header defines inline.
#include "mover/verbs/api.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <cstring>

#include "base/log.hpp"

namespace beeline::mover::verbs {
namespace {

constexpr char kLibrary[] = "libibverbs.so.1";

// Exported under names of their own; the header wraps them.
int (*compatible_query_port)(ibv_context*, std::uint8_t, _compat_ibv_port_attr*) = nullptr;
int (*sized_query_gid_ex)(ibv_context*, std::uint32_t, std::uint32_t, ibv_gid_entry*, std::uint32_t,
                          std::size_t) = nullptr;

// What verbs.h defines inline is written out here: its functions would make this library need
// libibverbs at link time.
int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) {
    std::memset(attributes, 0, sizeof *attributes);
    const verbs_context* extended = verbs_get_ctx_op(context, query_port);
    if (extended == nullptr) {
        return compatible_query_port(context, port,
                                     reinterpret_cast<_compat_ibv_port_attr*>(attributes));
    }
    return extended->query_port(context, port, attributes, sizeof *attributes);
}

int query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index,
                 ibv_gid_entry* entry, std::uint32_t flags) {
    return sized_query_gid_ex(context, port, index, entry, flags, sizeof *entry);
}

int post_send(ibv_qp* pair, ibv_send_wr* first, ibv_send_wr** bad) {
    return pair->context->ops.post_send(pair, first, bad);
}

int post_recv(ibv_qp* pair, ibv_recv_wr* first, ibv_recv_wr** bad) {
    return pair->context->ops.post_recv(pair, first, bad);
}

int post_srq_recv(ibv_srq* queue, ibv_recv_wr* first, ibv_recv_wr** bad) {
    return queue->context->ops.post_srq_recv(queue, first, bad);
}

int poll_cq(ibv_cq* queue, int entries, ibv_wc* completions) {
    return queue->context->ops.poll_cq(queue, entries, completions);
}

int req_notify_cq(ibv_cq* queue, int solicited_only) {
    return queue->context->ops.req_notify_cq(queue, solicited_only);
}

/// The symbol of that version, or of the default one where a build of the library has no such.
template <class Function>
bool load(void* library, const char* name, const char* version, Function*& function) noexcept {
    void* symbol = version != nullptr ? dlvsym(library, name, version) : nullptr;
    if (symbol == nullptr) {
        symbol = dlsym(library, name);
    }
    function = reinterpret_cast<Function*>(symbol);
    return symbol != nullptr;
}

bool fill(void* library, Api& api) noexcept {
    const char* missing = nullptr;
#define BEELINE_VERBS_LOAD(name, version)                                        \
    if (!load(library, "ibv_" #name, version, api.name) && missing == nullptr) { \
        missing = "ibv_" #name;                                                  \
    }
    BEELINE_VERBS_REQUIRED(BEELINE_VERBS_LOAD)
#undef BEELINE_VERBS_LOAD
#define BEELINE_VERBS_LOAD(name, version) load(library, "ibv_" #name, version, api.name);
    BEELINE_VERBS_OPTIONAL(BEELINE_VERBS_LOAD)
#undef BEELINE_VERBS_LOAD
    if (!load(library, "ibv_query_port", "IBVERBS_1.1", compatible_query_port)) {
        missing = "ibv_query_port";
    }
    if (missing != nullptr) {
        log_once(LogLevel::kWarning, "verbs.missing",
                 "%s lacks %s (rdma-core too old?): GPUDirect RDMA between nodes is off", kLibrary,
                 missing);
        return false;
    }
    api.query_port = query_port;
    if (load(library, "_ibv_query_gid_ex", "IBVERBS_1.11", sized_query_gid_ex)) {
        api.query_gid_ex = query_gid_ex;
    }
    api.post_send = post_send;
    api.post_recv = post_recv;
    api.post_srq_recv = post_srq_recv;
    api.poll_cq = poll_cq;
    api.req_notify_cq = req_notify_cq;
    return true;
}

const Api* open_library() noexcept {
    static Api api;
    // Never closed: its providers start threads and keep state of their own.
    void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        log(LogLevel::kInfo, "no GPUDirect RDMA between nodes: %s", dlerror());
        return nullptr;
    }
    return fill(library, api) ? &api : nullptr;
}

}  // namespace

const Api* Api::load() noexcept {
    static const Api* const found = open_library();
    return found;
}

}  // namespace beeline::mover::verbs
