// SPDX-License-Identifier: BSD-3-Clause
// Memory that comes, goes and comes back at the same addresses as something else, on several ranks,
// and drivers that are odd about handles.
//   memory_reuse halo|bcast|same_address|managed_pool|leak
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "harness.hpp"
#include "memory_blocks.hpp"

namespace beeline::test {
namespace {

/// CRC-32 as in IEEE 802.3.
std::uint32_t crc(const unsigned char* data, std::size_t bytes) {
    static const std::array<std::uint32_t, 256> table = [] {
        std::array<std::uint32_t, 256> made{};
        for (std::uint32_t i = 0; i < made.size(); ++i) {
            std::uint32_t value = i;
            for (int bit = 0; bit < 8; ++bit) {
                value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320U : 0U);
            }
            made[i] = value;
        }
        return made;
    }();
    std::uint32_t value = ~0U;
    for (std::size_t i = 0; i < bytes; ++i) {
        value = (value >> 8) ^ table[(value ^ data[i]) & 0xff];
    }
    return ~value;
}

/// Calls of a driver entry so far; 0 with a driver that does not count.
unsigned long long calls(const char* name) {
    auto* count = reinterpret_cast<unsigned long long (*)(const char*)>(
        dlsym(RTLD_DEFAULT, "softcuda_calls"));
    return count != nullptr ? count(name) : 0;
}

class Reuse {
 public:
    explicit Reuse(Harness& harness)
        : h_(harness), device_(harness.rank), partner_(harness.rank ^ 1) {}

    /// Each rank with four others in a torus; every message carries who sent it, when, and a
    /// checksum. The buffers are made anew every few steps.
    void halo() {
        constexpr int kSteps = 20;
        constexpr int kKept = 5;
        constexpr std::array<std::size_t, 4> kSizes = {700, 9000, 70000, 300000};
        constexpr std::array<Block, 4> kKinds = {Block::kDevice, Block::kDevice, Block::kVmmShared,
                                                 Block::kPoolShared};
        const std::array<int, 4> neighbours = {1, h_.ranks - 1, 3 % h_.ranks,
                                               (2 * h_.ranks - 3) % h_.ranks};
        std::array<std::unique_ptr<Memory>, 8> memory;
        for (int step = 0; step < kSteps; ++step) {
            for (std::size_t i = 0; i < memory.size() && step % kKept == 0; ++i) {
                const auto kind =
                    (i + static_cast<std::size_t>(step / kKept + h_.rank)) % kKinds.size();
                memory[i].reset();
                memory[i] = std::make_unique<Memory>(device_, kKinds[kind], kSizes.back(), 0);
            }
            std::array<MPI_Request, 8> requests;
            for (std::size_t i = 0; i < 4; ++i) {
                const std::size_t bytes = kSizes[(i + static_cast<std::size_t>(step)) % 4];
                memory[i]->write(0, message(h_.rank, step, i, bytes));
                const int to = (h_.rank + neighbours[i]) % h_.ranks;
                const int from = (h_.rank + h_.ranks - neighbours[i]) % h_.ranks;
                MPI_Irecv(memory[4 + i]->at(0), static_cast<int>(bytes), MPI_BYTE, from,
                          static_cast<int>(i), MPI_COMM_WORLD, &requests[4 + i]);
                MPI_Isend(memory[i]->at(0), static_cast<int>(bytes), MPI_BYTE, to,
                          static_cast<int>(i), MPI_COMM_WORLD, &requests[i]);
            }
            MPI_Waitall(8, requests.data(), MPI_STATUSES_IGNORE);
            for (std::size_t i = 0; i < 4; ++i) {
                const std::size_t bytes = kSizes[(i + static_cast<std::size_t>(step)) % 4];
                const int from = (h_.rank + h_.ranks - neighbours[i]) % h_.ranks;
                check_message(memory[4 + i]->read(0, bytes), from, step, i);
                check_message(memory[i]->read(0, bytes), h_.rank, step, i);
            }
        }
    }

