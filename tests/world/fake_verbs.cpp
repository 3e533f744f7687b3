// SPDX-License-Identifier: BSD-3-Clause
// The queues of the cards in software.
#include "tests/world/fake_verbs.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "memory/pointer.hpp"

namespace beeline::world {
namespace {

struct Card {
    ibv_device device{};
    std::string name;
    FakeCards::Fault fault;
    std::uint64_t requests = 0;
    std::uint64_t signalled = 0;
    std::uint64_t bytes = 0;
    std::uint64_t messages = 0;
    std::uint64_t signalled_messages = 0;
    std::vector<ibv_async_event> events;
};

struct Context {
    ibv_context verbs{};
    Card* card = nullptr;
    std::size_t told = 0;  // events
};

struct Completions {
    ibv_cq verbs{};
    std::deque<ibv_wc> entries;
    std::size_t room = 0;
};

struct Receive {
    std::uint64_t id = 0;
    ibv_sge part{};
};

struct Receives {
    ibv_srq verbs{};
    std::deque<Receive> entries;
    std::size_t room = 0;
};

struct Work {
    ibv_send_wr request{};
    std::vector<ibv_sge> parts;
    std::vector<unsigned char> inlined;  // taken at the post
    bool counted = false;

    std::uint64_t bytes() const {
        std::uint64_t sum = inlined.size();
        for (const ibv_sge& part : parts) {
            sum += part.length;
        }
        return sum;
    }
};

struct Pair {
    ibv_qp verbs{};
    Card* card = nullptr;
    Completions* completions = nullptr;
    Receives* receives = nullptr;
    std::uint32_t peer = 0;
    ibv_qp_state state = IBV_QPS_RESET;
    std::size_t room = 0;
    std::size_t parts = 0;
    std::size_t inline_bytes = 0;
    std::deque<Work> work;
    std::uint64_t requests = 0;  // writes and reads
};

struct Region {
    ibv_mr verbs{};
    Card* card = nullptr;
};

struct World {
    std::vector<std::unique_ptr<Card>> cards;
    std::map<std::uint32_t, Pair*> pairs;
    std::map<std::uint32_t, Region*> regions;
    std::size_t queues = 0;
    std::uint32_t next_pair = 100;
    std::uint32_t next_key = 7000;
    std::uint64_t registrations = 0;
    std::size_t revoked = 0;
    void (*copy)(void* to, const void* from, std::size_t bytes) = nullptr;
};
World world;

template <class T, class V>
T& outer(V* verbs) {  // each of ours starts with the structure that verbs know
    return *reinterpret_cast<T*>(verbs);
}

void complete(Pair& pair, const Work& work, ibv_wc_status status) {
    if (status == IBV_WC_SUCCESS && (work.request.send_flags & IBV_SEND_SIGNALED) == 0) {
        return;
    }
    ibv_wc entry{};
    entry.wr_id = work.request.wr_id;
    entry.status = status;
    entry.qp_num = pair.verbs.qp_num;
    entry.opcode = work.request.opcode == IBV_WR_RDMA_READ       ? IBV_WC_RDMA_READ
                   : work.request.opcode == IBV_WR_SEND_WITH_IMM ? IBV_WC_SEND
                                                                 : IBV_WC_RDMA_WRITE;
    pair.completions->entries.push_back(entry);
}

void end_in_error(Pair& pair, ibv_wc_status status) {
    pair.state = IBV_QPS_ERR;
    for (; !pair.work.empty(); pair.work.pop_front()) {
        complete(pair, pair.work.front(), status);
        status = IBV_WC_WR_FLUSH_ERR;
    }
}

bool allowed(std::uint32_t key, const Card* card, std::uint64_t address, std::uint64_t bytes) {
    const auto found = world.regions.find(key);
    if (found == world.regions.end() || found->second->card != card) {
        return false;
    }
    const auto base = reinterpret_cast<std::uint64_t>(found->second->verbs.addr);
    return address >= base && address - base + bytes <= found->second->verbs.length;
}

void move(Card& card, std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
    auto* target = reinterpret_cast<unsigned char*>(to);
    auto* source = reinterpret_cast<const unsigned char*>(from);
    if (card.fault.garbles && bytes != 0) {
        std::vector<unsigned char> wrong(bytes);
        world.copy(wrong.data(), source, bytes);
        wrong[bytes / 2] ^= 0x10;
        world.copy(target, wrong.data(), bytes);
        return;
    }
    world.copy(target, source, bytes);
}

/// Takes a receive of the other end's, for what is told or sent.
Receive take_receive(Pair& peer, const Work& work, ibv_wc_opcode opcode) {
    const Receive receive = peer.receives->entries.front();
    peer.receives->entries.pop_front();
    ibv_wc entry{};
    entry.wr_id = receive.id;
    entry.status = IBV_WC_SUCCESS;
    entry.opcode = opcode;
    entry.imm_data = work.request.imm_data;
    entry.wc_flags = IBV_WC_WITH_IMM;
    entry.byte_len = static_cast<std::uint32_t>(work.bytes());
    entry.qp_num = peer.verbs.qp_num;
    peer.completions->entries.push_back(entry);
    return receive;
}

/// A message into the memory of a receive; false when that is too small.
bool deliver(Card& card, Pair& peer, const Work& work) {
    const Receive receive = take_receive(peer, work, IBV_WC_RECV);
    if (work.bytes() > receive.part.length ||
        (work.bytes() != 0 &&
         !allowed(receive.part.lkey, peer.card, receive.part.addr, work.bytes()))) {
        peer.completions->entries.back().status = IBV_WC_LOC_LEN_ERR;
        return false;
    }
    std::uint64_t to = receive.part.addr;
    move(card, to, reinterpret_cast<std::uint64_t>(work.inlined.data()), work.inlined.size());
    to += work.inlined.size();
    for (const ibv_sge& part : work.parts) {
        move(card, to, part.addr, part.length);
        to += part.length;
    }
    return true;
}

/// The first work request of a pair; false when it has to wait.
bool run_one(Pair& pair) {
    Card& card = *pair.card;
    Work& work = pair.work.front();
    if (card.fault.hangs || card.fault.held) {
        return false;
    }
    if (!work.counted) {
        work.counted = true;
        if (work.request.opcode == IBV_WR_SEND_WITH_IMM) {
            ++card.messages;
            card.signalled_messages += (work.request.send_flags & IBV_SEND_SIGNALED) != 0;
        } else {
            ++card.requests;
            ++pair.requests;
            card.signalled += (work.request.send_flags & IBV_SEND_SIGNALED) != 0;
        }
    }
    if (card.fault.cuts_at != 0 && card.requests >= card.fault.cuts_at) {
        card.fault.cut = true;
    }
    const auto other = world.pairs.find(pair.peer);
    if (card.fault.cut || other == world.pairs.end() || other->second->peer != pair.verbs.qp_num ||
        (other->second->state != IBV_QPS_RTR && other->second->state != IBV_QPS_RTS)) {
        end_in_error(pair, IBV_WC_RETRY_EXC_ERR);
        return true;
    }
    Pair& peer = *other->second;
    for (const ibv_sge& part : work.parts) {
        if (!allowed(part.lkey, &card, part.addr, part.length) && part.length != 0) {
            end_in_error(pair, IBV_WC_LOC_PROT_ERR);
            return true;
        }
    }
    const bool sends = work.request.opcode == IBV_WR_SEND_WITH_IMM;
    const ibv_sge part = sends || work.parts.empty() ? ibv_sge{} : work.parts.front();
    const std::uint64_t remote = work.request.wr.rdma.remote_addr;
    if (!allowed(work.request.wr.rdma.rkey, peer.card, remote, part.length) && part.length != 0) {
        end_in_error(pair, IBV_WC_REM_ACCESS_ERR);
        end_in_error(peer, IBV_WC_WR_FLUSH_ERR);
        return true;
    }
    const bool tells = work.request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    if ((tells || sends) && peer.receives->entries.empty()) {
        return false;  // tried again, as with rnr_retry 7
    }
    if (sends) {
        if (!deliver(card, peer, work)) {
            end_in_error(pair, IBV_WC_REM_INV_REQ_ERR);
            end_in_error(peer, IBV_WC_WR_FLUSH_ERR);
            return true;
        }
    } else if (work.request.opcode == IBV_WR_RDMA_READ) {
        card.bytes += part.length;
        move(card, part.addr, remote, part.length);
    } else {
        card.bytes += part.length;
        move(card, remote, part.addr, part.length);
    }
    if (tells) {
        take_receive(peer, work, IBV_WC_RECV_RDMA_WITH_IMM);
    }
    if (sends ? card.fault.fails_at_message == card.messages
              : card.fault.fails_at == card.requests) {
        end_in_error(pair, IBV_WC_RETRY_EXC_ERR);
        return true;
    }
    complete(pair, work, IBV_WC_SUCCESS);
    pair.work.pop_front();
    return true;
}

ibv_device** get_device_list(int* count) {
    auto** list = new ibv_device* [world.cards.size() + 1] {};
    for (std::size_t i = 0; i < world.cards.size(); ++i) {
        list[i] = &world.cards[i]->device;
    }
    if (count != nullptr) {
        *count = static_cast<int>(world.cards.size());
    }
    return list;
}

int query_device(ibv_context*, ibv_device_attr* out) {
    *out = {};
    out->max_mr_size = UINT64_MAX;
    out->max_mr = 1000;
    out->max_qp = 100;
    out->max_qp_wr = 64;
    out->max_sge = 4;
    out->max_cqe = 100000;
    out->max_srq = 10;
    out->max_srq_wr = 4096;
    out->max_srq_sge = 1;
    out->max_qp_rd_atom = 16;
    out->max_qp_init_rd_atom = 16;
    out->phys_port_cnt = 1;
    return 0;
}

int query_port(ibv_context*, std::uint8_t, ibv_port_attr* out) {
    *out = {};
    out->state = IBV_PORT_ACTIVE;
    out->link_layer = IBV_LINK_LAYER_ETHERNET;
    out->active_mtu = IBV_MTU_1024;
    out->max_mtu = IBV_MTU_4096;
    out->gid_tbl_len = 1;
    out->active_speed = 32;
    out->active_width = 2;
    return 0;
}

int query_gid(ibv_context* context, std::uint8_t, int index, ibv_gid* gid) {
    *gid = {};
    if (index != 0) {
        return -1;
    }
    gid->raw[10] = gid->raw[11] = 0xff;
    gid->raw[12] = 10;
    gid->raw[15] = static_cast<std::uint8_t>(outer<Context>(context).card->name.back() - '0' + 1);
    return 0;
}

int query_gid_ex(ibv_context* context, std::uint32_t, std::uint32_t index, ibv_gid_entry* entry,
                 std::uint32_t) {
    *entry = {};
    if (index != 0) {
        return ENODATA;
    }
    entry->gid_index = index;
    entry->port_num = 1;
    entry->gid_type = IBV_GID_TYPE_ROCE_V2;
    query_gid(context, 1, 0, &entry->gid);
    return 0;
}

ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t bytes, int) {
    Card* card = outer<Context>(pd->context).card;
    if (card->fault.takes_no_device && memory::classify(address).on_device()) {
        errno = EFAULT;
        return nullptr;
    }
    if (bytes > card->fault.most_registered && !memory::classify(address).on_device()) {
        errno = ENOMEM;
        return nullptr;
    }
    auto* region = new Region;
    region->card = card;
    region->verbs.context = pd->context;
    region->verbs.pd = pd;
    region->verbs.addr = address;
    region->verbs.length = bytes;
    region->verbs.lkey = region->verbs.rkey = ++world.next_key;
    world.regions[region->verbs.lkey] = region;
    ++world.registrations;
    return &region->verbs;
}

int dereg_mr(ibv_mr* verbs) {
    world.revoked -= 1 - world.regions.erase(verbs->lkey);
    delete &outer<Region>(verbs);
    return 0;
}

ibv_cq* create_cq(ibv_context* context, int room, void*, ibv_comp_channel*, int) {
    auto* queue = new Completions;
    queue->verbs.context = context;
    queue->verbs.cqe = room;
    queue->room = static_cast<std::size_t>(room);
    ++world.queues;
    return &queue->verbs;
}

int poll_cq(ibv_cq* verbs, int most, ibv_wc* out) {
    FakeCards::run();
    auto& queue = outer<Completions>(verbs);
    if (queue.entries.size() > queue.room) {
        return -1;  // overrun
    }
    int got = 0;
    for (; got < most && !queue.entries.empty(); ++got) {
        out[got] = queue.entries.front();
        queue.entries.pop_front();
    }
    return got;
}

ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* wish) {
    Card* card = outer<Context>(pd->context).card;
    if (card->fault.refuses) {
        errno = ENOMEM;
        return nullptr;
    }
    auto* pair = new Pair;
    pair->card = card;
    pair->completions = &outer<Completions>(wish->send_cq);
    pair->receives = &outer<Receives>(wish->srq);
    pair->room = wish->cap.max_send_wr;
    pair->parts = wish->cap.max_send_sge;
    pair->inline_bytes = wish->cap.max_inline_data;
    pair->verbs.context = pd->context;
    pair->verbs.qp_num = ++world.next_pair;
    world.pairs[pair->verbs.qp_num] = pair;
    return &pair->verbs;
}

