// SPDX-License-Identifier: BSD-3-Clause
// The verbs of libibverbs as a table of functions, taken from a library that is looked for at run
// time: a machine without rdma-core needs none.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace beeline::mover::verbs {

// Every exported function that Beeline calls, without its prefix ibv_ (some of the plain names are
// macros), and the version of the symbol that the structures in verbs.h belong to. Without a
// required one the library is not used; optional ones may be null: they came later.
#define BEELINE_VERBS_REQUIRED(X)          \
    X(get_device_list, "IBVERBS_1.1")      \
    X(free_device_list, "IBVERBS_1.1")     \
    X(get_device_name, "IBVERBS_1.1")      \
    X(open_device, "IBVERBS_1.1")          \
    X(close_device, "IBVERBS_1.1")         \
    X(query_device, "IBVERBS_1.1")         \
    X(query_gid, "IBVERBS_1.1")            \
    X(get_async_event, "IBVERBS_1.1")      \
    X(ack_async_event, "IBVERBS_1.1")      \
    X(event_type_str, "IBVERBS_1.1")       \
    X(wc_status_str, "IBVERBS_1.1")        \
    X(alloc_pd, "IBVERBS_1.1")             \
    X(dealloc_pd, "IBVERBS_1.1")           \
    X(reg_mr, "IBVERBS_1.1")               \
    X(dereg_mr, "IBVERBS_1.1")             \
    X(create_cq, "IBVERBS_1.1")            \
    X(destroy_cq, "IBVERBS_1.1")           \
    X(create_comp_channel, "IBVERBS_1.0")  \
    X(destroy_comp_channel, "IBVERBS_1.0") \
    X(get_cq_event, "IBVERBS_1.1")         \
    X(ack_cq_events, "IBVERBS_1.1")        \
    X(create_srq, "IBVERBS_1.1")           \
    X(modify_srq, "IBVERBS_1.1")           \
    X(query_srq, "IBVERBS_1.1")            \
    X(destroy_srq, "IBVERBS_1.1")          \
    X(create_qp, "IBVERBS_1.1")            \
    X(modify_qp, "IBVERBS_1.1")            \
    X(query_qp, "IBVERBS_1.1")             \
    X(destroy_qp, "IBVERBS_1.1")
#define BEELINE_VERBS_OPTIONAL(X)    \
    X(fork_init, "IBVERBS_1.1")      \
    X(reg_mr_iova2, "IBVERBS_1.8")   \
    X(reg_dmabuf_mr, "IBVERBS_1.12") \
    X(query_ece, "IBVERBS_1.10")     \
    X(set_ece, "IBVERBS_1.10")

/// The functions. Tests, and the decorators that inject faults, fill in a table of their own or
/// replace entries in a copy; so the ones that verbs.h defines inline stand here as well. All
/// return and set errno as their manual pages say.
struct Api {
#define BEELINE_VERBS_FIELD(name, version) decltype(&::ibv_##name) name = nullptr;
    BEELINE_VERBS_REQUIRED(BEELINE_VERBS_FIELD)
    BEELINE_VERBS_OPTIONAL(BEELINE_VERBS_FIELD)
#undef BEELINE_VERBS_FIELD

    /// With the whole of ibv_port_attr, as the macro of that name in verbs.h does it.
    int (*query_port)(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) = nullptr;
    /// A row of the GID table with its type; null in an old library.
    int (*query_gid_ex)(ibv_context* context, std::uint32_t port, std::uint32_t index,
                        ibv_gid_entry* entry, std::uint32_t flags) = nullptr;
    int (*post_send)(ibv_qp* pair, ibv_send_wr* first, ibv_send_wr** bad) = nullptr;
    int (*post_recv)(ibv_qp* pair, ibv_recv_wr* first, ibv_recv_wr** bad) = nullptr;
    int (*post_srq_recv)(ibv_srq* queue, ibv_recv_wr* first, ibv_recv_wr** bad) = nullptr;
    int (*poll_cq)(ibv_cq* queue, int entries, ibv_wc* completions) = nullptr;
    int (*req_notify_cq)(ibv_cq* queue, int solicited_only) = nullptr;

    /// libibverbs.so.1, loaded at the first call and kept for the life of the process; null when
    /// there is none (logged at info level only) or it is too old (one warning). Thread-safe.
    static const Api* load() noexcept;
};

}  // namespace beeline::mover::verbs
