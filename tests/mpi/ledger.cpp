// SPDX-License-Identifier: BSD-3-Clause
// How many driver calls a message costs, by SoftCUDA's ledger: the first argument names the
// scenario.
#include <dlfcn.h>

#include <string_view>

#include "harness.hpp"

namespace beeline::test {
namespace {

constexpr std::size_t kLarge = 1 << 20;
constexpr std::size_t kRendezvous = 96 << 10;
constexpr std::size_t kSmall = 1000;

/// SoftCUDA's own functions, absent from a real driver and from a process without one.
class Ledger {
 public:
    Ledger()
        : library_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD)),
          calls_(reinterpret_cast<Calls>(find("softcuda_calls"))),
          open_handles_(reinterpret_cast<OpenHandles>(find("softcuda_open_ipc_handles"))) {}

    bool loaded() const { return library_ != nullptr; }
    bool usable() const { return calls_ != nullptr && open_handles_ != nullptr; }
    unsigned long long calls(const char* name) const { return calls_(name); }
    int open_handles() const { return open_handles_(); }

 private:
    using Calls = unsigned long long (*)(const char*);
    using OpenHandles = int (*)();
    void* find(const char* name) const {
        return library_ == nullptr ? nullptr : dlsym(library_, name);
    }
    void* library_;
    Calls calls_;
    OpenHandles open_handles_;
};

constexpr const char* kAllocations[] = {"cuMemAlloc",      "cuMemAllocPitch",   "cuMemAllocHost",
                                        "cuMemHostAlloc",  "cuMemHostRegister", "cuMemAllocManaged",
                                        "cuMemAllocAsync", "cuMemCreate"};

unsigned long long allocations(const Ledger& ledger) {
    unsigned long long total = 0;
    for (const char* name : kAllocations) {
        total += ledger.calls(name);
    }
    return total;
}

/// One message from rank 0 to rank 1, checked.
void send_once(Harness& h, Area& area, std::size_t bytes, unsigned round) {
    const std::uint64_t seed = bench::make_seed(round, 0, 1, 0);
    if (h.rank == 0) {
        area.set(bytes, 0, seed);
        MPI_Send(area.data(), static_cast<int>(bytes), MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    } else {
        area.poison(bytes, 0, seed);
        MPI_Recv(area.data(), static_cast<int>(bytes), MPI_BYTE, 0, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        area.expect(bytes, seed);
        h.check(area.intact(), "round %u of %zu bytes: wrong data", round, bytes);
    }
}

/// A large buffer sent again and again is mapped once.
void repeat(Harness& h) {
    const Ledger ledger;
    Area area(h.gpu.get(), gpu::Kind::kDevice, kLarge);
    for (unsigned round = 0; round < 100; ++round) {
        send_once(h, area, kLarge, round);
    }
    if (h.rank == 1) {
        h.check(ledger.calls("cuIpcOpenMemHandle") == 1, "cuIpcOpenMemHandle was called %llu times",
                ledger.calls("cuIpcOpenMemHandle"));
        h.check(ledger.open_handles() == 1, "%d handles are open", ledger.open_handles());
    } else {
        h.check(ledger.calls("cuIpcGetMemHandle") == 1, "cuIpcGetMemHandle was called %llu times",
                ledger.calls("cuIpcGetMemHandle"));
    }
}

/// Memory freed and allocated again at the same address is another buffer, and the old one's
/// mapping goes away.
void reuse(Harness& h) {
    const Ledger ledger;
    Area received(h.gpu.get(), gpu::Kind::kDevice, kRendezvous);
    const void* first = nullptr;
    int same = 0;
    int open_early = -1;
    for (unsigned round = 0; round < 1000; ++round) {
        if (h.rank == 0) {
            Area sent(h.gpu.get(), gpu::Kind::kDevice, kRendezvous);
            send_once(h, sent, kRendezvous, round);
            first = first == nullptr ? sent.data() : first;
            same += sent.data() == first ? 1 : 0;
        } else {
            send_once(h, received, kRendezvous, round);
        }
        if (round == 100) {
            open_early = ledger.open_handles();
        }
    }
    h.check(ledger.open_handles() == open_early,
            "%d handles were open after 100 rounds, %d after 1000", open_early,
            ledger.open_handles());
    h.check(h.rank != 0 || same > 500, "the address came back %d times only: nothing was tested",
            same);
}

/// Small messages go through memory that is there already.
void small(Harness& h) {
    const Ledger ledger;
    Area area(h.gpu.get(), gpu::Kind::kDevice, kSmall);
    send_once(h, area, kSmall, 0);
    const unsigned long long before = allocations(ledger);
    for (unsigned round = 1; round < 100; ++round) {
        send_once(h, area, kSmall, round);
    }
    h.check(allocations(ledger) == before, "99 small messages made %llu allocations",
            allocations(ledger) - before);
    h.check(ledger.calls("cuIpcGetMemHandle") == 0, "a small message exported its buffer");
    h.check(ledger.calls("cuIpcOpenMemHandle") == 0, "a small message was mapped");
}

/// A program that never touches a GPU: the driver is not even loaded.
void host(Harness& h) {
    Area area(nullptr, gpu::Kind::kHost, kLarge);
    for (unsigned round = 0; round < 20; ++round) {
        send_once(h, area, round % 2 == 0 ? kSmall : kLarge, round);
    }
    const Ledger ledger;
    h.check(!ledger.loaded() || (ledger.usable() && ledger.calls(nullptr) == 0),
            "a host-only run loaded the driver and called it");
}

/// A program that has loaded the driver before MPI_Init, but made no context.
void init(Harness& h, const Ledger& ledger) {
    h.check(ledger.calls("cuDevicePrimaryCtxRetain") == 0 && ledger.calls("cuCtxCreate") == 0,
            "MPI_Init created a context");
    h.check(ledger.calls("cuInit") == 1, "MPI_Init called cuInit");
    Area area(nullptr, gpu::Kind::kHost, kLarge);
    for (unsigned round = 0; round < 20; ++round) {
        send_once(h, area, round % 2 == 0 ? kSmall : kLarge, round);
    }
    h.check(ledger.calls("cuDevicePrimaryCtxRetain") == 0 && ledger.calls("cuCtxCreate") == 0,
            "messages between host buffers created a context");
}

bool load_driver() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    const auto initialise = library == nullptr
                                ? nullptr
                                : reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"));
    return initialise != nullptr && initialise(0) == 0;
}

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    using namespace beeline::test;
    const std::string_view scenario = argc > 1 ? argv[1] : "";
    if (scenario == "init" && !load_driver()) {
        std::printf("FAIL ledger: no driver to load\n");
        return 1;
    }
    Harness h(&argc, &argv);
    const bool needs_ledger = scenario != "no-gpu";
    const Ledger ledger;
    h.check(h.ranks == 2, "ledger runs with 2 ranks");
    if (needs_ledger) {
        h.check(ledger.usable(), "the driver is not SoftCUDA");
    }
    if (h.ranks == 2 && (!needs_ledger || ledger.usable())) {
        if (scenario == "repeat") {
            repeat(h);
        } else if (scenario == "reuse") {
            reuse(h);
        } else if (scenario == "small") {
            small(h);
        } else if (scenario == "init") {
            init(h, ledger);
        } else if (scenario == "no-gpu") {
            host(h);
        } else {
            h.check(false, "unknown scenario");
        }
    }
    return h.finish();
}
