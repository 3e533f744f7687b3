// SPDX-License-Identifier: BSD-3-Clause
// Finding device buffers, and copying their data to host memory of the same shape and back.
#include "plugin/staging.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include <sys/mman.h>

#include "base/log.hpp"
#include "memory/copy.hpp"
#include "memory/pointer.hpp"

namespace beeline::plugin {
namespace {

using datatype::Layout;
using memory::Kind;

constexpr std::size_t kAlignment = 64;

/// Address arithmetic on integers: an address may be MPI_BOTTOM, with offsets that are addresses.
std::byte* at(void* address, std::ptrdiff_t offset) noexcept {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(address) +
                                        static_cast<std::uintptr_t>(offset));
}

bool is_device(const void* pointer) noexcept {
    return memory::look_at(pointer).kind == Kind::kDevice;
}

/// With MPI_BOTTOM every block can be somewhere else, so each is asked about.
bool any_block_on_device(const Piece& piece) {
    const Layout& layout = *layout_of(piece.type);
    return std::any_of(layout.blocks.begin(), layout.blocks.end(), [&](const auto& block) {
        return is_device(at(nullptr, piece.offset + block.offset));
    });
}

/// The range of bytes that the buffer's data lies in, relative to its address.
struct Bounds {
    std::ptrdiff_t low = std::numeric_limits<std::ptrdiff_t>::max();
    std::ptrdiff_t high = std::numeric_limits<std::ptrdiff_t>::min();

    void add(const Piece& piece) noexcept {
        const std::ptrdiff_t last =
            static_cast<std::ptrdiff_t>(piece.count - 1) * extent_of(piece.type);
        const auto& type = piece.type->super;
        low = std::min(low, piece.offset + type.true_lb + std::min<std::ptrdiff_t>(last, 0));
        high = std::max(high, piece.offset + type.true_ub + std::max<std::ptrdiff_t>(last, 0));
    }
    void add(const Buffer& buffer) {
        for_each_piece(buffer, [this](const Piece& piece) {
            add(piece);
            return true;
        });
    }
    bool empty() const noexcept { return low >= high; }
};

enum class Direction { kFetch, kDeliver };

/// One gapless run between the same places of the device buffer and of its copy.
Status move_run(Direction direction, std::byte* device, std::byte* host, std::size_t bytes) {
    return direction == Direction::kFetch ? memory::copy(host, device, bytes)
                                          : memory::copy(device, host, bytes);
}

/// A piece with gaps, in one batch: the memory layer moves it packed, and it is spread or gathered
/// on the host side here.
Status move_packed(Direction direction, const Piece& piece, void* device, void* host) {
    const Layout& layout = *layout_of(piece.type);
    const std::size_t bytes = layout.bytes(piece.count);
    const auto packed = std::make_unique_for_overwrite<std::byte[]>(bytes);
    std::byte* on_host = at(host, piece.offset);
    std::byte* on_device = at(device, piece.offset);
    const memory::Pointer pointer = memory::classify(on_device + piece.type->super.true_lb);
    if (direction == Direction::kDeliver) {
        datatype::pack(layout, piece.count, on_host, 0, {packed.get(), bytes});
        return memory::unpack(layout, piece.count, on_device, pointer, 0, packed.get(), bytes);
    }
    const Status status =
        memory::pack(layout, piece.count, on_device, pointer, 0, packed.get(), bytes);
    if (status == Status::kOk) {
        datatype::unpack(layout, piece.count, on_host, 0, {packed.get(), bytes});
    }
    return status;
}

/// A piece relative to MPI_BOTTOM: its runs may lie in different kinds of memory.
Status move_runs(Direction direction, const Piece& piece, void* device, void* host) {
    const Layout& layout = *layout_of(piece.type);
    Status status = Status::kOk;
    datatype::for_each_run(layout, piece.count, 0, layout.bytes(piece.count),
                           [&](std::ptrdiff_t run, std::size_t bytes, std::size_t) {
                               if (status == Status::kOk) {
                                   status = move_run(direction, at(device, piece.offset + run),
                                                     at(host, piece.offset + run), bytes);
                               }
                           });
    return status;
}

Status move_piece(Direction direction, const Piece& piece, void* device, void* host) {
    std::ptrdiff_t offset = 0;
    if (is_contiguous(piece.type, piece.count, offset)) {
        return move_run(direction, at(device, piece.offset + offset),
                        at(host, piece.offset + offset), piece.count * piece.type->super.size);
    }
    return device == MPI_BOTTOM ? move_runs(direction, piece, device, host)
                                : move_packed(direction, piece, device, host);
}

Status move_buffer(Direction direction, const char* call, const Buffer& buffer, void* host) {
    Status status = Status::kOk;
    for_each_piece(buffer, [&](const Piece& piece) {
        status = move_piece(direction, piece, buffer.address, host);
        if (status != Status::kOk) {
            log(LogLevel::kError, "%s: copying %s the device buffer %p failed (%s)", call,
                direction == Direction::kFetch ? "from" : "to",
                static_cast<void*>(at(buffer.address, piece.offset)), to_string(status));
        }
        return status == Status::kOk;
    });
    return status;
}

/// Mappings of calls that are over, for the next ones: new pages cost more than the copies.
class Mappings {
 public:
    /// A mapping of at least `bytes`, which becomes its length; null when there's no memory.
    void* take(std::size_t& bytes) noexcept {
        {
            const std::lock_guard lock(mutex_);
            for (Kept& kept : kept_) {
                // Not one much too long, which a longer call will want.
                if (kept.memory != nullptr && kept.bytes >= bytes && kept.bytes / 2 <= bytes) {
                    bytes = kept.bytes;
                    return std::exchange(kept.memory, nullptr);
                }
            }
        }
        void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return memory == MAP_FAILED ? nullptr : memory;
    }

