// SPDX-License-Identifier: BSD-3-Clause
// A libibverbs for tests, without any device: cards, ports, addresses, events and registrations as
// a test wants them, and every refusal on demand.
#pragma once

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "mover/verbs/api.hpp"
#include "mover/verbs/device.hpp"

namespace beeline::test {

/// A GID table's row.
struct FakeGid {
    mover::verbs::Gid gid{};
    std::uint32_t type = IBV_GID_TYPE_ROCE_V2;
};

/// ::ffff:10.0.SUBNET.HOST
inline FakeGid ipv4_gid(std::uint8_t subnet, std::uint8_t host,
                        std::uint32_t type = IBV_GID_TYPE_ROCE_V2) {
    return {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, subnet, host}, type};
}

struct FakePort {
    ibv_port_attr attributes{};
    std::vector<FakeGid> gids;
};

/// A card; made by FakeVerbs::add().
struct FakeCard {
    std::string name;
    ibv_device device{};
    ibv_context context{};
    ibv_pd pd{};
    std::vector<FakePort> ports;
    int events[2] = {-1, -1};  // a pipe: what is written comes out of ibv_get_async_event
    int opened = 0;
    int pds = 0;

    void push_event(ibv_event_type type, int port) {
        ibv_async_event event{};
        event.event_type = type;
        event.element.port_num = port;
        (void)!write(events[1], &event, sizeof event);
    }
};

/// One registration, alive or not.
struct FakeRegion {
    ibv_mr region{};
    FakeCard* card = nullptr;
    std::uint64_t address = 0;  // iova
    std::uint64_t bytes = 0;
    std::uint64_t offset = 0;  // in the dma-buf
    bool dma_buf = false;
    unsigned access = 0;
    bool alive = true;
};

/// One at a time; its table is good for its life.
class FakeVerbs {
 public:
    FakeVerbs() {
        current() = this;
        fill_devices();
        fill_memory();
    }
    ~FakeVerbs() {
        for (auto& card : cards_) {
            close(card->events[0]);
            close(card->events[1]);
        }
        current() = nullptr;
    }
    FakeVerbs(const FakeVerbs&) = delete;
    FakeVerbs& operator=(const FakeVerbs&) = delete;

    mover::verbs::Api& api() { return api_; }

    /// A RoCE card with `ports` active ports at 100 Gbit/s, each with one IPv4 address.
    FakeCard& add(const std::string& name, unsigned ports = 1) {
        auto card = std::make_unique<FakeCard>();
        card->name = name;
        card->device.node_type = IBV_NODE_CA;
        card->device.transport_type = IBV_TRANSPORT_IB;
        card->context.device = &card->device;
        card->pd.context = &card->context;
        if (pipe(card->events) == 0) {
            card->context.async_fd = card->events[0];
        }
        for (unsigned port = 0; port < ports; ++port) {
            FakePort made;
            made.attributes.state = IBV_PORT_ACTIVE;
            made.attributes.active_mtu = IBV_MTU_4096;
            made.attributes.active_speed = 32;
            made.attributes.active_width = 2;
            made.attributes.link_layer = IBV_LINK_LAYER_ETHERNET;
            made.gids.push_back(ipv4_gid(static_cast<std::uint8_t>(port),
                                         static_cast<std::uint8_t>(cards_.size() + 1)));
            card->ports.push_back(made);
        }
        cards_.push_back(std::move(card));
        return *cards_.back();
    }

    /// What registrations answer: an errno, or 0 to let them through. Asked for each; `region` is
    /// what is wanted.
    std::function<int(const FakeRegion& region)> refuse;
    /// Every registration so far.
    std::deque<FakeRegion>& regions() { return regions_; }
    std::size_t alive() const {
        std::size_t count = 0;
        for (const FakeRegion& region : regions_) {
            count += region.alive ? 1 : 0;
        }
        return count;
    }
    std::size_t most_alive() const { return most_alive_; }
    int lists() const { return lists_; }  ///< not freed
    int unacknowledged() const { return unacknowledged_; }

    static const std::string& name_of(const ibv_context* context) { return card_of(context)->name; }

 private:
    static FakeVerbs*& current() {
        static FakeVerbs* verbs = nullptr;
        return verbs;
    }
    static FakeCard* card_of(const ibv_device* device) {
        for (auto& card : current()->cards_) {
            if (&card->device == device) {
                return card.get();
            }
        }
        return nullptr;
    }
    static FakeCard* card_of(const ibv_context* context) { return card_of(context->device); }

    ibv_mr* register_memory(FakeRegion wanted) {
        if (refuse) {
            if (const int error = refuse(wanted); error != 0) {
                errno = error;
                return nullptr;
            }
        }
        wanted.region.lkey = static_cast<std::uint32_t>(regions_.size() + 1);
        wanted.region.rkey = wanted.region.lkey + 0x10000000;
        wanted.region.pd = &wanted.card->pd;
        regions_.push_back(wanted);
        most_alive_ = std::max(most_alive_, ++alive_);
        return &regions_.back().region;
    }

