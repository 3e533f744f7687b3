// SPDX-License-Identifier: BSD-3-Clause
// Descriptors through a socket: in order, all of them, from the right process only, none leaked.
#include "mover/cuda_ipc/fd_passing.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace beeline::mover::cuda_ipc {
namespace {

std::size_t open_descriptors() {
    std::size_t count = 0;
    DIR* folder = opendir("/proc/self/fd");
    while (readdir(folder) != nullptr) {
        ++count;
    }
    closedir(folder);
    return count;
}

/// A file whose length says which one it is.
int numbered(std::uint64_t number) {
    const int file = memfd_create("numbered", MFD_CLOEXEC);
    EXPECT_EQ(ftruncate(file, static_cast<off_t>(number)), 0);
    return file;
}

std::uint64_t number_of(int file) {
    struct stat facts {};
    EXPECT_EQ(fstat(file, &facts), 0);
    return static_cast<std::uint64_t>(facts.st_size);
}

Status send_all(const SocketName& name, std::uint64_t token, std::size_t total,
                std::size_t really) {
    ParcelSender sender;
    Status status = sender.connect(name, getpid());
    for (std::size_t at = 0; at < really && status == Status::kOk;) {
        std::vector<Parcel> batch;
        for (; at < really && batch.size() < kParcelsAtOnce; ++at) {
            batch.push_back({numbered(at + 1), at + 1});
        }
        status = sender.send(token, total, batch);
    }
    return status;
}

TEST(FdPassing, AllInOrderAndNoneLeft) {
    Inbox inbox;
    const SocketName name = inbox.name().value();
    const std::size_t before = open_descriptors();
    for (const std::size_t count : {1U, 31U, 32U, 33U, 300U}) {
        ASSERT_EQ(send_all(name, 7, count, count), Status::kOk);
        std::uint64_t expected = 0;
        EXPECT_EQ(inbox.receive(getpid(), 7,
                                [&](const Parcel& parcel) {
                                    ++expected;
                                    EXPECT_EQ(parcel.value, expected);
                                    EXPECT_EQ(number_of(parcel.descriptor), expected);
                                    return true;
                                }),
                  Status::kOk);
        EXPECT_EQ(expected, count);
        EXPECT_EQ(open_descriptors(), before);
    }
}

TEST(FdPassing, EachExchangeIsFoundByItsToken) {
    Inbox inbox;
    const SocketName name = inbox.name().value();
    const std::size_t before = open_descriptors();
    for (const std::uint64_t token : {1U, 2U, 3U}) {
        ASSERT_EQ(send_all(name, token, token, token), Status::kOk);
    }
    for (const std::uint64_t token : {3U, 1U, 2U}) {
        std::uint64_t count = 0;
        auto take = [&](const Parcel&) { return ++count != 0; };
        EXPECT_EQ(inbox.receive(getpid(), token + 10, take), Status::kNotFound);
        EXPECT_EQ(inbox.receive(getpid() + 1, token, take), Status::kNotFound)
            << "from another process than the one that was asked";
        EXPECT_EQ(inbox.receive(getpid(), token, take), Status::kOk);
        EXPECT_EQ(count, token);
        EXPECT_EQ(inbox.receive(getpid(), token, take), Status::kNotFound);
    }
    EXPECT_EQ(open_descriptors(), before);
}

TEST(FdPassing, ShortAndStoppedExchangesFail) {
    Inbox inbox;
    const SocketName name = inbox.name().value();
    const std::size_t before = open_descriptors();
    ASSERT_EQ(send_all(name, 1, 40, 33), Status::kOk);
    EXPECT_EQ(inbox.receive(getpid(), 1, [](const Parcel&) { return true; }), Status::kIo);
    ASSERT_EQ(send_all(name, 2, 40, 40), Status::kOk);
    int taken = 0;
    EXPECT_EQ(inbox.receive(getpid(), 2, [&](const Parcel&) { return ++taken < 5; }), Status::kIo);
    EXPECT_EQ(taken, 5);
    EXPECT_EQ(open_descriptors(), before);
}

TEST(FdPassing, StrangersAreRefused) {
    SocketName name;
    {
        Inbox inbox;
        name = inbox.name().value();
        ParcelSender sender;
        EXPECT_EQ(sender.connect(name, getpid() + 1), Status::kInvalid)
            << "the socket is not that process's";
    }
    ParcelSender sender;
    EXPECT_EQ(sender.connect(name, getpid()), Status::kUnreachable) << "nobody is there";
    const std::size_t before = open_descriptors();
    const Parcel parcel{numbered(1), 1};
    EXPECT_NE(sender.send(1, 1, {&parcel, 1}), Status::kOk);
    EXPECT_EQ(open_descriptors(), before) << "closed whatever happened";
}

TEST(FdPassing, GarbageIsDropped) {
    Inbox inbox;
    const SocketName name = inbox.name().value();
    const std::size_t before = open_descriptors();
    // Packets that are too short, of another magic, or with fewer descriptors than they say.
    for (int kind = 0; kind < 3; ++kind) {
        ParcelSender honest;
        ASSERT_EQ(honest.connect(name, getpid()), Status::kOk);
        int socket = -1;
        for (int candidate = 3; candidate < 200; ++candidate) {  // the newest socket is honest's
            struct stat facts {};
            if (fstat(candidate, &facts) == 0 && S_ISSOCK(facts.st_mode)) {
                socket = candidate;
            }
        }
        const std::uint64_t words[] = {kind == 1 ? 0x1234567800000001U : 0x0000000164664242U, 1, 9,
                                       0};
        const std::size_t length = kind == 0 ? 5 : sizeof words;
        EXPECT_EQ(send(socket, words, length, MSG_NOSIGNAL), static_cast<ssize_t>(length));
    }
    int taken = 0;
    auto take = [&](const Parcel&) { return ++taken != 0; };
    EXPECT_NE(inbox.receive(getpid(), 9, take), Status::kOk);
    EXPECT_EQ(taken, 0);
    EXPECT_EQ(inbox.receive(getpid(), 9, take), Status::kNotFound);
    EXPECT_EQ(open_descriptors(), before);
    ASSERT_EQ(send_all(name, 9, 2, 2), Status::kOk);
    EXPECT_EQ(inbox.receive(getpid(), 9, take), Status::kOk);
    EXPECT_EQ(taken, 2);
}

TEST(FdPassing, AnotherProcess) {
    Inbox inbox;
    const SocketName name = inbox.name().value();
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) {
        ParcelSender sender;
        const Parcel parcel{numbered(77), 5};
        const bool sent = sender.connect(name, parent) == Status::kOk &&
                          sender.send(1, 1, {&parcel, 1}) == Status::kOk;
        _exit(sent ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    std::uint64_t number = 0;
    auto take = [&](const Parcel& parcel) {
        number = number_of(parcel.descriptor);
        return true;
    };
    EXPECT_EQ(inbox.receive(getpid(), 1, take), Status::kNotFound);
    EXPECT_EQ(inbox.receive(child, 1, take), Status::kOk);
    EXPECT_EQ(number, 77U);
}

}  // namespace
}  // namespace beeline::mover::cuda_ipc
