// SPDX-License-Identifier: BSD-3-Clause
// Contexts, patterns, gates and second processes for the cases.
#include "tests/conformance/tools.hpp"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

namespace conformance {
namespace {

constexpr std::chrono::seconds kGateLimit{5};
constexpr std::chrono::milliseconds kLinger{30};

}  // namespace

CUcontext open_device(int device) {
    CUcontext context = nullptr;
    MUST(cu.cuInit(0));
    MUST(cu.cuDevicePrimaryCtxRetain(&context, device));
    MUST(cu.cuCtxSetCurrent(context));
    return context;
}

CUdeviceptr allocate(size_t bytes) {
    CUdeviceptr pointer = 0;
    MUST(cu.cuMemAlloc(&pointer, bytes));
    return pointer;
}

std::vector<unsigned char> pattern(size_t length, unsigned seed) {
    std::vector<unsigned char> bytes(length);
    for (size_t i = 0; i < length; ++i) {
        bytes[i] = static_cast<unsigned char>((i * 7 + i / 251 + seed * 31 + 1) & 0xff);
    }
    return bytes;
}

void put(CUdeviceptr where, size_t length, unsigned seed) {
    const std::vector<unsigned char> bytes = pattern(length, seed);
    MUST(cu.cuMemcpyHtoD(where, bytes.data(), length));
    MUST(cu.cuCtxSynchronize());
}

bool holds(CUdeviceptr where, size_t length, unsigned seed) {
    std::vector<unsigned char> bytes(length);
    MUST(cu.cuMemcpyDtoH(bytes.data(), where, length));
    return bytes == pattern(length, seed);
}

int attribute(CUdevice_attribute which, CUdevice device) {
    int value = 0;
    return cu.cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

Gate::Gate(CUstream stream) : stream_(stream) {
    MUST(cu.cuLaunchHostFunc(stream, hold, this));
}

Gate::~Gate() {
    open();
    static_cast<void>(cu.cuStreamSynchronize(stream_));  // `hold` uses this object until then
}

void Gate::open() {
    open_.store(true, std::memory_order_release);
}

void Gate::hold(void* self) {
    const auto start = std::chrono::steady_clock::now();
    auto* gate = static_cast<Gate*>(self);
    while (!gate->open_.load(std::memory_order_acquire) &&
           std::chrono::steady_clock::now() - start < kGateLimit) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
}

void linger() {
    std::this_thread::sleep_for(kLinger);
}

void Line::send_bytes(const void* data, size_t length) const {
    if (::send(descriptor_, data, length, MSG_NOSIGNAL) != static_cast<ssize_t>(length)) {
        std::printf("        the other process went away\n");
        give_up();
    }
}

void Line::receive_bytes(void* data, size_t length) const {
    if (::recv(descriptor_, data, length, MSG_WAITALL) != static_cast<ssize_t>(length)) {
        std::printf("        the other process went away\n");
        give_up();
    }
}

void Line::send_descriptor(int descriptor) const {
    char byte = '.';
    iovec part = {&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    if (sendmsg(descriptor_, &message, MSG_NOSIGNAL) != 1) {
        give_up();
    }
}

int Line::receive_descriptor() const {
    char byte = 0;
    iovec part = {&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    int descriptor = -1;
    const cmsghdr* header = nullptr;
    if (recvmsg(descriptor_, &message, 0) != 1 || (header = CMSG_FIRSTHDR(&message)) == nullptr) {
        give_up();
    }
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return descriptor;
}

void run_pair(void (*first)(const Line&), void (*second)(const Line&)) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        skip("no socket pair");
    }
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        second(Line(ends[1]));
        std::fflush(stdout);
        _exit(status_so_far());
    }
    close(ends[1]);
    first(Line(ends[0]));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        skip("the second process skipped");
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fail(__FILE__, __LINE__, "the second process failed");
    }
}

int in_child(void (*body)()) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        body();
        std::fflush(stdout);
        _exit(status_so_far());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

}  // namespace conformance
