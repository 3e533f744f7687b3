// SPDX-License-Identifier: BSD-3-Clause
// File descriptors from one process of a user to another: by SCM_RIGHTS over a socket in the
// abstract namespace, which needs no file and no right to trace the other process (as pidfd_getfd
// does).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "base/result.hpp"

namespace beeline::mover::cuda_ipc {

/// A descriptor and a number that goes with it.
struct Parcel {
    int descriptor = -1;
    std::uint64_t value = 0;
};

/// The name of a socket; the bytes are random.
using SocketName = std::array<std::byte, 16>;

/// Most descriptors that one send_parcels() may carry at a time.
inline constexpr std::size_t kParcelsAtOnce = 32;

/// A socket that takes descriptors from processes of the same user. Makes no system call before
/// name(). One caller at a time.
class Inbox {
 public:
    Inbox() = default;
    ~Inbox();
    Inbox(const Inbox&) = delete;
    Inbox& operator=(const Inbox&) = delete;

    /// Opens the socket at first use. kIo with the reason logged when that fails.
    Result<SocketName> name() noexcept;
    /// Hands all that process `pid` has sent under `token` to `take(parcel)`, in order; each
    /// descriptor is closed afterwards. `take` returns false to stop. kNotFound when nothing came
    /// under this token; kIo when what came was cut short or malformed, or `take` stopped. Never
    /// waits.
    template <class Take>
    Status receive(std::int64_t pid, std::uint64_t token, Take&& take) noexcept {
        return receive(
            pid, token,
            [](void* context, const Parcel& parcel) {
                return (*static_cast<std::remove_reference_t<Take>*>(context))(parcel);
            },
            &take);
    }

 private:
    using Taker = bool (*)(void* context, const Parcel& parcel);
    struct Connection {
        int socket;
        std::int64_t pid;
    };
    Status receive(std::int64_t pid, std::uint64_t token, Taker take, void* context) noexcept;
    void accept_all() noexcept;
    static Status read_all(int socket, std::uint64_t token, Taker take, void* context) noexcept;

    int socket_ = -1;
    SocketName name_{};
    std::vector<Connection> waiting_;
};

/// The sending side of one exchange. Never waits: kRetry when the other side must read first,
/// kUnreachable when there is no such socket, kInvalid when it belongs to another process or user,
/// kIo for other errors.
class ParcelSender {
 public:
    ~ParcelSender();
    ParcelSender() = default;
    ParcelSender(const ParcelSender&) = delete;
    ParcelSender& operator=(const ParcelSender&) = delete;

    Status connect(const SocketName& name, std::int64_t pid) noexcept;
    /// Sends up to kParcelsAtOnce parcels of `total` and closes their descriptors, whatever
    /// happens.
    Status send(std::uint64_t token, std::size_t total, std::span<const Parcel> parcels) noexcept;

 private:
    int socket_ = -1;
};

}  // namespace beeline::mover::cuda_ipc