    /// A large buffer allocated, broadcast and freed again and again leaves nothing taken.
    void bcast(int rounds, std::size_t bytes) {
        std::size_t settled = 0;
        std::size_t least = SIZE_MAX;
        for (int round = 0; round < rounds; ++round) {
            {
                Memory memory(device_, Block::kDevice, bytes, 0);
                const auto mark = static_cast<unsigned char>(round + 1);
                if (h_.rank == round % h_.ranks) {
                    memory.write(5, {mark});
                    memory.write(bytes - 1, {mark});
                }
                MPI_Bcast(memory.at(0), static_cast<int>(bytes), MPI_BYTE, round % h_.ranks,
                          MPI_COMM_WORLD);
                h_.check(memory.read(5, 1)[0] == mark && memory.read(bytes - 1, 1)[0] == mark,
                         "round %d: wrong bytes", round);
            }
            const std::size_t now = free_memory();
            if (round == 5) {
                settled = now;
            }
            least = round < 5 ? least : std::min(least, now);
        }
        // What a peer has not let go of yet at the moment of looking is one or two rounds' memory.
        h_.check(settled - least <= 3 * bytes, "free memory fell from %zu to %zu bytes", settled,
                 least);
    }

    /// One address that is memory of one kind after another.
    void same_address() {
        constexpr std::size_t kBytes = std::size_t{2} << 20;
        CUdeviceptr first = 0;
        for (int round = 0; round < 9; ++round) {
            CUdeviceptr address = 0;
            CUmemGenericAllocationHandle part = 0;
            const int kind = round % 3;
            if (kind == 0) {
                need(cuMemAlloc(&address, kBytes), "cuMemAlloc");
            } else if (kind == 1) {
                need(cuMemAddressReserve(&address, kBytes, 0, first, 0), "cuMemAddressReserve");
                const CUmemAllocationProp props = device_.properties(true);
                CUmemAccessDesc access{};
                access.location = props.location;
                access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
                need(cuMemCreate(&part, kBytes, &props, 0), "cuMemCreate");
                need(cuMemMap(address, kBytes, 0, part, 0), "cuMemMap");
                need(cuMemSetAccess(address, kBytes, &access, 1), "cuMemSetAccess");
            } else {
                need(cuMemAllocFromPoolAsync(&address, kBytes, device_.pool, device_.stream),
                     "cuMemAllocFromPoolAsync");
                need(cuStreamSynchronize(device_.stream), "cuStreamSynchronize");
            }
            first = round == 0 ? address : first;
            h_.check(address == first || calls("cuInit") == 0,
                     "round %d: the address is not used again", round);
            pass(reinterpret_cast<void*>(address), kBytes, round);
            if (kind == 0) {
                need(cuMemFree(address), "cuMemFree");
            } else if (kind == 1) {
                need(cuMemUnmap(address, kBytes), "cuMemUnmap");
                need(cuMemRelease(part), "cuMemRelease");
                need(cuMemAddressFree(address, kBytes), "cuMemAddressFree");
            } else {
                need(cuMemFreeAsync(address, device_.stream), "cuMemFreeAsync");
                need(cuStreamSynchronize(device_.stream), "cuStreamSynchronize");
            }
        }
        after_managed(kBytes);
    }

    /// Managed memory of a pool can be exported in no way, and nobody may try: a driver has been
    /// seen to crash.
    void managed_pool() {
        constexpr std::array<const char*, 4> kAsking = {
            "cuIpcGetMemHandle", "cuMemPoolExportPointer", "cuMemPoolExportToShareableHandle",
            "cuMemGetHandleForAddressRange"};
        std::array<unsigned long long, kAsking.size()> before{};
        for (int round = 0; round < 4; ++round) {
            Memory memory(device_, Block::kPoolManaged, std::size_t{2} << 20, 0);
            for (const std::size_t bytes : {std::size_t{100}, std::size_t{2} << 20}) {
                pass(memory.at(0), bytes, round);
            }
            for (std::size_t i = 0; i < kAsking.size(); ++i) {
                const auto now = calls(kAsking[i]);
                // Of the first round: the library's own buffer, that managed memory goes through.
                h_.check(round == 0 ? now <= 1 : now == before[i],
                         "%s was called %llu times in round %d", kAsking[i], now - before[i],
                         round);
                before[i] = now;
            }
        }
    }

    /// With a driver that loses a descriptor at each opening, and few of them: messages go on, and
    /// the application still has some.
    void leak(int buffers) {
        for (int i = 0; i < buffers; ++i) {
            Memory memory(device_, Block::kDevice, std::size_t{2} << 20, 0);
            pass(memory.at(0), std::size_t{2} << 20, i);
        }
        std::array<int, 16> own{};
        for (int& descriptor : own) {
            descriptor = dup(0);
            h_.check(descriptor >= 0, "no descriptor is left for the application");
        }
        for (const int descriptor : own) {
            close(descriptor);
        }
    }

 private:
    static std::size_t free_memory() {
        std::size_t free = 0;
        std::size_t total = 0;
        need(cuMemGetInfo(&free, &total), "cuMemGetInfo");
        return free;
    }

