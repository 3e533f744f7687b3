// SPDX-License-Identifier: BSD-3-Clause
// Posting and completion of work requests, messages, and what happens when a card gives up.
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

constexpr std::uint64_t kReceive = std::uint64_t{1} << 63;  // in the wr_id of receives
constexpr unsigned kSignalEvery = 16;  // work requests; and the last of every share
constexpr int kPollAtOnce = 16;

}  // namespace

void Lane::end(Share& share, Status status) noexcept {
    const bool message = share.verb == Share::Verb::kSend;
    under_way_ -= message && static_cast<Parcel&>(share).quiet ? 0 : 1;
    share.done(&share, status);  // the owner may use the share of a write or read again
    if (message) {
        give_back(static_cast<Parcel&>(share));
    }
}

void Lane::end_all(Share* shares, Status status) noexcept {
    while (shares != nullptr) {
        Share* share = std::exchange(shares, shares->next);
        end(*share, status);
    }
}

void Lane::close(Connection& connection, unsigned rail, bool broken) noexcept {
    Link& link = connection.links[rail];
    Share* shares = take_down(link, rail);
    link.state = broken ? Link::State::kBroken : Link::State::kNone;
    end_all(shares, Status::kCanceled);
}

void Lane::fail(Connection& connection, unsigned rail, const char* why) noexcept {
    Link& link = connection.links[rail];
    if (link.count == 0) {
        return;
    }
    ++rails_[rail].counters.broken;
    Share* shares = take_down(link, rail);
    link.state = Link::State::kBroken;
    events_.broken(events_.self, connection, rail, why);
    end_all(shares, Status::kIo);
}

void Lane::pair_failed(const void* pair, const char* why) noexcept {
    for (const Named& named : named_) {
        if (named.connection != nullptr &&
            named.connection->links[named.rail].channels[named.channel].pair.get() == pair) {
            fail(*named.connection, named.rail, why);
            return;
        }
    }
}

void Lane::start(Connection& connection, unsigned rail, Share& share, unsigned channel) noexcept {
    Link& link = connection.links[rail];
    share.posted = 0;
    share.next = nullptr;
    const bool message = share.verb == Share::Verb::kSend;
    under_way_ += message && static_cast<Parcel&>(share).quiet ? 0 : 1;
    if (link.state != Link::State::kConnected) {
        end(share, Status::kIo);
        return;
    }
    if (message) {
        channel = 0;
    } else {
        ++rails_[rail].counters.shares;
        if (channel == 0 && link.count > 1) {
            channel = 1 + link.turn++ % (link.count - 1);
        }
    }
    Channel& by = link.channels[channel];
    (by.first != nullptr ? by.last->next : by.first) = &share;
    by.last = &share;
    pump(connection, rail, channel);
}

Parcel* Lane::take(Connection& connection, unsigned rail) noexcept {
    Rail& on = rails_[rail];
    if (!connection.connected(rail) || connection.links[rail].credits == 0 || on.spare.empty()) {
        return nullptr;
    }
    Parcel* parcel = on.spare.back();
    on.spare.pop_back();
    parcel->length = 0;
    parcel->bytes = 0;
    parcel->quiet = false;
    return parcel;
}

void Lane::give_back(Parcel& parcel) noexcept {
    if (parcel.memory != nullptr) {
        rails_[parcel.rail].spare.push_back(&parcel);
    }
}

void Lane::send(Connection& connection, unsigned rail, Parcel& parcel) noexcept {
    Link& link = connection.links[rail];
    link.credits -= link.credits != 0 ? 1 : 0;
    ++rails_[rail].counters.messages;
    start(connection, rail, parcel);
}

/// Tells the other end that it may send more, when it has had nothing from here for long.
void Lane::say_credits(Connection& connection, unsigned rail) noexcept {
    const Link& link = connection.links[rail];
    if (2 * link.owed >= link.granted) {
        ping(connection, rail);
    }
}

void Lane::ping(Connection& connection, unsigned rail) noexcept {
    Link& link = connection.links[rail];
    if (link.state != Link::State::kConnected || link.word_under_way || link.allowed == 0) {
        return;
    }
    link.word_under_way = true;
    link.word.verb = Share::Verb::kSend;
    link.word.owner = &link;
    link.word.done = [](Share* share, Status) {
        static_cast<Link*>(share->owner)->word_under_way = false;
    };
    start(connection, rail, link.word);
}

