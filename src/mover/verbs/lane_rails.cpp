// SPDX-License-Identifier: BSD-3-Clause
// What a lane makes of a card: queues, memory for messages, queue pairs; and taking them down.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/log.hpp"
#include "mover/verbs/api.hpp"
#include "mover/verbs/device.hpp"
#include "mover/verbs/lane.hpp"

namespace beeline::mover::verbs {
namespace {

constexpr std::uint64_t kReceive = std::uint64_t{1} << 63;  // in the wr_id of receives
constexpr unsigned kRefill = 32;                            // receives posted at once
constexpr std::size_t kSlotAlignment = 64;
constexpr unsigned kInlineBytes = 128;  // the messages that say something, without data
constexpr unsigned kLeastCredits = 8;

unsigned bounded(unsigned wish, int limit) noexcept {
    return limit > 0 ? std::min(wish, static_cast<unsigned>(limit)) : wish;
}

}  // namespace

Lane::Lane(std::span<const Port* const> rails, const LaneSettings& settings, LaneEvents events)
    : settings_(settings),
      events_(events),
      rails_(std::min<std::size_t>(rails.size(), kUsedRails)) {
    settings_.channels = std::clamp(settings_.channels, 2U, kChannels);
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
        stop_rail(rail);
    }
}

std::size_t Lane::slot_bytes() const noexcept {
    return (settings_.message_bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
}

std::size_t Lane::bytes_per_link() const noexcept {
    constexpr std::size_t kWorkRequest = 64;  // a send with one gather entry takes one such block
    constexpr std::size_t kMessage = kWorkRequest + kInlineBytes;
    const std::size_t entries = settings_.pair.depth * sizeof(Channel::Entry);
    return (settings_.channels - 1) * (settings_.pair.depth * kWorkRequest + entries) +
           settings_.pair.depth * kMessage + entries + sizeof(Link);
}

std::size_t Lane::bytes_per_rail() const noexcept {
    constexpr std::size_t kCompletion = 64;
    constexpr std::size_t kReceiveRequest = 32;
    return (settings_.receives + settings_.sends) * kCompletion +
           settings_.receives * kReceiveRequest +
           (settings_.receives + settings_.parcels) * slot_bytes() + sizeof(Rail);
}

std::span<std::byte> Lane::landing(unsigned rail) const noexcept {
    const Rail& on = rails_[rail];
    return on.memory != nullptr ? std::span(on.memory, settings_.receives * slot_bytes())
                                : std::span<std::byte>{};
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
        if (rail.receives != nullptr) {
            add_message_memory(rail);
            std::vector<std::uint32_t> slots(settings_.receives);
            std::iota(slots.begin(), slots.end(), 0U);
            if (post_receives(rail, slots)) {
                rail.taken.reserve(settings_.receives);
                return Status::kOk;
            }
        }
    }
    log_once(LogLevel::kWarning, "verbs.rail",
             "%s: no completion or receive queue (%s): this rail is not used", port.name.c_str(),
             std::strerror(errno));
    stop_rail(rail);
    return Status::kNoMemory;
}

/// Without it there are no messages on the rail; all else goes on.
bool Lane::add_message_memory(Rail& rail) noexcept {
    const std::size_t bytes = (settings_.receives + settings_.parcels) * slot_bytes();
    if (bytes == 0) {
        return false;
    }
    constexpr std::size_t kPage = 4096;
    void* memory = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
    if (memory == nullptr) {
        return false;
    }
    std::memset(memory, 0, bytes);
    rail.region = rail.port->api->reg_mr(rail.port->pd, memory, bytes, IBV_ACCESS_LOCAL_WRITE);
    if (rail.region == nullptr) {
        log_once(LogLevel::kInfo, "verbs.messages",
                 "%s: %zu bytes for small messages cannot be registered (%s): they go by UCX",
                 rail.port->name.c_str(), bytes, std::strerror(errno));
        std::free(memory);
        return false;
    }
    rail.memory = static_cast<std::byte*>(memory);
    rail.parcels.resize(settings_.parcels);
    std::byte* at = rail.memory + settings_.receives * slot_bytes();
    for (Parcel& parcel : rail.parcels) {
        parcel.memory = at;
        parcel.memory_key = rail.region->lkey;
        parcel.verb = Share::Verb::kSend;
        parcel.rail = static_cast<std::uint8_t>(&rail - rails_.data());
        rail.spare.push_back(&parcel);
        at += slot_bytes();
    }
    return true;
}

