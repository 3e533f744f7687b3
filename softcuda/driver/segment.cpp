// SPDX-License-Identifier: BSD-3-Clause
// Memory files behind device memory.
#include "softcuda/driver/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <memory>

#include "softcuda/driver/arena.hpp"

namespace softcuda {
namespace {

constexpr uint64_t kSegmentMagic = 0x5343534547303031;  // "SCSEG001"
constexpr uint64_t kPage = 4096;

uint64_t control_bytes(uint64_t slots) {
    return round_up(offsetof(SegmentControl, slot) + slots * sizeof(SegmentSlot), kPage);
}

bool map_control(Segment& segment) {
    void* control = mmap(nullptr, segment.control_size, PROT_READ | PROT_WRITE, MAP_SHARED,
                         segment.fd, static_cast<off_t>(segment.size));
    if (control == MAP_FAILED) {
        return false;
    }
    segment.control = static_cast<SegmentControl*>(control);
    return true;
}

bool map_data(Segment& segment) {
    segment.address = arena_take(segment.size, kSegmentUnit);
    if (segment.address == 0) {
        return false;
    }
    if (!arena_map(segment.address, segment.size, segment.fd, 0)) {
        arena_give(segment.address, segment.size);
        segment.address = 0;
        return false;
    }
    return true;
}

/** Reads where a segment file ends and its control area starts. */
bool read_shape(Segment& segment) {
    const off_t total = lseek(segment.fd, 0, SEEK_END);
    for (const uint64_t slots : {uint64_t{1}, kSegmentUnit / kSmallUnit}) {
        const uint64_t control = control_bytes(slots);
        SegmentControl head{};
        const off_t start = total - static_cast<off_t>(control);
        if (start > 0 &&
            pread(segment.fd, &head, sizeof head, start) == static_cast<ssize_t>(sizeof head) &&
            head.magic == kSegmentMagic && head.slots == slots &&
            head.data_size == static_cast<uint64_t>(start)) {
            segment.size = head.data_size;
            segment.control_size = control;
            segment.physical = head.physical;
            return true;
        }
    }
    return false;
}

}  // namespace

uint64_t new_generation() {
    static std::atomic<uint64_t> last{0};
    uint64_t number = last.load();
    if (number == 0) {
        // Processes start at random places far apart, so that generations never meet.
        uint64_t seed = 0;
        if (getrandom(&seed, sizeof seed, 0) != static_cast<ssize_t>(sizeof seed)) {
            seed = now_ns() ^ (static_cast<uint64_t>(getpid()) << 40);
        }
        last.compare_exchange_strong(number, seed | 1);
    }
    uint64_t next = last.fetch_add(1) + 1;
    return next != 0 ? next : last.fetch_add(1) + 1;
}

Segment* make_segment(uint64_t size, int physical, bool shared) {
    const uint64_t slots = shared ? size / kSmallUnit : 1;
    auto segment = std::make_unique<Segment>();
    segment->size = size;
    segment->physical = physical;
    segment->control_size = control_bytes(slots);
    segment->fd = memfd_create("softcuda-memory", MFD_CLOEXEC);
    if (segment->fd < 0 ||
        ftruncate(segment->fd, static_cast<off_t>(size + segment->control_size)) != 0 ||
        !map_control(*segment) || !map_data(*segment)) {
        drop_segment(segment.release());
        return nullptr;
    }
    SegmentControl& control = *segment->control;
    control.magic = kSegmentMagic;
    control.generation = new_generation();
    control.data_size = size;
    control.physical = physical;
    control.slots = static_cast<uint32_t>(slots);
    return segment.release();
}

Segment* open_segment(int fd) {
    auto segment = std::make_unique<Segment>();
    segment->fd = fd;
    if (!read_shape(*segment) || !map_control(*segment) || !map_data(*segment)) {
        drop_segment(segment.release());
        return nullptr;
    }
    return segment.release();
}

void drop_segment(Segment* segment) {
    if (segment->address != 0) {
        arena_unmap(segment->address, segment->size);
        arena_give(segment->address, segment->size);
    }
    if (segment->control != nullptr) {
        munmap(segment->control, segment->control_size);
    }
    if (segment->fd >= 0) {
        close(segment->fd);
    }
    delete segment;
}

int open_peer_fd(int pid, int fd) noexcept {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    return open(path, O_RDWR | O_CLOEXEC);
}

}  // namespace softcuda
