// SPDX-License-Identifier: BSD-3-Clause
// Addresses come back as they were; anything else is refused.
#include "engine/address.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/guard_page.hpp"
#include "support/uniform.hpp"

namespace beeline::engine {
namespace {

std::vector<std::byte> random_bytes(std::size_t most) {
    std::vector<std::byte> bytes(*test::uniform<std::size_t>(0, most + 1));
    for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(*test::uniform(0, 256));
    }
    return bytes;
}

Address random_address() {
    Address address;
    address.node = {*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::arbitrary<std::uint64_t>(),
                    *rc::gen::arbitrary<std::uint64_t>()};
    address.shm.pid = *rc::gen::arbitrary<std::int64_t>();
    address.shm.start_time = *rc::gen::arbitrary<std::uint64_t>();
    address.shm.nonce = *rc::gen::arbitrary<std::uint64_t>();
    address.shm.descriptor = *rc::gen::arbitrary<std::int32_t>();
    address.ucx = random_bytes(300);
    return address;
}

bool same(const Address& a, const Address& b) {
    return a.node == b.node && a.shm == b.shm && a.ucx == b.ucx;
}

RC_GTEST_PROP(Address, ComesBackAsItWas, ()) {
    const Address address = random_address();
    const auto bytes = encode(address);
    test::GuardPage memory(bytes.size());
    Address back;
    RC_ASSERT(decode(memory.copy(bytes), back));
    RC_ASSERT(same(address, back));
}

RC_GTEST_PROP(Address, CutOrExtendedIsRefused, ()) {
    auto bytes = encode(random_address());
    test::GuardPage memory(bytes.size() + 1);
    Address out;
    const auto cut = *test::uniform<std::size_t>(0, bytes.size());
    RC_ASSERT(!decode(memory.copy(std::span(bytes).first(cut)), out));
    bytes.push_back(std::byte{0});
    RC_ASSERT(!decode(memory.copy(bytes), out));
}

RC_GTEST_PROP(Address, RandomBytesAreRefused, ()) {
    const auto bytes = random_bytes(400);
    test::GuardPage memory(400);
    Address out;
    RC_ASSERT(!decode(memory.copy(bytes), out));
}

// A flipped bit either breaks the frame or changes one value; it never reaches beyond the bytes.
RC_GTEST_PROP(Address, DamagedBytesAreReadWithinBounds, ()) {
    const Address address = random_address();
    auto bytes = encode(address);
    const auto bit = *test::uniform<std::size_t>(0, bytes.size() * 8);
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    test::GuardPage memory(bytes.size());
    Address out;
    if (decode(memory.copy(bytes), out)) {
        RC_ASSERT(!same(address, out));
        RC_ASSERT(encode(out) == bytes);
    }
}

}  // namespace
}  // namespace beeline::engine
