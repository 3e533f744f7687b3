// SPDX-License-Identifier: BSD-3-Clause
// The exporting process: commands come by a socket, answers go back the same way.
#include "unit/mover/cuda_ipc/exporter.hpp"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <vector>

#include "memory/copy.hpp"
#include "tests/world/device_memory.hpp"

namespace beeline::test {
namespace {

struct Command {
    enum class What : int { kExport, kFree, kEnd } what;
    std::uint64_t value;  ///< bytes, or the address to free
    unsigned char fill;
};

int channel = -1;
pid_t exporter = -1;

[[noreturn]] void serve(int socket) {
    alarm(120);
    const cuda::Driver* driver = world::load_driver();
    if (driver == nullptr) {
        _exit(1);
    }
    world::use_device(*driver, 0);
    Command command{};
    while (read(socket, &command, sizeof command) == static_cast<ssize_t>(sizeof command) &&
           command.what != Command::What::kEnd) {
        Exported answer;
        if (command.what == Command::What::kExport) {
            CUdeviceptr address = 0;
            driver->cuMemAlloc(&address, command.value);
            const std::vector<unsigned char> content(command.value, command.fill);
            memory::copy(reinterpret_cast<void*>(address), content.data(), content.size());
            const auto memory = memory::classify(reinterpret_cast<void*>(address));
            answer = {memory.base, memory.size, memory.buffer_id, {}};
            driver->cuIpcGetMemHandle(&answer.handle, address);
        } else {
            driver->cuMemFree(command.value);
        }
        if (write(socket, &answer, sizeof answer) != static_cast<ssize_t>(sizeof answer)) {
            break;
        }
    }
    _exit(0);
}

Exported ask(const Command& command) {
    Exported answer;
    EXPECT_EQ(write(channel, &command, sizeof command), static_cast<ssize_t>(sizeof command));
    EXPECT_EQ(read(channel, &answer, sizeof answer), static_cast<ssize_t>(sizeof answer));
    return answer;
}

}  // namespace

void start_exporter() {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    exporter = fork();
    if (exporter == 0) {
        close(ends[0]);
        serve(ends[1]);
    }
    close(ends[1]);
    channel = ends[0];
}

void stop_exporter() {
    close(channel);
    waitpid(exporter, nullptr, 0);
}

Exported export_memory(std::uint64_t bytes, unsigned char value) {
    return ask({Command::What::kExport, bytes, value});
}

void free_exported(const Exported& memory) {
    ask({Command::What::kFree, memory.base, 0});
}

}  // namespace beeline::test