bool Lane::busy(const Connection& connection) noexcept {
    const auto has = [](const Channel& channel) { return channel.posted != channel.retired; };
    return std::any_of(connection.links.begin(), connection.links.end(), [&](const Link& link) {
        return std::any_of(link.channels.begin(), link.channels.begin() + link.count, has);
    });
}

void Lane::hurry(Connection& connection) noexcept {
    for (unsigned rail = 0; rail < rails_.size(); ++rail) {
        if (connection.links[rail].channels[0].untold) {
            ping(connection, rail);
        }
    }
}

/// Posts what there is room for.
void Lane::pump(Connection& connection, unsigned rail, unsigned channel) noexcept {
    Link& link = connection.links[rail];
    Channel& by = link.channels[channel];
    Rail& on = rails_[rail];
    while (by.first != nullptr && by.posted - by.retired < by.entries.size()) {
        if (on.under_way >= settings_.sends) {
            starved_ = true;
            return;
        }
        Share& share = *by.first;
        if (!post(link, by, on, share)) {
            fail(connection, rail, std::strerror(errno));
            return;
        }
        if (share.posted == share.bytes) {
            by.first = share.next;
        }
    }
}

bool Lane::post(Link& link, Channel& channel, Rail& rail, Share& share) noexcept {
    const bool message = share.verb == Share::Verb::kSend;
    const std::uint64_t length =
        message ? share.bytes : std::min<std::uint64_t>(settings_.unit, share.bytes - share.posted);
    const bool last = share.posted + length == share.bytes;
    ibv_sge parts[2] = {};
    ibv_send_wr work{};
    work.wr_id = std::uint64_t{channel.name} << 32 | channel.posted;
    work.sg_list = parts;
    if (message) {
        auto& parcel = static_cast<Parcel&>(share);
        work.opcode = IBV_WR_SEND_WITH_IMM;
        work.imm_data = htonl(std::exchange(link.owed, 0));
        if (parcel.length != 0) {
            parts[work.num_sge++] = {reinterpret_cast<std::uint64_t>(parcel.memory),
                                     static_cast<std::uint32_t>(parcel.length), parcel.memory_key};
        }
        if (length == 0 && parcel.length <= channel.pair.inline_bytes()) {
            work.send_flags = IBV_SEND_INLINE;
        }
    } else {
        work.opcode = share.verb == Share::Verb::kRead ? IBV_WR_RDMA_READ
                      : last && share.tells            ? IBV_WR_RDMA_WRITE_WITH_IMM
                                                       : IBV_WR_RDMA_WRITE;
        work.imm_data = htonl(share.immediate);
        work.wr.rdma.remote_addr = share.remote + share.posted;
        work.wr.rdma.rkey = share.remote_key;
    }
    if (length != 0) {
        parts[work.num_sge++] = {share.local + share.posted, static_cast<std::uint32_t>(length),
                                 share.local_key};
    }
    // Half of the parcels come back whatever others do.
    const bool quiet = message && static_cast<Parcel&>(share).quiet &&
                       2 * rail.spare.size() >= rail.parcels.size();
    const bool full = channel.posted + 1 - channel.retired == channel.entries.size() ||
                      rail.under_way + 1 == settings_.sends;
    if ((last && !quiet) || full || channel.posted % kSignalEvery == kSignalEvery - 1) {
        work.send_flags |= IBV_SEND_SIGNALED;
    }
    channel.untold = (work.send_flags & IBV_SEND_SIGNALED) == 0;
    ibv_send_wr* bad = nullptr;
    if (const int error = rail.port->api->post_send(channel.pair.get(), &work, &bad); error != 0) {
        errno = error;
        return false;
    }
    channel.entries[channel.posted % channel.entries.size()] = {&share, last};
    ++channel.posted;
    ++rail.under_way;
    share.posted += length;
    return true;
}