    void fill_devices() {
        api_.get_device_list = [](int* count) -> ibv_device** {
            FakeVerbs& self = *current();
            auto** list = new ibv_device*[self.cards_.size() + 1];
            for (std::size_t i = 0; i < self.cards_.size(); ++i) {
                list[i] = &self.cards_[i]->device;
            }
            list[self.cards_.size()] = nullptr;
            *count = static_cast<int>(self.cards_.size());
            ++self.lists_;
            return list;
        };
        api_.free_device_list = [](ibv_device** list) {
            --current()->lists_;
            delete[] list;
        };
        api_.get_device_name = [](ibv_device* device) { return card_of(device)->name.c_str(); };
        api_.open_device = [](ibv_device* device) {
            ++card_of(device)->opened;
            return &card_of(device)->context;
        };
        api_.close_device = [](ibv_context* context) {
            --card_of(context)->opened;
            return 0;
        };
        api_.alloc_pd = [](ibv_context* context) {
            ++card_of(context)->pds;
            return &card_of(context)->pd;
        };
        api_.dealloc_pd = [](ibv_pd* pd) {
            --card_of(pd->context)->pds;
            return 0;
        };
        api_.query_device = [](ibv_context* context, ibv_device_attr* attributes) {
            *attributes = {};
            attributes->phys_port_cnt = static_cast<std::uint8_t>(card_of(context)->ports.size());
            attributes->max_mr_size = UINT64_MAX;
            attributes->max_mr = 1 << 20;
            attributes->max_qp = 1000;
            return 0;
        };
        api_.query_port = [](ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) {
            FakePort& of = card_of(context)->ports[port - 1U];
            *attributes = of.attributes;
            attributes->gid_tbl_len = static_cast<int>(of.gids.size()) + 2;
            return 0;
        };
        api_.query_gid_ex = [](ibv_context* context, std::uint32_t port, std::uint32_t index,
                               ibv_gid_entry* entry, std::uint32_t) {
            const FakePort& of = card_of(context)->ports[port - 1U];
            if (index >= of.gids.size()) {
                return ENODATA;
            }
            std::memcpy(entry->gid.raw, of.gids[index].gid.data(), 16);
            entry->gid_index = index;
            entry->gid_type = of.gids[index].type;
            return 0;
        };
        api_.event_type_str = [](ibv_event_type) { return "an event"; };
        api_.get_async_event = [](ibv_context* context, ibv_async_event* event) {
            const ssize_t got = read(context->async_fd, event, sizeof *event);
            current()->unacknowledged_ += got == sizeof *event ? 1 : 0;
            return got == sizeof *event ? 0 : -1;
        };
        api_.ack_async_event = [](ibv_async_event*) { --current()->unacknowledged_; };
    }

    void fill_memory() {
        api_.reg_mr = [](ibv_pd* pd, void* address, std::size_t bytes, int access) {
            FakeRegion wanted;
            wanted.card = card_of(pd->context);
            wanted.address = reinterpret_cast<std::uint64_t>(address);
            wanted.bytes = bytes;
            wanted.access = static_cast<unsigned>(access);
            return current()->register_memory(wanted);
        };
        api_.reg_mr_iova2 = [](ibv_pd* pd, void*, std::size_t bytes, std::uint64_t iova,
                               unsigned access) {
            return current()->api_.reg_mr(pd, reinterpret_cast<void*>(iova), bytes,
                                          static_cast<int>(access));
        };
        api_.reg_dmabuf_mr = [](ibv_pd* pd, std::uint64_t offset, std::size_t bytes,
                                std::uint64_t iova, int descriptor, int access) -> ibv_mr* {
            if (lseek(descriptor, 0, SEEK_CUR) == -1) {
                return nullptr;  // EBADF
            }
            FakeRegion wanted;
            wanted.card = card_of(pd->context);
            wanted.dma_buf = true;
            wanted.offset = offset;
            wanted.address = iova;
            wanted.bytes = bytes;
            wanted.access = static_cast<unsigned>(access);
            return current()->register_memory(wanted);
        };
        api_.dereg_mr = [](ibv_mr* region) {
            FakeVerbs& self = *current();
            FakeRegion& of = self.regions_[region->lkey - 1U];
            if (!of.alive) {
                return EINVAL;
            }
            of.alive = false;
            --self.alive_;
            return 0;
        };
    }

    mover::verbs::Api api_;
    std::vector<std::unique_ptr<FakeCard>> cards_;
    std::deque<FakeRegion> regions_;
    std::size_t alive_ = 0;
    std::size_t most_alive_ = 0;
    int lists_ = 0;
    int unacknowledged_ = 0;
};

}  // namespace beeline::test