    static std::vector<unsigned char> message(int from, int step, std::size_t way,
                                              std::size_t bytes) {
        std::vector<unsigned char> data(bytes);
        const std::uint32_t head[3] = {static_cast<std::uint32_t>(from),
                                       static_cast<std::uint32_t>(step),
                                       static_cast<std::uint32_t>(way)};
        bench::fill_pattern({data.data(), bytes},
                            bench::make_seed(head[1], head[0], head[2], static_cast<unsigned>(7)));
        std::memcpy(data.data(), head, sizeof head);
        const std::uint32_t sum = crc(data.data(), bytes - sizeof sum);
        std::memcpy(data.data() + bytes - sizeof sum, &sum, sizeof sum);
        return data;
    }
    void check_message(const std::vector<unsigned char>& data, int from, int step,
                       std::size_t way) {
        std::uint32_t head[3];
        std::uint32_t sum = 0;
        std::memcpy(head, data.data(), sizeof head);
        std::memcpy(&sum, data.data() + data.size() - sizeof sum, sizeof sum);
        h_.check(sum == crc(data.data(), data.size() - sizeof sum),
                 "step %d: the checksum of %zu bytes from rank %d is wrong", step, data.size(),
                 from);
        h_.check(head[0] == static_cast<std::uint32_t>(from) &&
                     head[1] == static_cast<std::uint32_t>(step) && head[2] == way,
                 "step %d: %zu bytes of rank %u's step %u instead of rank %d's", step, data.size(),
                 head[0], head[1], from);
    }

    /// From the lower rank of a pair to the higher, at an odd place in between, and back.
    void pass(void* at, std::size_t bytes, int round) {
        const auto there = reinterpret_cast<CUdeviceptr>(at);
        for (int sender = 0; sender < 2; ++sender) {
            const std::size_t offset = bytes > 1000 ? 13 : 0;
            const std::size_t length = bytes - offset;
            std::vector<unsigned char> data(length);
            bench::fill_pattern({data.data(), length},
                                static_cast<std::uint64_t>(round * 2 + sender + 1) * 7919);
            if (h_.rank % 2 == sender) {
                copy(there + offset, reinterpret_cast<CUdeviceptr>(data.data()), length);
                MPI_Send(static_cast<char*>(at) + offset, static_cast<int>(length), MPI_BYTE,
                         partner_, round, MPI_COMM_WORLD);
                continue;
            }
            std::vector<unsigned char> got(length, 0xee);
            copy(there + offset, reinterpret_cast<CUdeviceptr>(got.data()), length);
            MPI_Recv(static_cast<char*>(at) + offset, static_cast<int>(length), MPI_BYTE, partner_,
                     round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            copy(reinterpret_cast<CUdeviceptr>(got.data()), there + offset, length);
            h_.check(got == data, "round %d: %zu bytes from rank %d are wrong", round, length,
                     partner_);
        }
    }
    static void copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
        need(cuMemcpy(to, from, bytes), "cuMemcpy");
        need(cuCtxSynchronize(), "cuCtxSynchronize");
    }

    /// Managed memory, then the host's at its address, then the same registered.
    void after_managed(std::size_t bytes) {
        CUdeviceptr managed = 0;
        need(cuMemAllocManaged(&managed, bytes, CU_MEM_ATTACH_GLOBAL), "cuMemAllocManaged");
        void* address = reinterpret_cast<void*>(managed);
        pass(address, bytes, 20);
        need(cuMemFree(managed), "cuMemFree");
        void* host = mmap(address, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        h_.check(host == address, "no host memory where managed memory was");
        if (host == MAP_FAILED) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        pass(host, bytes, 21);
        need(cuMemHostRegister(host, bytes, 0), "cuMemHostRegister");
        pass(host, bytes, 22);
        need(cuMemHostUnregister(host), "cuMemHostUnregister");
        pass(host, bytes, 23);
        munmap(host, bytes);
    }

    Harness& h_;
    Device device_;
    int partner_;
};

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    beeline::test::Harness harness(&argc, &argv);
    const std::string which = argc > 1 ? argv[1] : "";
    {
        beeline::test::Reuse reuse(harness);
        if (which == "halo") {
            reuse.halo();
        } else if (which == "bcast") {
            reuse.bcast(100, std::size_t{80} << 20);
        } else if (which == "same_address") {
            reuse.same_address();
        } else if (which == "managed_pool") {
            reuse.managed_pool();
        } else if (which == "leak") {
            reuse.leak(300);
        } else {
            harness.check(false, "unknown case %s", which.c_str());
        }
    }
    return harness.finish();
}