    /// Takes a mapping back: keeps it, in the place of the one that has been kept longest.
    void give(void* memory, std::size_t bytes) noexcept {
        Kept out{memory, bytes};
        if (bytes <= kLongest) {
            const std::lock_guard lock(mutex_);
            std::swap(out, kept_[next_++ % kMost]);
        }
        if (out.memory != nullptr) {
            munmap(out.memory, out.bytes);
        }
    }

 private:
    struct Kept {
        void* memory = nullptr;
        std::size_t bytes = 0;
    };
    static constexpr std::size_t kMost = 2;  // both sides of a call
    static constexpr std::size_t kLongest = std::size_t{128} << 20;
    std::mutex mutex_;
    Kept kept_[kMost];
    std::size_t next_ = 0;
};
constinit Mappings mappings;

}  // namespace

bool on_device(const Buffer& buffer) {
    return !for_each_piece(buffer, [&](const Piece& piece) {
        if (buffer.address == MPI_BOTTOM) {
            return !any_block_on_device(piece);
        }
        return !is_device(at(buffer.address, piece.offset + piece.type->super.true_lb));
    });
}

HostCopy::~HostCopy() {
    if (memory_ != nullptr) {
        mappings.give(memory_, bytes_);
    }
}

Status HostCopy::prepare(const char* call, const Buffer& in, const Buffer& out) {
    call_ = call;
    in_ = in;
    out_ = out;
    void* original = in.amount != Amount::kNothing ? in.address : out.address;
    Bounds bounds;
    bounds.add(in);
    bounds.add(out);
    if (bounds.empty()) {
        return Status::kInvalid;
    }
    // As much out of alignment as the original, so that elements are aligned where they were.
    const std::size_t skew =
        reinterpret_cast<std::uintptr_t>(at(original, bounds.low)) % kAlignment;
    bytes_ = static_cast<std::size_t>(bounds.high - bounds.low) + skew;
    // Pages are committed when touched, so the gaps of a sparse datatype cost no memory.
    void* memory = mappings.take(bytes_);
    if (memory == nullptr) {
        log(LogLevel::kError, "%s: no %zu bytes of host memory to stage the device buffer %p in",
            call, bytes_, original);
        return Status::kNoMemory;
    }
    memory_ = memory;
    address_ = at(memory, static_cast<std::ptrdiff_t>(skew) - bounds.low);
    return Status::kOk;
}

Status HostCopy::fetch() {
    return move_buffer(Direction::kFetch, call_, in_, address_);
}

Status HostCopy::deliver() {
    return move_buffer(Direction::kDeliver, call_, out_, address_);
}

int to_ompi(Status status) noexcept {
    switch (status) {
        case Status::kOk:
            return OMPI_SUCCESS;
        case Status::kNoMemory:
            return OMPI_ERR_OUT_OF_RESOURCE;
        case Status::kInvalid:
            return OMPI_ERR_BAD_PARAM;
        case Status::kUnreachable:
            return OMPI_ERR_UNREACH;
        case Status::kUnsupported:
            return OMPI_ERR_NOT_SUPPORTED;
        case Status::kTruncated:
            return MPI_ERR_TRUNCATE;
        case Status::kRetry:
        case Status::kNotFound:
        case Status::kDriver:
        case Status::kIo:
        case Status::kCanceled:
            return OMPI_ERROR;
    }
    return OMPI_ERROR;
}

}  // namespace beeline::plugin