void Lane::stop_rail(Rail& rail) noexcept {
    if (rail.receives != nullptr) {
        rail.port->api->destroy_srq(std::exchange(rail.receives, nullptr));
    }
    if (rail.completions != nullptr) {
        rail.port->api->destroy_cq(std::exchange(rail.completions, nullptr));
    }
    if (rail.region != nullptr) {
        rail.port->api->dereg_mr(std::exchange(rail.region, nullptr));
    }
    std::free(std::exchange(rail.memory, nullptr));
}

/// An immediate takes a receive as a message does, and leaves its memory as it is.
bool Lane::post_receives(Rail& rail, std::span<const std::uint32_t> slots) noexcept {
    ibv_recv_wr batch[kRefill];
    ibv_sge parts[kRefill];
    while (!slots.empty()) {
        const std::size_t now = std::min<std::size_t>(slots.size(), kRefill);
        for (std::size_t i = 0; i < now; ++i) {
            batch[i] = {};
            batch[i].wr_id = kReceive | slots[i];
            batch[i].next = i + 1 < now ? &batch[i + 1] : nullptr;
            if (rail.memory != nullptr) {
                parts[i].addr =
                    reinterpret_cast<std::uint64_t>(rail.memory + slots[i] * slot_bytes());
                parts[i].length = static_cast<std::uint32_t>(settings_.message_bytes);
                parts[i].lkey = rail.region->lkey;
                batch[i].sg_list = &parts[i];
                batch[i].num_sge = 1;
            }
        }
        ibv_recv_wr* bad = nullptr;
        if (const int error = rail.port->api->post_srq_recv(rail.receives, batch, &bad);
            error != 0) {
            errno = error;
            return false;
        }
        slots = slots.subspan(now);
    }
    return true;
}

void Lane::refill(Rail& rail) noexcept {
    if (rail.taken.size() < kRefill) {
        return;
    }
    if (post_receives(rail, rail.taken)) {
        rail.taken.clear();
    } else {
        log_once(LogLevel::kWarning, "verbs.refill", "%s: receives could not be posted (%s)",
                 rail.port->name.c_str(), std::strerror(errno));
    }
}

Lane::Named* Lane::find(std::uint32_t name) noexcept {
    const std::uint32_t index = name & 0xffffU;
    if (index >= named_.size() || named_[index].generation != name >> 16 ||
        named_[index].connection == nullptr) {
        return nullptr;
    }
    return &named_[index];
}

/// A number for a channel that completions come back with; one of a channel that is gone finds
/// nothing.
std::uint32_t Lane::name(Connection& connection, unsigned rail, unsigned channel) {
    if (unnamed_.empty()) {
        unnamed_.push_back(static_cast<std::uint16_t>(named_.size()));
        named_.emplace_back();
    }
    const std::uint16_t index = unnamed_.back();
    unnamed_.pop_back();
    Named& named = named_[index];
    named.connection = &connection;
    named.rail = rail;
    named.channel = channel;
    ++named.generation;
    // The top bit of an id is that of receives.
    named.generation &= 0x7fffU;
    return std::uint32_t{named.generation} << 16 | index;
}

/// One more channel of a link; false, logged, when the card gives none.
bool Lane::open_channel(Connection& connection, unsigned rail, std::uint32_t sequence) noexcept {
    Link& link = connection.links[rail];
    Rail& on = rails_[rail];
    if (named_.size() > UINT16_MAX && unnamed_.empty()) {
        return false;
    }
    PairSettings settings = settings_.pair;
    if (link.count == 0) {
        settings.parts = 2;
        settings.inline_bytes = kInlineBytes;
    }
    auto made = QueuePair::create(*on.port, on.completions, on.receives, settings, sequence);
    if (!made) {
        return false;
    }
    Channel& channel = link.channels[link.count];
    channel.pair = std::move(*made);
    channel.name = name(connection, rail, link.count);
    channel.entries.assign(bounded(settings_.pair.depth, on.port->limits.max_qp_wr), {});
    channel.posted = 0;
    channel.retired = 0;
    channel.untold = false;
    on.by_pair[channel.pair.end().number] = channel.name;
    ++link.count;
    ++links_in_use_;
    return true;
}

