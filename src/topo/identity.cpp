// SPDX-License-Identifier: BSD-3-Clause
// Node and process identity read from /proc.
#include "topo/identity.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace beeline::topo {
namespace {

/// FNV-1a, 64 bits (Fowler, Noll, Vo): mixes the parts of an identity; not a secret.
std::uint64_t mix(std::uint64_t hash, const void* data, std::size_t bytes) noexcept {
    const auto* at = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i) {
        hash = (hash ^ at[i]) * 0x100000001b3U;
    }
    return hash;
}

constexpr std::uint64_t kSeed = 0xcbf29ce484222325U;

/// Reads a small file whole; the bytes read, or 0.
std::size_t read_file(const char* path, char* out, std::size_t room) noexcept {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    const ssize_t got = read(fd, out, room - 1);
    close(fd);
    out[got > 0 ? got : 0] = '\0';
    return got > 0 ? static_cast<std::size_t>(got) : 0;
}

}  // namespace

namespace {

/// Capabilities, permitted and effective, as capget(2) gives them; no library is needed for that.
struct Capabilities {
    std::uint32_t sets[6];
};

std::uint64_t rights() noexcept {
    struct {
        std::uint32_t version = 0x20080522;  // _LINUX_CAPABILITY_VERSION_3
        int pid = 0;
    } header;
    Capabilities capabilities{};
    struct stat user_namespace {};
    const uid_t user = geteuid();
    syscall(SYS_capget, &header, &capabilities);
    // A kernel without user namespaces has one for all.
    stat("/proc/self/ns/user", &user_namespace);
    std::uint64_t hash = mix(kSeed, &user, sizeof user);
    hash = mix(hash, &user_namespace.st_ino, sizeof user_namespace.st_ino);
    for (const int set : {0, 1, 3, 4}) {  // effective, permitted; then their upper halves
        hash = mix(hash, &capabilities.sets[set], sizeof capabilities.sets[set]);
    }
    return hash;
}

}  // namespace

NodeId this_node() noexcept {
    char boot[64];
    const std::size_t length = read_file("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    struct stat pid_namespace {};
    struct stat net_namespace {};
    if (length == 0 || stat("/proc/self/ns/pid", &pid_namespace) != 0 ||
        stat("/proc/self/ns/net", &net_namespace) != 0) {
        return {};
    }
    NodeId id;
    id.boot = mix(kSeed, boot, length);
    id.namespaces = mix(kSeed, &pid_namespace.st_ino, sizeof pid_namespace.st_ino);
    id.namespaces = mix(id.namespaces, &net_namespace.st_ino, sizeof net_namespace.st_ino);
    id.rights = rights();
    return id;
}

std::uint64_t start_time_of(std::int64_t pid) noexcept {
    char path[48];
    char text[1024];
    std::snprintf(path, sizeof path, "/proc/%lld/stat", static_cast<long long>(pid));
    if (read_file(path, text, sizeof text) == 0) {
        return 0;
    }
    // The command name may hold anything; the fields after its closing parenthesis do not. Field 22
    // is the start time (proc(5)); the first field after the name is number 3.
    const char* field = std::strrchr(text, ')');
    for (int number = 2; field != nullptr && number < 22; ++number) {
        field = std::strchr(field + 1, ' ');
    }
    return field != nullptr ? std::strtoull(field, nullptr, 10) : 0;
}

ProcessId this_process() noexcept {
    const std::int64_t pid = getpid();
    return {pid, start_time_of(pid)};
}

}  // namespace beeline::topo
