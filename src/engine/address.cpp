// SPDX-License-Identifier: BSD-3-Clause
// The address as a fixed head and the UCX address behind it.
#include "engine/address.hpp"

#include <cstring>

namespace beeline::engine {
namespace {

constexpr std::uint32_t kMagic = 0x4c454542;  // "BEEL"
constexpr std::uint32_t kVersion = 2;
constexpr std::uint32_t kMaxUcxBytes = 65536;

struct Head {
    std::uint32_t magic;
    std::uint32_t version;
    std::uint64_t boot;
    std::uint64_t namespaces;
    std::uint64_t rights;
    std::int64_t pid;
    std::uint64_t start_time;
    std::uint64_t nonce;
    std::int32_t descriptor;
    std::uint32_t ucx_bytes;
};
static_assert(sizeof(Head) == 64);

}  // namespace

std::vector<std::byte> encode(const Address& address) {
    const Head head{kMagic,
                    kVersion,
                    address.node.boot,
                    address.node.namespaces,
                    address.node.rights,
                    address.shm.pid,
                    address.shm.start_time,
                    address.shm.nonce,
                    address.shm.descriptor,
                    static_cast<std::uint32_t>(address.ucx.size())};
    std::vector<std::byte> out(sizeof head + address.ucx.size());
    std::memcpy(out.data(), &head, sizeof head);
    if (!address.ucx.empty()) {
        std::memcpy(out.data() + sizeof head, address.ucx.data(), address.ucx.size());
    }
    return out;
}

bool decode(std::span<const std::byte> in, Address& out) {
    Head head;
    if (in.size() < sizeof head) {
        return false;
    }
    std::memcpy(&head, in.data(), sizeof head);
    if (head.magic != kMagic || head.version != kVersion || head.ucx_bytes > kMaxUcxBytes ||
        in.size() - sizeof head != head.ucx_bytes) {
        return false;
    }
    out.node = {head.boot, head.namespaces, head.rights};
    out.shm.pid = head.pid;
    out.shm.start_time = head.start_time;
    out.shm.nonce = head.nonce;
    out.shm.descriptor = head.descriptor;
    out.ucx.assign(in.begin() + sizeof head, in.end());
    return true;
}

}  // namespace beeline::engine