Status Lane::open(Connection& connection, unsigned rail, std::uint32_t sequence) noexcept {
    Link& link = connection.links[rail];
    Rail& on = rails_[rail];
    if (const Status status = start_rail(on); status != Status::kOk) {
        return status;
    }
    link.count = 0;
    while (link.count < settings_.channels && open_channel(connection, rail, sequence)) {
    }
    if (link.count < 2) {
        take_down(link, rail);
        return Status::kNoMemory;
    }
    // What all connections may send at a time comes near to what can be received; a card that has
    // to wait all the same tries again.
    ++on.links;
    link.granted = on.memory == nullptr
                       ? 0
                       : std::min(std::max(settings_.receives / 2 / on.links, kLeastCredits),
                                  settings_.credits);
    link.credits = 0;
    link.allowed = 0;
    link.owed = 0;
    link.turn = 0;
    link.word_under_way = false;
    link.state = Link::State::kMade;
    return Status::kOk;
}

Status Lane::connect(Connection& connection, unsigned rail, std::span<const PairEnd> peer,
                     unsigned credits) noexcept {
    Link& link = connection.links[rail];
    Rail& on = rails_[rail];
    const auto both = static_cast<unsigned>(std::min<std::size_t>(link.count, peer.size()));
    for (; link.count > std::max(both, 1U); --link.count) {
        Share* none = nullptr;
        take_down(link.channels[link.count - 1], on, &none);
    }
    for (unsigned i = 0; i < both; ++i) {
        const Status status = link.channels[i].pair.connect(peer[i], settings_.pair);
        if (status != Status::kOk) {
            return status;
        }
    }
    link.allowed = on.memory != nullptr ? credits : 0;
    link.credits = link.allowed;
    link.state = Link::State::kConnected;
    ++on.counters.connections;
    return Status::kOk;
}

/// Destroys a queue pair and appends the shares it had, in order; the new end of the list.
Share** Lane::take_down(Channel& channel, Rail& rail, Share** end) noexcept {
    if (!channel.pair) {
        return end;
    }
    rail.by_pair.erase(channel.pair.end().number);
    rail.last_pair = {};
    channel.pair.destroy();
    if (Named* named = find(channel.name); named != nullptr) {
        named->connection = nullptr;
        unnamed_.push_back(static_cast<std::uint16_t>(channel.name & 0xffffU));
    }
    --links_in_use_;
    const Share* before = nullptr;
    for (; channel.retired != channel.posted; ++channel.retired) {
        Share* share = channel.entries[channel.retired % channel.entries.size()].share;
        --rail.under_way;
        if (share != before && share != channel.first) {
            *end = share;
            end = &share->next;
        }
        before = share;
    }
    *end = channel.first;
    while (*end != nullptr) {
        end = &(*end)->next;
    }
    channel.first = nullptr;
    channel.last = nullptr;
    return end;
}

/// Destroys the queue pairs; the shares they had. What has come by them waits to be handled.
Share* Lane::take_down(Link& link, unsigned rail) noexcept {
    Rail& on = rails_[rail];
    if (link.state == Link::State::kConnected) {
        while (collect(rail) > 0) {
        }
    }
    if (link.state == Link::State::kMade || link.state == Link::State::kConnected) {
        --on.links;
    }
    link.state = Link::State::kNone;
    Share* shares = nullptr;
    Share** end = &shares;
    for (Channel& channel : link.channels) {
        end = take_down(channel, on, end);
        *end = nullptr;
    }
    link.count = 0;
    return shares;
}

}  // namespace beeline::mover::verbs