int modify_qp(ibv_qp* verbs, ibv_qp_attr* to, int) {
    auto& pair = outer<Pair>(verbs);
    const bool allowed = to->qp_state == IBV_QPS_INIT  ? pair.state == IBV_QPS_RESET
                         : to->qp_state == IBV_QPS_RTR ? pair.state == IBV_QPS_INIT
                         : to->qp_state == IBV_QPS_RTS ? pair.state == IBV_QPS_RTR
                                                       : to->qp_state == IBV_QPS_ERR;
    if (!allowed) {
        return EINVAL;
    }
    if (to->qp_state == IBV_QPS_RTR && pair.card->fault.unreachable) {
        return ETIMEDOUT;
    }
    pair.state = to->qp_state;
    if (to->qp_state == IBV_QPS_RTR) {
        pair.peer = to->dest_qp_num;
    }
    return 0;
}

int destroy_qp(ibv_qp* verbs) {
    auto& pair = outer<Pair>(verbs);
    std::erase_if(pair.completions->entries,
                  [&](const ibv_wc& entry) { return entry.qp_num == verbs->qp_num; });
    world.pairs.erase(verbs->qp_num);
    delete &pair;
    return 0;
}

int post_send(ibv_qp* verbs, ibv_send_wr* first, ibv_send_wr** bad) {
    auto& pair = outer<Pair>(verbs);
    for (; first != nullptr; first = first->next) {
        if (pair.work.size() == pair.room ||
            (pair.state != IBV_QPS_RTS && pair.state != IBV_QPS_ERR)) {
            *bad = first;
            return ENOMEM;
        }
        Work work;
        work.request = *first;
        for (int i = 0; i < first->num_sge; ++i) {
            const ibv_sge& part = first->sg_list[i];
            if ((first->send_flags & IBV_SEND_INLINE) != 0) {
                const auto* bytes = reinterpret_cast<const unsigned char*>(part.addr);
                work.inlined.insert(work.inlined.end(), bytes, bytes + part.length);
            } else {
                work.parts.push_back(part);
            }
        }
        if (work.parts.size() > pair.parts || work.inlined.size() > pair.inline_bytes) {
            *bad = first;
            return EINVAL;
        }
        pair.work.push_back(work);
    }
    if (pair.state == IBV_QPS_ERR) {
        end_in_error(pair, IBV_WC_WR_FLUSH_ERR);
    }
    return 0;
}

