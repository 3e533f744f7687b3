// SPDX-License-Identifier: BSD-3-Clause
// Segments are opened by those who know them, and refused when they are not what was named.
#include "mover/shm/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace beeline::mover::shm {
namespace {

constexpr Geometry kGeometry{16, 4, 256, 2, 4096, 3, 8192};

TEST(Segment, TwoMappingsShareTheirBytes) {
    auto own = Segment::create(kGeometry);
    ASSERT_TRUE(own.ok());
    auto seen = Segment::open(own->location());
    ASSERT_TRUE(seen.ok());
    EXPECT_EQ(seen->geometry(), kGeometry);
    EXPECT_NE(&seen->header(), &own->header());
    std::memset(own->slot_body(3), 0x5A, kGeometry.slot_bytes);
    EXPECT_EQ(std::memcmp(seen->slot_body(3), own->slot_body(3), kGeometry.slot_bytes), 0);
    std::memset(seen->chunk(1), 0x3C, kGeometry.chunk_bytes);
    EXPECT_EQ(own->chunk(1)[kGeometry.chunk_bytes - 1], std::byte{0x3C});
    EXPECT_EQ(seen->payload().size(), own->payload().size());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(own->payload().data()) % 4096, 0U);
    std::memset(seen->block_body(2), 0x77, kGeometry.block_bytes);
    EXPECT_EQ(own->block_body(2)[kGeometry.block_bytes - 1], std::byte{0x77});
    EXPECT_EQ(own->chunk(1)[kGeometry.chunk_bytes - 1], std::byte{0x3C});
    EXPECT_EQ(own->chunk(1) + kGeometry.chunk_bytes, own->payload().data() + own->payload().size());
}

TEST(Segment, AnotherProcessOpensIt) {
    auto own = Segment::create(kGeometry);
    ASSERT_TRUE(own.ok());
    own->chunk(0)[0] = std::byte{7};
    const pid_t child = fork();
    if (child == 0) {
        auto seen = Segment::open(own->location());
        if (!seen || seen->chunk(0)[0] != std::byte{7}) {
            _exit(1);
        }
        seen->chunk(0)[0] = std::byte{8};
        _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(own->chunk(0)[0], std::byte{8});
}

TEST(Segment, NoncesDiffer) {
    auto a = Segment::create(kGeometry);
    auto b = Segment::create(kGeometry);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_NE(a->location().nonce, b->location().nonce);
}

TEST(Segment, WrongNameIsRefused) {
    auto own = Segment::create(kGeometry);
    ASSERT_TRUE(own.ok());
    const auto status_of = [&](auto change) {
        Location where = own->location();
        change(where);
        auto opened = Segment::open(where);
        return opened ? Status::kOk : opened.status();
    };
    EXPECT_EQ(status_of([](Location&) {}), Status::kOk);
    EXPECT_EQ(status_of([](Location& where) { ++where.nonce; }), Status::kInvalid);
    EXPECT_EQ(status_of([](Location& where) { ++where.start_time; }), Status::kUnreachable);
    EXPECT_EQ(status_of([](Location& where) { where.descriptor = -1; }), Status::kUnreachable);
    EXPECT_EQ(status_of([](Location& where) { where.descriptor = 1 << 20; }), Status::kUnreachable);
    EXPECT_EQ(status_of([](Location& where) { where.pid = 0; }), Status::kUnreachable);
    EXPECT_EQ(status_of([](Location& where) { where.pid = -1; }), Status::kUnreachable);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    EXPECT_EQ(status_of([&](Location& where) { where.descriptor = ends[0]; }), Status::kInvalid);
    close(ends[0]);
    close(ends[1]);
}

TEST(Segment, GoneWithItsProcess) {
    auto own = Segment::create(kGeometry);
    ASSERT_TRUE(own.ok());
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        auto made = Segment::create(kGeometry);
        const Location where = made->location();
        [[maybe_unused]] const auto written = write(ends[1], &where, sizeof where);
        pause();
        _exit(0);
    }
    Location where;
    ASSERT_EQ(read(ends[0], &where, sizeof where), static_cast<ssize_t>(sizeof where));
    EXPECT_TRUE(Segment::open(where).ok());
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_EQ(Segment::open(where).status(), Status::kUnreachable);
    close(ends[0]);
    close(ends[1]);
}

