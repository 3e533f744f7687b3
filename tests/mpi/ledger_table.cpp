// SPDX-License-Identifier: BSD-3-Clause
// The rows of docs/ledger.md: what one message or collective asks of the driver, counted by
// SoftCUDA. Prints them on rank 0; ledger_table_test.sh compares them with the document.
#include <dlfcn.h>
#include <sys/mman.h>

#include <array>
#include <string>
#include <string_view>

#include "harness.hpp"

namespace beeline::test {
namespace {

// How often each case is repeated; all repetitions must cost the same.
constexpr int kRepeats = 4;

enum Column : std::size_t {
    kAttributes,
    kContext,
    kCopies,
    kLaunches,
    kEvents,
    kWaits,
    kIpc,
    kRegistrations,
    kOthers,
    kColumns
};

struct Class {
    Column column;
    std::array<const char*, 6> calls;
};

// What is in none of these classes, nor in kByTiming, is counted under "other".
constexpr Class kClasses[] = {
    {kAttributes, {"cuPointerGetAttributes", "cuPointerGetAttribute"}},
    {kContext, {"cuCtxPushCurrent", "cuCtxPopCurrent", "cuCtxGetCurrent", "cuCtxSetCurrent"}},
    {kCopies, {"cuMemcpyAsync", "cuMemcpyDtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyHtoDAsync"}},
    {kLaunches, {"cuLaunchKernel"}},
    {kEvents, {"cuEventRecord", "cuStreamWaitEvent"}},
    {kWaits, {"cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize"}},
    {kIpc, {"cuIpcGetMemHandle", "cuIpcOpenMemHandle", "cuIpcCloseMemHandle"}},
    {kRegistrations, {"cuMemHostRegister", "cuMemHostUnregister"}},
};

// Polls after which a process that sends nothing has looked whether what it exported still exists.
constexpr int kQuietPolls = (1 << 21) + 1;

// How often these are called depends on timing: polls, and the event that is made when more copies
// are under way than ever before.
constexpr const char* kByTiming[] = {"cuEventQuery", "cuStreamQuery", "cuEventCreate",
                                     "cuThreadExchangeStreamCaptureMode"};

using Counts = std::array<long long, kColumns>;

Counts minus(const Counts& a, const Counts& b) {
    Counts difference{};
    for (std::size_t column = 0; column < kColumns; ++column) {
        difference[column] = a[column] - b[column];
    }
    return difference;
}

/// SoftCUDA's counters of this process.
class Meter {
 public:
    Meter() {
        void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
        calls_ = library == nullptr ? nullptr
                                    : reinterpret_cast<unsigned long long (*)(const char*)>(
                                          dlsym(library, "softcuda_calls"));
    }
    bool usable() const { return calls_ != nullptr; }

    Counts read() const {
        Counts counts{};
        long long known = 0;
        for (const Class& each : kClasses) {
            for (const char* name : each.calls) {
                counts[each.column] += name != nullptr ? count(name) : 0;
            }
            known += counts[each.column];
        }
        for (const char* name : kByTiming) {
            known += count(name);
        }
        counts[kOthers] = count(nullptr) - known;
        return counts;
    }