int post_srq_recv(ibv_srq* verbs, ibv_recv_wr* first, ibv_recv_wr** bad) {
    auto& queue = outer<Receives>(verbs);
    for (; first != nullptr; first = first->next) {
        if (queue.entries.size() == queue.room) {
            *bad = first;
            return ENOMEM;
        }
        queue.entries.push_back({first->wr_id, first->num_sge != 0 ? *first->sg_list : ibv_sge{}});
    }
    return 0;
}

mover::verbs::Api make_api() {
    mover::verbs::Api api;
    api.get_device_list = get_device_list;
    api.free_device_list = [](ibv_device** list) { delete[] list; };
    api.get_device_name = [](ibv_device* device) -> const char* { return device->name; };
    api.open_device = [](ibv_device* device) {
        auto* context = new Context;
        context->card = reinterpret_cast<Card*>(device);
        context->verbs.device = device;
        context->verbs.async_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return &context->verbs;
    };
    api.close_device = [](ibv_context* context) {
        close(context->async_fd);
        delete &outer<Context>(context);
        return 0;
    };
    api.query_device = query_device;
    api.query_port = query_port;
    api.query_gid = query_gid;
    api.query_gid_ex = query_gid_ex;
    api.get_async_event = [](ibv_context* verbs, ibv_async_event* event) {
        auto& context = outer<Context>(verbs);
        if (context.told == context.card->events.size()) {
            errno = EAGAIN;
            return -1;
        }
        *event = context.card->events[context.told++];
        return 0;
    };
    api.ack_async_event = [](ibv_async_event*) {};
    api.event_type_str = [](ibv_event_type) -> const char* { return "event"; };
    api.wc_status_str = [](ibv_wc_status status) -> const char* {
        return status == IBV_WC_RETRY_EXC_ERR    ? "transport retry counter exceeded"
               : status == IBV_WC_REM_ACCESS_ERR ? "remote access error"
                                                 : "another status";
    };
    api.alloc_pd = [](ibv_context* context) {
        auto* pd = new ibv_pd{};
        pd->context = context;
        return pd;
    };
    api.dealloc_pd = [](ibv_pd* pd) {
        delete pd;
        return 0;
    };
    api.reg_mr = reg_mr;
    api.dereg_mr = dereg_mr;
    api.create_cq = create_cq;
    api.destroy_cq = [](ibv_cq* queue) {
        delete &outer<Completions>(queue);
        --world.queues;
        return 0;
    };
    api.create_srq = [](ibv_pd*, ibv_srq_init_attr* wish) {
        auto* queue = new Receives;
        queue->room = wish->attr.max_wr;
        ++world.queues;
        return &queue->verbs;
    };
    api.destroy_srq = [](ibv_srq* queue) {
        delete &outer<Receives>(queue);
        --world.queues;
        return 0;
    };
    api.create_qp = create_qp;
    api.modify_qp = modify_qp;
    api.destroy_qp = destroy_qp;
    api.post_send = post_send;
    api.post_srq_recv = post_srq_recv;
    api.poll_cq = poll_cq;
    return api;
}

}  // namespace

