// SPDX-License-Identifier: BSD-3-Clause
// Buffers of MPI calls as lists of pieces, and host copies of those that only a device can reach.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.hpp"
#include "plugin/compat/ompi.hpp"
#include "plugin/types.hpp"

namespace beeline::plugin {

/// How a call's arguments spell the amount of data in a buffer.
enum class Amount : std::uint8_t {
    kNothing,    ///< not significant here
    kOne,        ///< count elements at the address
    kBlocks,     ///< count elements for each of `blocks` ranks, one after another
    kOwnBlock,   ///< of those, only the block number `own`
    kListed,     ///< counts[i] elements at displacements[i] extents, for each of `blocks` ranks
    kOwnListed,  ///< of those, only number `own`
    kTyped,      ///< counts[i] elements of types[i] at displacements[i] bytes
    kSum,        ///< the sum of counts[0 .. blocks) elements at the address
    kOwnCount,   ///< counts[own] elements at the address
};

/// A buffer as one call sees it. Borrows the caller's arrays, which MPI keeps unchanged until the
/// operation is complete.
struct Buffer {
    Amount amount = Amount::kNothing;
    void* address = nullptr;
    std::size_t count = 0;
    int blocks = 0;
    int own = 0;
    ompi_datatype_t* type = nullptr;
    const int* counts = nullptr;
    const int* displacements = nullptr;
    const MPI_Aint* byte_displacements = nullptr;  ///< kTyped of the neighbourhood calls
    ompi_datatype_t* const* types = nullptr;
};

/// A run of elements of one datatype, `offset` bytes from the buffer's address.
struct Piece {
    std::ptrdiff_t offset;
    std::size_t count;
    ompi_datatype_t* type;
};

/// Calls visit(Piece) for each piece that holds data; stops when it returns false, and then returns
/// false.
template <class Visit>
bool for_each_piece(const Buffer& buffer, Visit&& visit) {
    const auto one = [&](std::ptrdiff_t offset, std::size_t count, ompi_datatype_t* type) {
        return count == 0 || type->super.size == 0 || visit(Piece{offset, count, type});
    };
    const auto listed = [&](int i) {
        return one(buffer.displacements[i] * extent_of(buffer.type),
                   static_cast<std::size_t>(buffer.counts[i]), buffer.type);
    };
    switch (buffer.amount) {
        case Amount::kNothing:
            return true;
        case Amount::kOne:
            return one(0, buffer.count, buffer.type);
        case Amount::kBlocks:
            return buffer.count == 0 ||
                   one(0, buffer.count * static_cast<std::size_t>(buffer.blocks), buffer.type);
        case Amount::kOwnBlock:
            return buffer.count == 0 || one(static_cast<std::ptrdiff_t>(buffer.count) * buffer.own *
                                                extent_of(buffer.type),
                                            buffer.count, buffer.type);
        case Amount::kListed:
            for (int i = 0; i < buffer.blocks; ++i) {
                if (!listed(i)) {
                    return false;
                }
            }
            return true;
        case Amount::kOwnListed:
            return listed(buffer.own);
        case Amount::kTyped:
            for (int i = 0; i < buffer.blocks; ++i) {
                const std::ptrdiff_t offset = buffer.byte_displacements != nullptr
                                                  ? buffer.byte_displacements[i]
                                                  : buffer.displacements[i];
                if (!one(offset, static_cast<std::size_t>(buffer.counts[i]), buffer.types[i])) {
                    return false;
                }
            }
            return true;
        case Amount::kSum: {
            std::size_t sum = 0;
            for (int i = 0; i < buffer.blocks; ++i) {
                sum += static_cast<std::size_t>(buffer.counts[i]);
            }
            return sum == 0 || one(0, sum, buffer.type);
        }
        case Amount::kOwnCount:
            return one(0, static_cast<std::size_t>(buffer.counts[buffer.own]), buffer.type);
    }
    return true;
}

/// True when some byte of the buffer's data is device memory that the CPU must not touch. Buffers
/// without data are never asked about. Managed memory is not a device's here: the CPU can use it.
bool on_device(const Buffer& buffer);

/// A host copy of the data that one or two views of a device buffer hold, laid out as the original
/// so that the same counts, displacements and datatypes describe it. Gaps take address space only.
class HostCopy {
 public:
    HostCopy() = default;
    HostCopy(const HostCopy&) = delete;
    HostCopy& operator=(const HostCopy&) = delete;
    ~HostCopy();

    /// Makes room. `in` is what fetch() brings, `out` what deliver() takes back; both have the same
    /// address, either may be kNothing. kNoMemory is logged.
    Status prepare(const char* call, const Buffer& in, const Buffer& out);

    /// True once prepared.
    bool used() const noexcept { return memory_ != nullptr; }

    /// What to pass instead of the buffer's address.
    void* address() const noexcept { return address_; }

    /// Copies the data of `in` from the device. A failure names the call and the pointer in the
    /// log.
    Status fetch();

    /// Copies the data of `out` to the device; gaps are not touched.
    Status deliver();

 private:
    const char* call_ = "";
    Buffer in_;
    Buffer out_;
    void* memory_ = nullptr;
    std::size_t bytes_ = 0;
    void* address_ = nullptr;
};

/// The Open MPI error code for a status.
int to_ompi(Status status) noexcept;

}  // namespace beeline::plugin