// A peer's header is in memory that the peer can write: what it claims is checked.
TEST(Segment, HostileGeometryIsRefused) {
    auto own = Segment::create(kGeometry);
    ASSERT_TRUE(own.ok());
    const auto status_with = [&](Geometry claimed) {
        own->header().geometry = claimed;
        auto opened = Segment::open(own->location());
        own->header().geometry = kGeometry;
        return opened ? Status::kOk : opened.status();
    };
    EXPECT_EQ(status_with(kGeometry), Status::kOk);
    EXPECT_EQ(status_with({0, 4, 256, 2, 4096, 3, 8192}), Status::kInvalid);
    EXPECT_EQ(status_with({17, 4, 256, 2, 4096, 3, 8192}), Status::kInvalid);
    EXPECT_EQ(status_with({64, 4, 256, 2, 4096, 3, 8192}), Status::kInvalid)
        << "larger than the file";
    EXPECT_EQ(status_with({16, 4, 256, 1, 4096, 3, 8192}), Status::kInvalid)
        << "smaller than the file";
    EXPECT_EQ(status_with({1U << 31, 4, 256, 2, 4096, 3, 8192}), Status::kInvalid);
    EXPECT_EQ(status_with({16, UINT32_MAX, 256, 2, 4096, 3, 8192}), Status::kInvalid);
    EXPECT_EQ(status_with({16, 4, 255, 2, 4096, 3, 8192}), Status::kInvalid);
    EXPECT_EQ(status_with({16, 4, UINT32_MAX - 63, 2, 4096, 3, 8192}), Status::kInvalid);
    EXPECT_EQ(status_with({16, 4, 256, kMaxChunks + 1, 4096, 3, 8192}), Status::kInvalid);
    EXPECT_EQ(status_with({16, 4, 256, 2, 4095, 3, 8192}), Status::kInvalid);
    EXPECT_EQ(status_with({16, 4, 256, 2, UINT32_MAX - 4095, 3, 8192}), Status::kInvalid);
    EXPECT_EQ(status_with({16, 4, 256, 2, 4096, 2, 8192}), Status::kInvalid);
    EXPECT_EQ(status_with({16, 4, 256, 2, 4096, kMaxBlocks + 1, 8192}), Status::kInvalid);
    EXPECT_EQ(status_with({16, 4, 256, 2, 4096, 3, 8191}), Status::kInvalid);
    EXPECT_EQ(status_with({16, 4, 256, 2, 4096, 3, UINT32_MAX - 63}), Status::kInvalid);
    own->header().magic ^= 1;
    EXPECT_EQ(Segment::open(own->location()).status(), Status::kInvalid);
}

/// How opening a copy of the first `bytes` of a segment ends.
Status copy_opens(const Segment& own, off_t bytes, int seals) {
    std::vector<char> content(static_cast<std::size_t>(bytes));
    const int copy = memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(pread(own.location().descriptor, content.data(), content.size(), 0), bytes);
    EXPECT_EQ(pwrite(copy, content.data(), content.size(), 0), bytes);
    EXPECT_EQ(fcntl(copy, F_ADD_SEALS, seals), 0);
    Location where = own.location();
    where.descriptor = copy;
    auto opened = Segment::open(where);
    const Status status = opened ? Status::kOk : opened.status();
    close(copy);
    return status;
}

TEST(Segment, ShortFileIsRefused) {
    auto own = Segment::create(kGeometry);
    ASSERT_TRUE(own.ok());
    const off_t size = lseek(own->location().descriptor, 0, SEEK_END);
    constexpr int kSealed = F_SEAL_SHRINK | F_SEAL_GROW;
    EXPECT_EQ(copy_opens(*own, size, kSealed), Status::kOk);
    EXPECT_EQ(copy_opens(*own, size - 4096, kSealed), Status::kInvalid);
    EXPECT_EQ(copy_opens(*own, 64, kSealed), Status::kInvalid);
    EXPECT_EQ(copy_opens(*own, size, F_SEAL_GROW), Status::kInvalid);
    EXPECT_EQ(copy_opens(*own, size, F_SEAL_SHRINK), Status::kInvalid);
}

TEST(Segment, MovesAndSwaps) {
    auto made = Segment::create(kGeometry);
    ASSERT_TRUE(made.ok());
    const Location where = made->location();
    Segment moved = std::move(*made);
    EXPECT_FALSE(*made);
    EXPECT_TRUE(moved);
    EXPECT_EQ(moved.location(), where);
    Segment other;
    other = std::move(moved);
    EXPECT_EQ(other.location(), where);
    EXPECT_TRUE(Segment::open(where).ok());
    other = Segment();
    moved = Segment();
}

// Who maps a segment would be ended by SIGBUS if somebody made it shorter.
TEST(Segment, SizeIsSealed) {
    auto own = Segment::create(kGeometry);
    ASSERT_TRUE(own.ok());
    const int descriptor = own->location().descriptor;
    EXPECT_NE(ftruncate(descriptor, 4096), 0);
    EXPECT_NE(ftruncate(descriptor, 1 << 30), 0);
}

}  // namespace
}  // namespace beeline::mover::shm
