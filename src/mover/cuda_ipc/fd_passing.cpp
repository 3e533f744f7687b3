// SPDX-License-Identifier: BSD-3-Clause
// Sequenced-packet sockets: each packet is a small head, numbers, and the descriptors beside them.
#include "mover/cuda_ipc/fd_passing.hpp"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "base/log.hpp"

namespace beeline::mover::cuda_ipc {
namespace {

constexpr std::uint32_t kMagic = 0x64664242;  // "BBfd"
constexpr int kBacklog = 128;
constexpr std::size_t kMaxWaiting = 128;  // connections kept for later; more are strangers

struct Head {
    std::uint32_t magic;
    std::uint32_t count;  // parcels in this packet
    std::uint64_t total;  // of the exchange
    std::uint64_t token;
};

struct Packet {
    Head head;
    std::uint64_t values[kParcelsAtOnce];
};

union Rights {
    char bytes[CMSG_SPACE(kParcelsAtOnce * sizeof(int))];
    cmsghdr align;
};

/// Abstract names start with a zero byte and vanish with the socket.
socklen_t address_of(const SocketName& name, sockaddr_un& address) noexcept {
    address = {};
    address.sun_family = AF_UNIX;
    char* at = address.sun_path + 1;
    at += std::snprintf(at, 16, "beeline-");
    for (const std::byte byte : name) {
        at += std::snprintf(at, 3, "%02x", std::to_integer<unsigned>(byte));
    }
    return static_cast<socklen_t>(at - reinterpret_cast<char*>(&address));
}

/// The process at the other end if it is one of this user, else 0.
std::int64_t peer_of(int socket) noexcept {
    ucred peer{};
    socklen_t length = sizeof peer;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid()
               ? peer.pid
               : 0;
}

Status status_of(int error) noexcept {
    switch (error) {
        case EAGAIN:
        case ENOBUFS:
            return Status::kRetry;
        case ECONNREFUSED:
        case ENOENT:
            return Status::kUnreachable;
        default:
            return Status::kIo;
    }
}

/// The descriptors that came with a packet; those beyond `room` are closed.
std::size_t descriptors_of(msghdr& message, int (&out)[kParcelsAtOnce]) noexcept {
    std::size_t count = 0;
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
         part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const std::size_t here = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < here; ++i) {
            int descriptor = -1;
            std::memcpy(&descriptor, CMSG_DATA(part) + i * sizeof(int), sizeof descriptor);
            if (count < kParcelsAtOnce) {
                out[count++] = descriptor;
            } else {
                close(descriptor);
            }
        }
    }
    return count;
}

}  // namespace

Inbox::~Inbox() {
    for (const Connection& connection : waiting_) {
        close(connection.socket);
    }
    if (socket_ >= 0) {
        close(socket_);
    }
}

Result<SocketName> Inbox::name() noexcept {
    if (socket_ >= 0) {
        return name_;
    }
    if (getrandom(name_.data(), name_.size(), 0) != static_cast<ssize_t>(name_.size())) {
        return Status::kIo;
    }
    sockaddr_un address;
    const socklen_t length = address_of(name_, address);
    const int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0 || bind(made, reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
        listen(made, kBacklog) != 0) {
        log_once(LogLevel::kWarning, "descriptors.socket",
                 "no socket to take descriptors of device memory by (%s): cuMemCreate and pool "
                 "memory goes through a buffer on the device",
                 std::strerror(errno));
        if (made >= 0) {
            close(made);
        }
        return Status::kIo;
    }
    socket_ = made;
    return name_;
}

void Inbox::accept_all() noexcept {
    for (;;) {
        const int socket = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (socket < 0) {
            return;
        }
        const std::int64_t pid = peer_of(socket);
        if (pid == 0 || waiting_.size() >= kMaxWaiting) {
            close(socket);
            continue;
        }
        waiting_.push_back({socket, pid});
    }
}

