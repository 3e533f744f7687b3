// SPDX-License-Identifier: BSD-3-Clause
// The states of a queue pair, from RESET to ready to send.
#include "mover/verbs/queue_pair.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.hpp"
#include "mover/verbs/api.hpp"
#include "mover/verbs/device.hpp"

namespace beeline::mover::verbs {
namespace {

/// 0, or the errno of the failed step, which is named.
Status refused(const Port& port, const char* step, int error) noexcept {
    log_once(LogLevel::kWarning, step, "%s: a queue pair could not be %s (%s)", port.name.c_str(),
             step, std::strerror(error));
    return Status::kIo;
}

unsigned bounded(unsigned wish, int limit) noexcept {
    return limit > 0 ? std::min(wish, static_cast<unsigned>(limit)) : wish;
}

}  // namespace

Result<QueuePair> QueuePair::create(const Port& port, ibv_cq* completions, ibv_srq* receives,
                                    const PairSettings& settings, std::uint32_t sequence) noexcept {
    ibv_qp_init_attr wish{};
    wish.send_cq = completions;
    wish.recv_cq = completions;
    wish.srq = receives;
    wish.qp_type = IBV_QPT_RC;
    wish.cap.max_send_wr = bounded(settings.depth, port.limits.max_qp_wr);
    wish.cap.max_send_sge = settings.parts;
    wish.cap.max_inline_data = settings.inline_bytes;
    QueuePair made;
    made.port_ = &port;
    made.pair_ = port.api->create_qp(port.pd, &wish);
    if (made.pair_ == nullptr && settings.inline_bytes != 0) {
        wish.cap.max_inline_data = 0;  // not every card has that much, and none has to
        made.pair_ = port.api->create_qp(port.pd, &wish);
    }
    if (made.pair_ == nullptr) {
        refused(port, "made", errno);
        return Status::kNoMemory;
    }
    made.inline_bytes_ = wish.cap.max_inline_data;
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = port.number;
    attributes.qp_access_flags =
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    if (const int error = port.api->modify_qp(
            made.pair_, &attributes,
            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
        error != 0) {
        return refused(port, "initialised", error);
    }
    made.end_.gid = port.gid;
    made.end_.number = made.pair_->qp_num;
    made.end_.sequence = sequence & 0xffffffU;
    made.end_.lid = port.lid;
    made.end_.mtu = port.mtu_code;
    return made;
}

Status QueuePair::connect(const PairEnd& peer, const PairSettings& settings) noexcept {
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_RTR;
    to.path_mtu = static_cast<ibv_mtu>(std::min(end_.mtu, peer.mtu));
    to.dest_qp_num = peer.number;
    to.rq_psn = peer.sequence;
    to.max_dest_rd_atomic =
        static_cast<std::uint8_t>(bounded(settings.reads, port_->limits.max_qp_rd_atom));
    to.min_rnr_timer = settings.receiver_timer;
    to.ah_attr.port_num = port_->number;
    to.ah_attr.sl = settings.service_level;
    to.ah_attr.dlid = peer.lid;
    // InfiniBand within a subnet goes by LIDs; all else has a global header.
    if (port_->layer != LinkLayer::kInfiniBand || peer.lid == 0) {
        to.ah_attr.is_global = 1;
        static_assert(sizeof to.ah_attr.grh.dgid == sizeof peer.gid);
        std::memcpy(&to.ah_attr.grh.dgid, peer.gid.data(), peer.gid.size());
        to.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(port_->gid_index);
        to.ah_attr.grh.hop_limit = settings.hop_limit;
        to.ah_attr.grh.traffic_class = settings.traffic_class;
    }
    if (const int error = port_->api->modify_qp(
            pair_, &to,
            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
        error != 0) {
        return refused(*port_, "made ready to receive", error);
    }
    ibv_qp_attr send{};
    send.qp_state = IBV_QPS_RTS;
    send.timeout = settings.timeout;
    send.retry_cnt = settings.retries;
    send.rnr_retry = settings.receiver_retries;
    send.sq_psn = end_.sequence;
    send.max_rd_atomic =
        static_cast<std::uint8_t>(bounded(settings.reads, port_->limits.max_qp_init_rd_atom));
    if (const int error =
            port_->api->modify_qp(pair_, &send,
                                  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                      IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
        error != 0) {
        return refused(*port_, "made ready to send", error);
    }
    return Status::kOk;
}

void QueuePair::destroy() noexcept {
    if (pair_ != nullptr) {
        port_->api->destroy_qp(pair_);
        pair_ = nullptr;
    }
}

}  // namespace beeline::mover::verbs