/// The work requests up to this one are complete: those of one queue pair end in order.
void Lane::retire(Connection& connection, unsigned rail, unsigned channel,
                  std::uint32_t sequence) noexcept {
    Channel& by = connection.links[rail].channels[channel];
    Rail& on = rails_[rail];
    if (sequence - by.retired >= by.posted - by.retired) {
        return;  // not one of those under way
    }
    Share* ended = nullptr;
    Share** end = &ended;
    while (by.retired != sequence + 1) {
        const Channel::Entry entry = by.entries[by.retired % by.entries.size()];
        ++by.retired;
        --on.under_way;
        if (entry.last) {
            *end = entry.share;
            end = &entry.share->next;
            if (entry.share->verb != Share::Verb::kSend) {
                (entry.share->verb == Share::Verb::kRead ? on.counters.read
                                                         : on.counters.written) +=
                    entry.share->bytes;
            }
        }
    }
    *end = nullptr;
    pump(connection, rail, channel);
    end_all(ended, Status::kOk);
}

/// Takes what a rail's completion queue has, and notes what it belongs to as long as that exists;
/// the number.
int Lane::collect(unsigned rail) noexcept {
    Rail& on = rails_[rail];
    ibv_wc completions[kPollAtOnce];
    const int got = on.port->api->poll_cq(on.completions, kPollAtOnce, completions);
    if (got <= 0) {
        return got;
    }
    for (int i = 0; i < got; ++i) {
        const ibv_wc& completion = completions[i];
        Came came;
        came.id = completion.wr_id;
        came.rail = static_cast<std::uint8_t>(rail);
        came.status = completion.status;
        came.receive = (completion.wr_id & kReceive) != 0;
        if (came.receive) {
            came.name = on.name_of(completion.qp_num);
            came.message = completion.opcode == IBV_WC_RECV;
            came.bytes = completion.byte_len;
            came.immediate = ntohl(completion.imm_data);
        } else {
            came.name = static_cast<std::uint32_t>(completion.wr_id >> 32);
        }
        if (const Named* named = find(came.name); named != nullptr && came.name != 0) {
            came.connection = named->connection;
        }
        backlog_.push_back(came);
    }
    return got;
}

void Lane::received(const Came& came) noexcept {
    Rail& on = rails_[came.rail];
    if (came.status != IBV_WC_SUCCESS || came.connection == nullptr) {
        return;
    }
    if (!came.message) {
        ++on.counters.told;
        events_.told(events_.self, *came.connection, came.rail, came.immediate);
        return;
    }
    Link& link = came.connection->links[came.rail];
    // What came by a link that is gone says nothing of the one in its place.
    const bool current = link.count != 0 && link.channels[0].name == came.name;
    if (current) {
        link.credits =
            std::min(link.credits + std::min(came.immediate, link.allowed), link.allowed);
        link.owed += came.bytes != 0 ? 1 : 0;
    }
    if (came.bytes != 0 && on.memory != nullptr && came.bytes <= settings_.message_bytes) {
        const std::size_t slot = came.id & ~kReceive;
        events_.message(events_.self, *came.connection, came.rail,
                        {on.memory + slot * slot_bytes(), came.bytes});
    }
    if (current && link.count != 0 && link.channels[0].name == came.name) {
        say_credits(*came.connection, came.rail);
    }
}

void Lane::handle(const Came& came) noexcept {
    if (came.receive) {
        received(came);
        Rail& on = rails_[came.rail];
        on.taken.push_back(static_cast<std::uint32_t>(came.id & ~kReceive));
        refill(on);
        return;
    }
    const Named* named = find(came.name);
    if (named == nullptr) {
        return;  // of a link that is gone
    }
    if (came.status == IBV_WC_SUCCESS) {
        retire(*named->connection, named->rail, named->channel,
               static_cast<std::uint32_t>(came.id));
    } else {
        fail(*named->connection, named->rail,
             rails_[came.rail].port->api->wc_status_str(static_cast<ibv_wc_status>(came.status)));
    }
}

unsigned Lane::poll() noexcept {
    unsigned events = 0;
    for (unsigned rail = 0; rail < rails_.size(); ++rail) {
        if (rails_[rail].completions != nullptr && collect(rail) <= 0 && next_ == backlog_.size()) {
            continue;
        }
        while (next_ != backlog_.size()) {
            const Came next = backlog_[next_++];  // handling it may add to them
            handle(next);
            ++events;
        }
        backlog_.clear();
        next_ = 0;
    }
    if (starved_ && events != 0) {
        starved_ = false;
        for (std::size_t i = 0; i < named_.size(); ++i) {
            if (named_[i].connection != nullptr) {
                pump(*named_[i].connection, named_[i].rail, named_[i].channel);
            }
        }
    }
    return events;
}

}  // namespace beeline::mover::verbs