 private:
    long long count(const char* name) const { return static_cast<long long>(calls_(name)); }
    unsigned long long (*calls_)(const char*) = nullptr;
};

/// The cells of a row, and their sum; none for a count of 0.
std::string to_text(const Counts& counts) {
    std::string text = "|";
    long long total = 0;
    for (const long long count : counts) {
        total += count;
        text += count == 0 ? " |" : " " + std::to_string(count) + " |";
    }
    return text + " " + std::to_string(total) + " |";
}

/// `floor`: the calls that cannot be saved, as docs/ledger.md explains.
void print_row(const std::string& label, const Counts& counts, int floor) {
    std::printf("row | %s %s %d |\n", label.c_str(), to_text(counts).c_str(), floor);
}

/// Rank `from`'s counts on rank 0.
Counts fetch(const Harness& h, const Counts& mine, int from) {
    Counts counts = mine;
    if (from != 0 && h.rank == from) {
        MPI_Send(mine.data(), kColumns, MPI_LONG_LONG, 0, 9, MPI_COMM_WORLD);
    } else if (from != 0 && h.rank == 0) {
        MPI_Recv(counts.data(), kColumns, MPI_LONG_LONG, from, 9, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
    return counts;
}

struct Floor {
    int send = 0;
    int receive = 0;
};

class Table {
 public:
    explicit Table(Harness& h) : h_(h) {}

    /// Measures `operation` once and then kRepeats times, which must all cost the same; returns the
    /// first and one of the others.
    template <class Operation>
    std::array<Counts, 2> measure(const std::string& label, Operation&& operation) {
        if (exported_) {
            settle();
        }
        std::array<Counts, 2> result{};
        for (int round = 0; round <= kRepeats; ++round) {
            MPI_Barrier(MPI_COMM_WORLD);
            const Counts before = meter_.read();
            operation();
            const Counts spent = minus(meter_.read(), before);
            h_.check(round < 2 || spent == result[1],
                     "%s: repetition %d costs something else: %s instead of %s", label.c_str(),
                     round, to_text(spent).c_str(), to_text(result[1]).c_str());
            if (round < 2) {
                result[static_cast<std::size_t>(round)] = spent;
            }
        }
        return result;
    }

    /// A message from rank 0 to rank 1: rows for both, and for the first one where its floor is
    /// given.
    std::array<Counts, 2> message(const std::string& label, gpu::Kind from, gpu::Kind to,
                                  std::size_t bytes, Floor floor, Floor first = {}) {
        gpu::Buffer buffer(h_.gpu.get(), h_.rank == 0 ? from : to, bytes);
        const std::vector<unsigned char> zeros(bytes);
        buffer.write(0, zeros.data(), bytes);
        const auto mine = measure(label, [&] { pass(buffer.at(), bytes, 0, 1); });
        if (first.send != 0) {
            print_sides(label + ", first", mine[0], first);
        }
        print_sides(label, mine[1], floor);
        exported_ = from == gpu::Kind::kDevice && to == from && bytes > kEager;
        return mine;
    }

    /// What was freed before is noticed, and peers close what they had mapped of it, at a moment
    /// that depends on timing: it is to be over before anything is measured.
    void settle() {
        exported_ = false;
        MPI_Barrier(MPI_COMM_WORLD);
        for (int poll = 0; poll < kQuietPolls; ++poll) {
            int found = 0;
            MPI_Iprobe(MPI_ANY_SOURCE, 10, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }

    /// Between host memory of this kind: the heap, or a mapping that could be a device's.
    void host_message(const std::string& label, std::size_t bytes, bool mapped, Floor floor) {
        void* memory = mapped ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                              : std::malloc(bytes);
        h_.check(memory != nullptr && memory != MAP_FAILED, "no memory");
        print_sides(label, measure(label, [&] { pass(memory, bytes, 0, 1); })[1], floor);
        mapped ? static_cast<void>(munmap(memory, bytes)) : std::free(memory);
    }

    /// One message, sent when the receive is posted and nothing else is on its way, so that it is
    /// never kept for later.
    void pass(void* memory, std::size_t elements, int from, int to, MPI_Datatype type = MPI_BYTE) {
        const int count = static_cast<int>(elements);
        if (h_.rank == to) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(memory, count, type, from, 1, MPI_COMM_WORLD, &request);
            MPI_Send(nullptr, 0, MPI_BYTE, from, 2, MPI_COMM_WORLD);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else if (h_.rank == from) {
            MPI_Recv(nullptr, 0, MPI_BYTE, to, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(memory, count, type, to, 1, MPI_COMM_WORLD);
        }
    }

    /// A message from every rank to every other, so that what is set up once for a pair is there.
    void meet() {
        constexpr std::size_t kBytes = 1 << 10;
        gpu::Buffer buffer(h_.gpu.get(), gpu::Kind::kDevice, kBytes);
        for (int from = 0; from < h_.ranks; ++from) {
            for (int to = 0; to < h_.ranks; ++to) {
                if (from != to) {
                    pass(buffer.at(), kBytes, from, to);
                }
            }
        }
    }

    void print_sides(const std::string& label, const Counts& mine, Floor floor) {
        for (const int side : {0, 1}) {
            const Counts counts = fetch(h_, mine, side);
            if (h_.rank == 0) {
                print_row(label + (side == 0 ? ", send" : ", receive"), counts,
                          side == 0 ? floor.send : floor.receive);
            }
        }
    }

    /// A large message from host memory that the receiver takes late, into device memory.
    void unexpected(const std::string& label, std::size_t bytes, Floor floor) {
        gpu::Buffer buffer(h_.gpu.get(), h_.rank == 0 ? gpu::Kind::kHost : gpu::Kind::kDevice,
                           bytes);
        const int count = static_cast<int>(bytes);
        const auto mine = measure(label, [&] {
            if (h_.rank == 0) {
                MPI_Send(buffer.at(), count, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            } else if (h_.rank == 1) {
                MPI_Probe(0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Recv(buffer.at(), count, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
        });
        print_sides(label, mine[1], floor);
    }

    /// Which sides of a message have gaps.
    enum class Gaps { kBoth, kSender, kReceiver };

    /// Data of `bytes` in blocks of 8 bytes with gaps as long, from device to device.
    void blocks(const std::string& label, std::size_t bytes, Floor floor, Gaps gaps = Gaps::kBoth) {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_vector(static_cast<int>(bytes / 8), 8, 16, MPI_BYTE, &type);
        MPI_Type_commit(&type);
        gpu::Buffer buffer(h_.gpu.get(), gpu::Kind::kDevice, 2 * bytes);
        const std::vector<unsigned char> zeros(2 * bytes);
        buffer.write(0, zeros.data(), zeros.size());
        const bool here = gaps == Gaps::kBoth || (gaps == Gaps::kSender) == (h_.rank == 0);
        const auto mine = measure(label, [&] {
            here ? pass(buffer.at(), 1, 0, 1, type) : pass(buffer.at(), bytes, 0, 1);
        });
        print_sides(label, mine[1], floor);
        MPI_Type_free(&type);
        exported_ = bytes > kEager;
    }

    /// A message to oneself.
    void self(const std::string& label, std::size_t bytes, int floor) {
        gpu::Buffer from(h_.gpu.get(), gpu::Kind::kDevice, bytes);
        gpu::Buffer to(h_.gpu.get(), gpu::Kind::kDevice, bytes);
        const auto mine = measure(label, [&] {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(to.at(), static_cast<int>(bytes), MPI_BYTE, 0, 1, MPI_COMM_SELF, &request);
            MPI_Send(from.at(), static_cast<int>(bytes), MPI_BYTE, 0, 1, MPI_COMM_SELF);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        });
        if (h_.rank == 0) {
            print_row(label, mine[1], floor);
        }
    }

    /// An allreduce over the first `ranks` ranks. Every rank must pay the same.
    Counts allreduce(const std::string& label, std::size_t bytes, int ranks, int floor) {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, h_.rank < ranks ? 0 : MPI_UNDEFINED, 0, &comm);
        gpu::Buffer from(h_.gpu.get(), gpu::Kind::kDevice, bytes);
        gpu::Buffer to(h_.gpu.get(), gpu::Kind::kDevice, bytes);
        const std::vector<unsigned char> zeros(bytes);
        from.write(0, zeros.data(), bytes);
        const auto mine = measure(label, [&] {
            if (comm != MPI_COMM_NULL) {
                MPI_Allreduce(from.at(), to.at(), static_cast<int>(bytes / sizeof(float)),
                              MPI_FLOAT, MPI_SUM, comm);
            }
        });
        for (int rank = 0; rank < ranks; ++rank) {
            const Counts counts = fetch(h_, mine[1], rank);
            h_.check(h_.rank != 0 || counts == mine[1], "%s: rank %d pays something else",
                     label.c_str(), rank);
        }
        if (h_.rank == 0) {
            print_row(label + ", " + std::to_string(ranks) + " ranks", mine[1], floor);
        }
        if (comm != MPI_COMM_NULL) {
            MPI_Comm_free(&comm);
        }
        exported_ = bytes > kEager;
        return mine[1];
    }

    /// Prints what each of `steps` further steps costs.
    void per_step(const std::string& label, const Counts& more, const Counts& fewer, int steps,
                  int floor) {
        Counts each = minus(more, fewer);
        for (long long& count : each) {
            h_.check(h_.rank > 0 || count % steps == 0, "%s: the steps differ", label.c_str());
            count /= steps;
        }
        if (h_.rank == 0) {
            print_row(label, each, floor);
        }
    }

    bool usable() const { return meter_.usable(); }

 private:
    static constexpr std::size_t kEager = 8 << 10;

    Harness& h_;
    Meter meter_;
    bool exported_ = false;  ///< by the last case, whose memory is freed
};

constexpr std::size_t kChunk = 256 << 10;

void direct(Table& table) {
    using gpu::Kind;
    constexpr Kind kD = Kind::kDevice;
    constexpr Kind kH = Kind::kHost;
    table.message("eager D D, 1 KiB", kD, kD, 1 << 10, {3, 3}, {5, 5});
    table.message("eager D D, 8 KiB", kD, kD, 8 << 10, {3, 3});
    table.message("eager D H, 8 KiB", kD, kH, 8 << 10, {3, 0});
    table.message("eager H D, 8 KiB", kH, kD, 8 << 10, {0, 3});
    table.host_message("eager H H, heap, 1 KiB", 1 << 10, false, {0, 0});
    table.host_message("eager H H, mapped, 1 KiB", 1 << 10, true, {1, 1});
    table.message("IPC get, 1 MiB", kD, kD, 1 << 20, {1, 3}, {2, 4});
    table.message("IPC get, 64 MiB", kD, kD, 64 << 20, {1, 3});
    table.unexpected("unexpected H D, 4 chunks", 4 * kChunk, {0, 9});
    // One launch and one event for each chunk, however many blocks there are; small data waits.
    table.blocks("512 blocks of 8 B, D D", 4 << 10, {3, 3});
    table.blocks("131072 blocks of 8 B, D D, 2 chunks", 4 * kChunk, {5, 5});
    table.blocks("131072 blocks of 8 B to a row, D D", 4 * kChunk, {3, 1}, Table::Gaps::kSender);
    table.blocks("a row to 131072 blocks of 8 B, D D", 4 * kChunk, {1, 3}, Table::Gaps::kReceiver);
    table.self("self D D, 1 KiB", 1 << 10, 4);
    table.self("self D D, 1 MiB", 1 << 20, 4);
}

void put(Table& table) {
    constexpr auto kD = gpu::Kind::kDevice;
    table.message("IPC put, 1 MiB", kD, kD, 1 << 20, {3, 1}, {4, 2});
    table.message("IPC put, 64 MiB", kD, kD, 64 << 20, {3, 1});
}

void staged(Harness& h, Table& table) {
    using gpu::Kind;
    struct Pair {
        const char* name;
        Kind from;
        Kind to;
        bool first;
    };
    // Two calls, a copy and an event, for each chunk of a side on a device; host memory is heap
    // here, and not asked about.
    const auto floor = [](const Pair& pair, int fixed, int chunks) {
        return Floor{pair.from == Kind::kDevice ? fixed + 2 * chunks : 0,
                     pair.to == Kind::kDevice ? fixed + 2 * chunks : 0};
    };
    for (const Pair& pair : {Pair{"D D", Kind::kDevice, Kind::kDevice, true},
                             Pair{"D H", Kind::kDevice, Kind::kHost, false},
                             Pair{"H D", Kind::kHost, Kind::kDevice, false}}) {
        const std::string label = std::string("staged ") + pair.name;
        const auto few = table.message(label + ", 4 chunks", pair.from, pair.to, 4 * kChunk,
                                       floor(pair, 1, 4), pair.first ? Floor{11, 11} : Floor{});
        const auto many = table.message(label + ", 16 chunks", pair.from, pair.to, 16 * kChunk,
                                        floor(pair, 1, 16));
        Counts each = minus(many[1], few[1]);
        for (long long& count : each) {
            h.check(count % 12 == 0, "%s: the chunks differ", label.c_str());
            count /= 12;
        }
        table.print_sides(label + ", each chunk", each, floor(pair, 0, 1));
    }
}

void ring(Table& table) {
    table.meet();
    const Counts two = table.allreduce("allreduce ring, 2 MiB", 2 << 20, 2, 8);
    const Counts four = table.allreduce("allreduce ring, 2 MiB", 2 << 20, 4, 20);
    table.per_step("allreduce ring, each reducing and gathering step", four, two, 2, 6);
}

void doubling(Table& table) {
    table.meet();
    const Counts two = table.allreduce("allreduce doubling, 4 KiB", 4 << 10, 2, 7);
    const Counts four = table.allreduce("allreduce doubling, 4 KiB", 4 << 10, 4, 11);
    table.per_step("allreduce doubling, each step", four, two, 1, 4);
}

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    using namespace beeline::test;
    const std::string_view part = argc > 1 ? argv[1] : "";
    Harness h(&argc, &argv);
    Table table(h);
    h.check(table.usable(), "the driver is not SoftCUDA");
    h.check(h.ranks == (part == "ring" || part == "doubling" ? 4 : 2), "wrong number of ranks");
    if (table.usable()) {
        if (part == "direct") {
            direct(table);
        } else if (part == "put") {
            put(table);
        } else if (part == "staged") {
            staged(h, table);
        } else if (part == "ring") {
            ring(table);
        } else if (part == "doubling") {
            doubling(table);
        } else {
            h.check(false, "unknown part");
        }
    }
    return h.finish();
}
