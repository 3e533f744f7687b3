// SPDX-License-Identifier: BSD-3-Clause
// Creating, opening and checking shared segments.
#include "mover/shm/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <utility>

#include "topo/identity.hpp"

namespace beeline::mover::shm {
namespace {

constexpr std::uint64_t kMagic = 0x33454e494c454542U;  // "BEELINE3"
constexpr std::size_t kPage = 4096;
// Nobody can shorten a mapped segment, which would end those who touch it with SIGBUS.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

constexpr std::size_t round_up(std::size_t value, std::size_t unit) noexcept {
    return (value + unit - 1) / unit * unit;
}

/// Bounds on what a peer's header may claim.
bool plausible(const Geometry& g) noexcept {
    return std::has_single_bit(g.cells) && g.cells <= 65536 && g.slots <= 4096 &&
           g.slot_bytes % 64 == 0 && g.slot_bytes <= (1U << 17) && g.chunks <= kMaxChunks &&
           g.chunk_bytes % kPage == 0 && g.chunk_bytes <= (16U << 20) && g.blocks <= kMaxBlocks &&
           g.block_bytes % 64 == 0 && g.block_bytes <= (1U << 20);
}

}  // namespace

void Segment::lay_out() noexcept {
    senders_offset_ = round_up(sizeof(Header), 64);
    cells_offset_ = round_up(senders_offset_ + kMaxSenders * sizeof(Sender), kPage);
    wide_offset_ = round_up(cells_offset_ + geometry_.cells * sizeof(Cell), kPage);
    slots_offset_ = round_up(wide_offset_ + kWideCells * kWideCell, kPage);
    chunks_offset_ = round_up(
        slots_offset_ + geometry_.slots * (sizeof(Slot) + std::size_t{geometry_.slot_bytes}),
        kPage);
    blocks_offset_ = chunks_offset_ + std::size_t{geometry_.chunks} * geometry_.chunk_bytes;
    total_ =
        blocks_offset_ + geometry_.blocks * (sizeof(Slot) + std::size_t{geometry_.block_bytes});
}

Result<Segment> Segment::create(const Geometry& geometry) noexcept {
    Segment segment;
    segment.geometry_ = geometry;
    segment.lay_out();
    const int descriptor = memfd_create("beeline-shm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) {
        return Status::kIo;
    }
    segment.descriptor_ = descriptor;
    if (fchmod(descriptor, 0600) != 0 ||
        ftruncate(descriptor, static_cast<off_t>(segment.total_)) != 0 ||
        fcntl(descriptor, F_ADD_SEALS, kSeals | F_SEAL_SEAL) != 0) {
        return Status::kNoMemory;
    }
    void* base = mmap(nullptr, segment.total_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (base == MAP_FAILED) {
        return Status::kNoMemory;
    }
    segment.base_ = static_cast<std::byte*>(base);
    Header& header = segment.header();
    if (getrandom(&header.nonce, sizeof header.nonce, 0) != sizeof header.nonce) {
        return Status::kIo;
    }
    header.geometry = geometry;
    header.magic = kMagic;
    const topo::ProcessId self = topo::this_process();
    segment.location_ = {self.pid, self.start_time, header.nonce, descriptor};
    return segment;
}

Result<Segment> Segment::open(const Location& where) noexcept {
    if (where.descriptor < 0 || where.pid <= 0 ||
        topo::start_time_of(where.pid) != where.start_time) {
        return Status::kUnreachable;
    }
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%lld/fd/%d", static_cast<long long>(where.pid),
                  where.descriptor);
    const int descriptor = ::open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) {
        return Status::kUnreachable;
    }
    Segment segment;
    segment.location_ = where;
    struct stat info {};
    Header copy{};
    const int seals = fcntl(descriptor, F_GET_SEALS);
    const bool readable =
        seals >= 0 && (seals & kSeals) == kSeals && fstat(descriptor, &info) == 0 &&
        S_ISREG(info.st_mode) &&
        pread(descriptor, static_cast<void*>(&copy), sizeof copy, 0) == sizeof copy;
    if (!readable || copy.magic != kMagic || copy.nonce != where.nonce ||
        !plausible(copy.geometry)) {
        close(descriptor);
        return Status::kInvalid;
    }
    segment.geometry_ = copy.geometry;
    segment.lay_out();
    if (static_cast<std::size_t>(info.st_size) != segment.total_) {
        close(descriptor);
        return Status::kInvalid;
    }
    void* base = mmap(nullptr, segment.total_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (base == MAP_FAILED) {
        return Status::kNoMemory;
    }
    segment.base_ = static_cast<std::byte*>(base);
    return segment;
}

Segment::Segment(Segment&& other) noexcept {
    *this = std::move(other);
}

Segment& Segment::operator=(Segment&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(total_, other.total_);
    std::swap(senders_offset_, other.senders_offset_);
    std::swap(cells_offset_, other.cells_offset_);
    std::swap(wide_offset_, other.wide_offset_);
    std::swap(slots_offset_, other.slots_offset_);
    std::swap(chunks_offset_, other.chunks_offset_);
    std::swap(blocks_offset_, other.blocks_offset_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(geometry_, other.geometry_);
    std::swap(location_, other.location_);
    return *this;
}

Segment::~Segment() {
    if (base_ != nullptr) {
        munmap(base_, total_);
    }
    if (descriptor_ >= 0) {
        close(descriptor_);
    }
}

}  // namespace beeline::mover::shm