Status Inbox::receive(std::int64_t pid, std::uint64_t token, Taker take, void* context) noexcept {
    if (socket_ < 0) {
        return Status::kNotFound;
    }
    accept_all();
    Status status = Status::kNotFound;
    for (std::size_t i = 0; i < waiting_.size();) {
        const Connection connection = waiting_[i];
        Head head{};
        const ssize_t length = recv(connection.socket, &head, sizeof head, MSG_PEEK | MSG_DONTWAIT);
        const bool silent = length < 0 && errno == EAGAIN;
        const bool sound = length == static_cast<ssize_t>(sizeof head) && head.magic == kMagic;
        if (silent || (sound && (connection.pid != pid || head.token != token))) {
            ++i;
            continue;
        }
        if (sound && status == Status::kNotFound) {
            status = read_all(connection.socket, token, take, context);
        }
        close(connection.socket);
        waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return status;
}

Status Inbox::read_all(int socket, std::uint64_t token, Taker take, void* context) noexcept {
    std::size_t taken = 0;
    for (;;) {
        Packet packet{};
        Rights rights{};
        iovec part{&packet, sizeof packet};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = rights.bytes;
        message.msg_controllen = sizeof rights.bytes;
        const ssize_t length = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (length <= 0) {
            return Status::kIo;
        }
        int descriptors[kParcelsAtOnce];
        const std::size_t count = descriptors_of(message, descriptors);
        const Head& head = packet.head;
        const bool cut = (message.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) != 0;
        bool going_on =
            !cut && length >= static_cast<ssize_t>(sizeof(Head)) && head.magic == kMagic &&
            head.token == token && head.count == count && count != 0 &&
            head.total >= taken + count &&
            static_cast<std::size_t>(length) == sizeof(Head) + count * sizeof(std::uint64_t);
        for (std::size_t i = 0; i < count; ++i) {
            going_on = going_on && take(context, {descriptors[i], packet.values[i]});
            close(descriptors[i]);
        }
        if (!going_on) {
            return Status::kIo;
        }
        taken += count;
        if (taken == head.total) {
            return Status::kOk;
        }
    }
}

ParcelSender::~ParcelSender() {
    if (socket_ >= 0) {
        close(socket_);
    }
}

Status ParcelSender::connect(const SocketName& name, std::int64_t pid) noexcept {
    sockaddr_un address;
    const socklen_t length = address_of(name, address);
    socket_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket_ < 0) {
        return Status::kIo;
    }
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), length) != 0) {
        return status_of(errno);
    }
    return peer_of(socket_) == pid ? Status::kOk : Status::kInvalid;
}

Status ParcelSender::send(std::uint64_t token, std::size_t total,
                          std::span<const Parcel> parcels) noexcept {
    Status status = Status::kOk;
    if (parcels.empty() || parcels.size() > kParcelsAtOnce) {
        status = Status::kInvalid;
    } else {
        Packet packet{{kMagic, static_cast<std::uint32_t>(parcels.size()), total, token}, {}};
        Rights rights{};
        const std::size_t room = parcels.size() * sizeof(int);
        iovec part{&packet, sizeof(Head) + parcels.size() * sizeof(std::uint64_t)};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = rights.bytes;
        message.msg_controllen = CMSG_SPACE(room);
        cmsghdr* control = CMSG_FIRSTHDR(&message);
        control->cmsg_level = SOL_SOCKET;
        control->cmsg_type = SCM_RIGHTS;
        control->cmsg_len = CMSG_LEN(room);
        for (std::size_t i = 0; i < parcels.size(); ++i) {
            packet.values[i] = parcels[i].value;
            std::memcpy(CMSG_DATA(control) + i * sizeof(int), &parcels[i].descriptor, sizeof(int));
        }
        if (sendmsg(socket_, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
            status = status_of(errno);
        }
    }
    for (const Parcel& parcel : parcels) {
        if (parcel.descriptor >= 0) {
            close(parcel.descriptor);
        }
    }
    return status;
}

}  // namespace beeline::mover::cuda_ipc
