// SPDX-License-Identifier: BSD-3-Clause
// Posting and completion of work requests, and what happens when a card gives up.
#include "mover/verbs/lane.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.hpp"
#include "mover/verbs/api.hpp"
#include "mover/verbs/device.hpp"

namespace beeline::mover::verbs {
namespace {

constexpr std::uint64_t kReceive = UINT64_MAX;  // wr_id of receives
constexpr unsigned kSignalEvery = 16;           // work requests; and the last of every share
constexpr int kPollAtOnce = 16;
constexpr unsigned kRefill = 32;  // receives posted at once

unsigned bounded(unsigned wish, int limit) noexcept {
    return limit > 0 ? std::min(wish, static_cast<unsigned>(limit)) : wish;
}

}  // namespace

Lane::Lane(std::span<const Port* const> rails, const LaneSettings& settings, LaneEvents events)
    : settings_(settings),
      events_(events),
      rails_(std::min<std::size_t>(rails.size(), kUsedRails)) {
    for (std::size_t i = 0; i < rails_.size(); ++i) {
        rails_[i].port = rails[i];
    }
}

Lane::~Lane() {
    for (Named& named : named_) {
        if (named.connection != nullptr) {
            close(*named.connection, named.rail, false);
        }
    }
    for (Rail& rail : rails_) {
        if (rail.receives != nullptr) {
            rail.port->api->destroy_srq(rail.receives);
        }
        if (rail.completions != nullptr) {
            rail.port->api->destroy_cq(rail.completions);
        }
    }
}

std::size_t Lane::bytes_per_link() const noexcept {
    constexpr std::size_t kWorkRequest = 64;  // a send with one gather entry takes one such block
    return settings_.pair.depth * (kWorkRequest + sizeof(Link::Entry)) + sizeof(Link);
}

std::size_t Lane::bytes_per_rail() const noexcept {
    constexpr std::size_t kCompletion = 64;
    constexpr std::size_t kReceiveRequest = 32;
    return (settings_.receives + settings_.sends) * kCompletion +
           settings_.receives * kReceiveRequest + sizeof(Rail);
}

Status Lane::start_rail(Rail& rail) noexcept {
    if (rail.completions != nullptr) {
        return Status::kOk;
    }
    const Port& port = *rail.port;
    settings_.receives = bounded(settings_.receives, port.limits.max_srq_wr);
    const unsigned room = bounded(settings_.receives + settings_.sends, port.limits.max_cqe);
    settings_.sends = std::min(settings_.sends, room - std::min(room, settings_.receives));
    rail.completions =
        port.api->create_cq(port.context, static_cast<int>(room), nullptr, nullptr, 0);
    if (rail.completions != nullptr) {
        ibv_srq_init_attr wish{};
        wish.attr.max_wr = settings_.receives;
        wish.attr.max_sge = 1;
        rail.receives = port.api->create_srq(port.pd, &wish);
        if (rail.receives != nullptr && post_receives(rail, settings_.receives)) {
            return Status::kOk;
        }
    }
    log_once(LogLevel::kWarning, "verbs.rail",
             "%s: no completion or receive queue (%s): this rail is not used", port.name.c_str(),
             std::strerror(errno));
    if (rail.receives != nullptr) {
        port.api->destroy_srq(std::exchange(rail.receives, nullptr));
    }
    if (rail.completions != nullptr) {
        port.api->destroy_cq(std::exchange(rail.completions, nullptr));
    }
    return Status::kNoMemory;
}

/// Receives without memory: all that arrives is an immediate.
bool Lane::post_receives(Rail& rail, unsigned count) noexcept {
    ibv_recv_wr batch[kRefill];
    while (count != 0) {
        const unsigned now = std::min(count, kRefill);
        for (unsigned i = 0; i < now; ++i) {
            batch[i] = {};
            batch[i].wr_id = kReceive;
            batch[i].next = i + 1 < now ? &batch[i + 1] : nullptr;
        }
        ibv_recv_wr* bad = nullptr;
        if (const int error = rail.port->api->post_srq_recv(rail.receives, batch, &bad);
            error != 0) {
            errno = error;
            return false;
        }
        count -= now;
    }
    return true;
}

Lane::Named* Lane::find(std::uint32_t name) noexcept {
    const std::uint32_t index = name & 0xffffU;
    if (index >= named_.size() || named_[index].generation != name >> 16 ||
        named_[index].connection == nullptr) {
        return nullptr;
    }
    return &named_[index];
}

/// A number for a link that completions come back with; one of a link that is gone finds nothing.
std::uint32_t Lane::name(Connection& connection, unsigned rail) {
    if (unnamed_.empty()) {
        unnamed_.push_back(static_cast<std::uint16_t>(named_.size()));
        named_.emplace_back();
    }
    const std::uint16_t index = unnamed_.back();
    unnamed_.pop_back();
    Named& named = named_[index];
    named.connection = &connection;
    named.rail = rail;
    ++named.generation;
    return std::uint32_t{named.generation} << 16 | index;
}

Status Lane::open(Connection& connection, unsigned rail, std::uint32_t sequence) noexcept {
    Link& link = connection.links[rail];
    Rail& on = rails_[rail];
    if (named_.size() > UINT16_MAX && unnamed_.empty()) {
        return Status::kNoMemory;
    }
    if (const Status status = start_rail(on); status != Status::kOk) {
        return status;
    }
    auto made = QueuePair::create(*on.port, on.completions, on.receives, settings_.pair, sequence);
    if (!made) {
        return made.status();
    }
    link.pair = std::move(*made);
    link.name = name(connection, rail);
    link.entries.assign(bounded(settings_.pair.depth, on.port->limits.max_qp_wr), {});
    link.posted = 0;
    link.retired = 0;
    link.state = Link::State::kMade;
    on.by_pair[link.pair.end().number] = link.name;
    ++links_in_use_;
    return Status::kOk;
}

Status Lane::connect(Connection& connection, unsigned rail, const PairEnd& peer) noexcept {
    Link& link = connection.links[rail];
    const Status status = link.pair.connect(peer, settings_.pair);
    if (status == Status::kOk) {
        link.state = Link::State::kConnected;
        ++rails_[rail].counters.connections;
    }
    return status;
}

/// Destroys the queue pair; the shares it had, in order.
Share* Lane::take_down(Link& link, Rail& rail) noexcept {
    link.state = Link::State::kNone;
    if (!link.pair) {
        return nullptr;
    }
    rail.by_pair.erase(link.pair.end().number);
    link.pair.destroy();
    if (Named* named = find(link.name); named != nullptr) {
        named->connection = nullptr;
        unnamed_.push_back(static_cast<std::uint16_t>(link.name & 0xffffU));
    }
    --links_in_use_;
    Share* shares = nullptr;
    Share** end = &shares;
    const Share* before = nullptr;
    for (; link.retired != link.posted; ++link.retired) {
        Share* share = link.entries[link.retired % link.entries.size()].share;
        --rail.under_way;
        if (share != before && share != link.first) {
            *end = share;
            end = &share->next;
        }
        before = share;
    }
    *end = link.first;
    link.first = nullptr;
    link.last = nullptr;
    return shares;
}

void Lane::close(Connection& connection, unsigned rail, bool broken) noexcept {
    Link& link = connection.links[rail];
    Share* shares = take_down(link, rails_[rail]);
    link.state = broken ? Link::State::kBroken : Link::State::kNone;
    while (shares != nullptr) {
        Share* share = std::exchange(shares, shares->next);
        --under_way_;
        share->done(share, Status::kCanceled);
    }
}

void Lane::fail(Connection& connection, unsigned rail, const char* why) noexcept {
    Link& link = connection.links[rail];
    if (!link.pair) {
        return;
    }
    ++rails_[rail].counters.broken;
    Share* shares = take_down(link, rails_[rail]);
    link.state = Link::State::kBroken;
    events_.broken(events_.self, connection, rail, why);
    while (shares != nullptr) {
        Share* share = std::exchange(shares, shares->next);
        --under_way_;
        share->done(share, Status::kIo);
    }
}

void Lane::pair_failed(const void* pair, const char* why) noexcept {
    for (const Named& named : named_) {
        if (named.connection != nullptr && named.connection->links[named.rail].pair.get() == pair) {
            fail(*named.connection, named.rail, why);
            return;
        }
    }
}

void Lane::start(Connection& connection, unsigned rail, Share& share) noexcept {
    Link& link = connection.links[rail];
    share.posted = 0;
    share.next = nullptr;
    if (link.state != Link::State::kConnected) {
        share.done(&share, Status::kIo);
        return;
    }
    ++under_way_;
    ++rails_[rail].counters.shares;
    (link.first != nullptr ? link.last->next : link.first) = &share;
    link.last = &share;
    pump(connection, rail);
}

/// Posts what there is room for.
void Lane::pump(Connection& connection, unsigned rail) noexcept {
    Link& link = connection.links[rail];
    Rail& on = rails_[rail];
    while (link.first != nullptr && link.posted - link.retired < link.entries.size()) {
        if (on.under_way >= settings_.sends) {
            starved_ = true;
            return;
        }
        Share& share = *link.first;
        if (!post(link, on, share)) {
            fail(connection, rail, std::strerror(errno));
            return;
        }
        if (share.posted == share.bytes) {
            link.first = share.next;
        }
    }
}

bool Lane::post(Link& link, Rail& rail, Share& share) noexcept {
    const std::uint64_t length =
        std::min<std::uint64_t>(settings_.unit, share.bytes - share.posted);
    const bool last = share.posted + length == share.bytes;
    ibv_sge part{};
    part.addr = share.local + share.posted;
    part.length = static_cast<std::uint32_t>(length);
    part.lkey = share.local_key;
    ibv_send_wr work{};
    work.wr_id = std::uint64_t{link.name} << 32 | link.posted;
    work.sg_list = &part;
    work.num_sge = length != 0 ? 1 : 0;
    work.opcode = share.read            ? IBV_WR_RDMA_READ
                  : last && share.tells ? IBV_WR_RDMA_WRITE_WITH_IMM
                                        : IBV_WR_RDMA_WRITE;
    const bool full = link.posted + 1 - link.retired == link.entries.size() ||
                      rail.under_way + 1 == settings_.sends;
    if (last || full || link.posted % kSignalEvery == kSignalEvery - 1) {
        work.send_flags = IBV_SEND_SIGNALED;
    }
    work.imm_data = htonl(share.immediate);
    work.wr.rdma.remote_addr = share.remote + share.posted;
    work.wr.rdma.rkey = share.remote_key;
    ibv_send_wr* bad = nullptr;
    if (const int error = rail.port->api->post_send(link.pair.get(), &work, &bad); error != 0) {
        errno = error;
        return false;
    }
    link.entries[link.posted % link.entries.size()] = {&share, last};
    ++link.posted;
    ++rail.under_way;
    share.posted += length;
    return true;
}

/// The work requests up to this one are complete: those of one queue pair end in order.
void Lane::retire(Connection& connection, unsigned rail, std::uint32_t sequence) noexcept {
    Link& link = connection.links[rail];
    Rail& on = rails_[rail];
    if (sequence - link.retired >= link.posted - link.retired) {
        return;  // not one of those under way
    }
    Share* ended = nullptr;
    Share** end = &ended;
    while (link.retired != sequence + 1) {
        const Link::Entry entry = link.entries[link.retired % link.entries.size()];
        ++link.retired;
        --on.under_way;
        if (entry.last) {
            *end = entry.share;
            end = &entry.share->next;
        }
    }
    *end = nullptr;
    pump(connection, rail);
    while (ended != nullptr) {
        Share* share = std::exchange(ended, ended->next);
        --under_way_;
        (share->read ? on.counters.read : on.counters.written) += share->bytes;
        share->done(share, Status::kOk);
    }
}

void Lane::handle(unsigned rail, const ibv_wc& completion) noexcept {
    Rail& on = rails_[rail];
    if (completion.wr_id == kReceive) {
        ++on.taken;
        const auto link = on.by_pair.find(completion.qp_num);
        Named* named = link != on.by_pair.end() ? find(link->second) : nullptr;
        if (named == nullptr || completion.status != IBV_WC_SUCCESS) {
            return;
        }
        if (completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
            ++on.counters.told;
            events_.told(events_.self, *named->connection, named->rail, ntohl(completion.imm_data));
        }
        return;
    }
    Named* named = find(static_cast<std::uint32_t>(completion.wr_id >> 32));
    if (named == nullptr) {
        return;  // of a link that is gone
    }
    if (completion.status == IBV_WC_SUCCESS) {
        retire(*named->connection, named->rail, static_cast<std::uint32_t>(completion.wr_id));
    } else {
        fail(*named->connection, named->rail, on.port->api->wc_status_str(completion.status));
    }
}

unsigned Lane::poll() noexcept {
    unsigned events = 0;
    for (unsigned rail = 0; rail < rails_.size(); ++rail) {
        Rail& on = rails_[rail];
        if (on.completions == nullptr) {
            continue;
        }
        ibv_wc completions[kPollAtOnce];
        const int got = on.port->api->poll_cq(on.completions, kPollAtOnce, completions);
        for (int i = 0; i < got; ++i) {
            handle(rail, completions[i]);
            ++events;
        }
        if (on.taken >= kRefill) {
            const unsigned taken = std::exchange(on.taken, 0);
            if (!post_receives(on, taken)) {
                log_once(LogLevel::kWarning, "verbs.refill",
                         "%s: receives could not be posted (%s)", on.port->name.c_str(),
                         std::strerror(errno));
                on.taken = taken;
            }
        }
    }
    if (starved_ && events != 0) {
        starved_ = false;
        for (std::size_t i = 0; i < named_.size(); ++i) {
            if (named_[i].connection != nullptr) {
                pump(*named_[i].connection, named_[i].rail);
            }
        }
    }
    return events;
}

}  // namespace beeline::mover::verbs