void FakeCards::reset(unsigned count) {
    world = {};
    world.copy = [](void* to, const void* from, std::size_t bytes) {
        std::memcpy(to, from, bytes);
    };
    for (unsigned i = 0; i < count; ++i) {
        auto card = std::make_unique<Card>();
        card->name = "fake" + std::to_string(i);
        std::strcpy(card->device.name, card->name.c_str());
        card->device.transport_type = IBV_TRANSPORT_IB;
        card->device.node_type = IBV_NODE_CA;
        world.cards.push_back(std::move(card));
    }
}

const mover::verbs::Api& FakeCards::api() {
    static const mover::verbs::Api made = make_api();
    return made;
}

void FakeCards::set_copy(void (*copy)(void* to, const void* from, std::size_t bytes)) {
    world.copy = copy;
}

FakeCards::Fault& FakeCards::fault(unsigned card) {
    return world.cards[card]->fault;
}

void FakeCards::happens(unsigned card, ibv_event_type type, int port) {
    ibv_async_event event{};
    event.event_type = type;
    event.element.port_num = port;
    world.cards[card]->events.push_back(event);
}

void FakeCards::revoke(const void* address) {
    const auto at = reinterpret_cast<std::uint64_t>(address);
    world.revoked += std::erase_if(world.regions, [&](const auto& entry) {
        return allowed(entry.first, entry.second->card, at, 1);
    });
}

