// SPDX-License-Identifier: BSD-3-Clause
// What the tests of the software driver share: processes, faults, result checks.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "softcuda/include/softcuda.h"

namespace softcuda_test {

#define EXPECT_OK(call) EXPECT_EQ(call, CUDA_SUCCESS)
#define ASSERT_OK(call) ASSERT_EQ(call, CUDA_SUCCESS)

/** Runs `body` in a child process, whose driver starts afresh, with the given environment; failures
 *  in it fail the test. */
template <class Body>
void in_child(std::vector<std::pair<const char*, const char*>> environment, Body body) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        for (const auto& [name, value] : environment) {
            setenv(name, value, 1);
        }
        body();
        const bool failed = testing::Test::HasFailure();
        // exit, not _exit: what the driver does at exit is part of the test.
        exit(failed ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "child status " << status;
}

/** One end of a pair of processes. */
class Peer {
 public:
    explicit Peer(int socket) : socket_(socket) {}

    template <class Value>
    void send(const Value& value) {
        ASSERT_EQ(write(socket_, &value, sizeof value), static_cast<ssize_t>(sizeof value));
    }
    template <class Value>
    Value receive() {
        Value value{};
        EXPECT_EQ(recv(socket_, &value, sizeof value, MSG_WAITALL),
                  static_cast<ssize_t>(sizeof value));
        return value;
    }
    /** Returns when the other side has called it too. */
    void barrier() {
        send('b');
        EXPECT_EQ(receive<char>(), 'b');
    }
    int socket() const { return socket_; }

 private:
    int socket_;
};

/** Runs two bodies in two child processes that are connected; neither has a driver yet. */
template <class First, class Second>
void in_pair(First first, Second second) {
    int sockets[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    const pid_t other = fork();
    ASSERT_GE(other, 0);
    if (other == 0) {
        close(sockets[0]);
        alarm(60);
        second(Peer(sockets[1]));
        exit(testing::Test::HasFailure() ? 1 : 0);
    }
    close(sockets[1]);
    in_child({}, [&] {
        alarm(60);
        first(Peer(sockets[0]));
    });
    close(sockets[0]);
    int status = 0;
    ASSERT_EQ(waitpid(other, &status, 0), other);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "peer status " << status;
}

/** cuInit and the primary context of `ordinal` made current. */
inline CUcontext start(int ordinal = 0) {
    CUcontext context = nullptr;
    EXPECT_OK(cuInit(0));
    EXPECT_OK(cuDevicePrimaryCtxRetain(&context, ordinal));
    EXPECT_OK(cuCtxSetCurrent(context));
    return context;
}

inline CUdeviceptr allocate(size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_OK(cuMemAlloc(&address, bytes));
    return address;
}

/** One attribute of a pointer; CUDA's booleans are as wide as unsigned. */
template <class Value>
Value attribute(CUdeviceptr pointer, CUpointer_attribute which) {
    static_assert(sizeof(Value) >= sizeof(unsigned), "the driver writes at least that much");
    Value value{};
    EXPECT_OK(cuPointerGetAttribute(&value, which, pointer));
    return value;
}

inline unsigned long long buffer_id(CUdeviceptr pointer) {
    return attribute<unsigned long long>(pointer, CU_POINTER_ATTRIBUTE_BUFFER_ID);
}

/** Bytes of device memory. */
inline std::vector<unsigned char> bytes_at(CUdeviceptr pointer, size_t count) {
    std::vector<unsigned char> bytes(count);
    EXPECT_OK(cuMemcpyDtoH(bytes.data(), pointer, count));
    return bytes;
}

/** A stream that cannot go on until release() is called: it runs a host function that waits. */
class HeldStream {
 public:
    explicit HeldStream(CUstream stream) : stream_(stream) {
        EXPECT_EQ(pipe(pipe_), 0);
        EXPECT_OK(cuLaunchHostFunc(stream, wait, pipe_));
    }
    ~HeldStream() {
        release();
        cuStreamSynchronize(stream_);
        close(pipe_[0]);
    }
    HeldStream(const HeldStream&) = delete;
    HeldStream& operator=(const HeldStream&) = delete;

    void release() {
        if (pipe_[1] >= 0) {
            EXPECT_EQ(write(pipe_[1], "r", 1), 1);
            close(pipe_[1]);
            pipe_[1] = -1;
        }
    }

 private:
    static void wait(void* pipe_ends) {
        char byte = 0;
        const ssize_t got = read(static_cast<int*>(pipe_ends)[0], &byte, 1);
        EXPECT_EQ(got, 1);
    }

    CUstream stream_;
    int pipe_[2];
};

}  // namespace softcuda_test
