// SPDX-License-Identifier: BSD-3-Clause
// Buffers that come and go, and very many of them: neither device memory nor descriptors nor
// mappings grow.
#include <dirent.h>
#include <dlfcn.h>

#include <memory>

#include "harness.hpp"
#include "memory_blocks.hpp"

namespace beeline::test {
namespace {

/// Descriptors this process has open.
std::size_t descriptors() {
    std::size_t count = 0;
    DIR* folder = opendir("/proc/self/fd");
    while (folder != nullptr && readdir(folder) != nullptr) {
        ++count;
    }
    if (folder != nullptr) {
        closedir(folder);
    }
    return count;
}

/// Of the software device; -1 with a real one.
int open_handles() {
    auto* count = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "softcuda_open_ipc_handles"));
    return count != nullptr ? count() : -1;
}

std::size_t free_memory() {
    std::size_t free = 0;
    std::size_t total = 0;
    need(cuMemGetInfo(&free, &total), "cuMemGetInfo");
    return free;
}

class Growth {
 public:
    explicit Growth(Harness& harness)
        : harness_(harness),
          device_(harness.rank),
          sends_(harness.rank == 0),
          limit_(sends_ ? 256 : 128) {}

    /// `rounds` of {allocate, send, free} at rank 0: no more than two buffers' memory is ever
    /// missing.
    void come_and_go(Block block, std::size_t bytes, int rounds, bool growing) {
        Memory target(device_, Block::kDevice, bytes + growth(growing, rounds), 1);
        const std::size_t before = free_memory();
        const std::size_t opened = opened_.read();
        std::size_t least = before;
        std::size_t most_descriptors = 0;
        const std::size_t descriptors_before = descriptors();
        for (int round = 0; round < rounds; ++round) {
            const std::size_t size = bytes + growth(growing, round);
            if (sends_) {
                {
                    Memory one(device_, block, size, 1);
                    one.write(size - 1, {static_cast<unsigned char>(round)});
                    MPI_Send(one.at(0), static_cast<int>(size), MPI_BYTE, 1, 1, MPI_COMM_WORLD);
                }
            } else {
                MPI_Recv(target.at(0), static_cast<int>(size), MPI_BYTE, 0, 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
                harness_.check(target.read(size - 1, 1)[0] == static_cast<unsigned char>(round),
                               "%s, round %d: wrong bytes", to_string(block), round);
            }
            least = std::min(least, free_memory());
            most_descriptors = std::max(most_descriptors, descriptors());
        }
        MPI_Barrier(MPI_COMM_WORLD);
        const std::size_t missing = before - least;
        harness_.check(missing <= 2 * (bytes + growth(growing, rounds)) + (16 << 20),
                       "%s: %zu bytes of device memory are missing after buffers of %zu",
                       to_string(block), missing, bytes);
        harness_.check(most_descriptors <= descriptors_before + 24,
                       "%s: descriptors grew from %zu to %zu", to_string(block), descriptors_before,
                       most_descriptors);
        if (!sends_ && block != Block::kPoolShared && block != Block::kManaged) {
            harness_.check(opened_.read() - opened >= static_cast<std::size_t>(rounds),
                           "%s: only %llu mappings for %d buffers", to_string(block),
                           opened_.read() - opened, rounds);
            harness_.check(open_.read() <= 16, "%s: %llu mappings are left open", to_string(block),
                           open_.read());
        }
    }

    /// Very many buffers that all live, sent one after the other.
    void many(int buffers, std::size_t bytes) {
        CUdeviceptr target = 0;
        need(cuMemAlloc(&target, bytes), "cuMemAlloc");
        std::vector<CUdeviceptr> all;
        for (int i = 0; i < buffers && sends_; ++i) {
            all.push_back(0);
            need(cuMemAlloc(&all.back(), bytes), "cuMemAlloc");
        }
        std::size_t settled = 0;
        for (int i = 0; i < buffers + 1000; ++i) {
            const auto where = sends_ ? all[static_cast<std::size_t>(i % buffers)] : target;
            if (sends_) {
                MPI_Send(reinterpret_cast<void*>(where), static_cast<int>(bytes), MPI_BYTE, 1, 2,
                         MPI_COMM_WORLD);
            } else {
                MPI_Recv(reinterpret_cast<void*>(where), static_cast<int>(bytes), MPI_BYTE, 0, 2,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
            if (i == 1000) {
                settled = descriptors();
            }
            if (i > 1000 && i % 1000 == 0) {
                harness_.check(open_.read() <= limit_, "%llu mappings are open", open_.read());
                harness_.check(open_handles() <= static_cast<int>(limit_), "%d handles are open",
                               open_handles());
                harness_.check(known_.read() <= limit_, "%llu exports are known", known_.read());
                harness_.check(descriptors() <= settled + limit_,
                               "descriptors grew from %zu to %zu", settled, descriptors());
            }
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (const CUdeviceptr one : all) {
            cuMemFree(one);
        }
        cuMemFree(target);
    }

    void verdict() {
        if (!sends_) {
            harness_.check(freed_.read() > 0, "no mapping was closed because it was freed");
            harness_.check(evicted_.read() > 0, "no mapping was closed for room");
        }
    }

 private:
    static std::size_t growth(bool growing, int round) {
        return growing ? static_cast<std::size_t>(round) << 21 : 0;
    }

    Harness& harness_;
    Device device_;
    bool sends_;
    std::size_t limit_;  // pml_beeline_ipc_cache_entries, as memory_growth_test.sh sets it
    Variable open_{"pml_beeline_imports_open"};
    Variable opened_{"pml_beeline_imports_opened"};
    Variable freed_{"pml_beeline_imports_freed"};
    Variable evicted_{"pml_beeline_imports_evicted"};
    Variable known_{"pml_beeline_exports_known"};
};

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    using beeline::test::Block;
    beeline::test::Harness harness(&argc, &argv);
    {
        beeline::test::Growth growth(harness);
        growth.come_and_go(Block::kDevice, 80 << 20, 8, false);
        growth.come_and_go(Block::kDevice, 8 << 20, 20, true);
        growth.come_and_go(Block::kVmmShared, 4 << 20, 40, false);
        growth.come_and_go(Block::kVmmParts, 6 << 20, 20, false);
        growth.come_and_go(Block::kPoolShared, 3 << 20, 40, false);
        growth.come_and_go(Block::kManaged, 3 << 20, 30, false);
        growth.many(10000, 8704);
        growth.verdict();
    }
    return harness.finish();
}