void FakeCards::run() {
    // Each pair once: the order among pairs is nobody's to rely on.
    for (const auto& [number, pair] : world.pairs) {
        while (!pair->work.empty() && run_one(*pair)) {
        }
    }
}

std::uint64_t FakeCards::requests(unsigned card) {
    return world.cards[card]->requests;
}
std::uint64_t FakeCards::signalled(unsigned card) {
    return world.cards[card]->signalled;
}
std::uint64_t FakeCards::bytes(unsigned card) {
    return world.cards[card]->bytes;
}
std::uint64_t FakeCards::messages(unsigned card) {
    return world.cards[card]->messages;
}
std::uint64_t FakeCards::signalled_messages(unsigned card) {
    return world.cards[card]->signalled_messages;
}
std::uint64_t FakeCards::registrations() {
    return world.registrations;
}
std::size_t FakeCards::pairs() {
    return world.pairs.size();
}
std::size_t FakeCards::pairs_at_work(std::uint64_t requests) {
    return static_cast<std::size_t>(
        std::count_if(world.pairs.begin(), world.pairs.end(),
                      [&](const auto& one) { return one.second->requests >= requests; }));
}
std::size_t FakeCards::regions() {
    return world.regions.size() + world.revoked;
}
std::size_t FakeCards::queues() {
    return world.queues;
}

}  // namespace beeline::world
