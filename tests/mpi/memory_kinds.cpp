// SPDX-License-Identifier: BSD-3-Clause
// Every kind of memory sent to every other, at sizes around the thresholds and at odd offsets: the
// right bytes, neighbours untouched, and by the path that is the best for the pair.
//   memory_kinds [PATH-OF-EXPORTABLE]   with "cuda_bounce" or "staged" when exports are refused
#include <array>
#include <memory>
#include <string>

#include "harness.hpp"
#include "memory_blocks.hpp"

namespace beeline::test {
namespace {

constexpr std::size_t kRoom = 10 << 20;
constexpr std::size_t kGuard = 4096;
constexpr std::array<const char*, 9> kPaths = {"self",      "shm",         "ucx",
                                               "cuda_ipc",  "staged",      "cuda_vmm",
                                               "cuda_pool", "cuda_bounce", "cuda_ipc_put"};

class Kinds {
 public:
    Kinds(Harness& harness, const char* instead)
        : harness_(harness), device_(harness.rank), instead_(instead) {
        const int partner = harness.rank ^ 1;
        for (std::size_t i = 0; i < kBlocks; ++i) {
            memory_[i] = std::make_unique<Memory>(device_, static_cast<Block>(i), kRoom, partner);
        }
        for (const char* path : kPaths) {
            counters_.push_back(
                std::make_unique<Variable>(("pml_beeline_messages_" + std::string(path)).c_str()));
            harness_.check(counters_.back()->found(), "there is no counter of path %s", path);
        }
    }

    /// From rank 0 to rank 1 and back.
    void run(Block from, Block to, std::size_t bytes, std::size_t offset) {
        for (int sender = 0; sender < 2; ++sender) {
            ++number_;
            // Blocks of one number at both ranks may be each other's import: apart in place.
            const std::size_t at = kGuard + offset;
            const std::vector<unsigned char> data = pattern(bytes, number_);
            if (harness_.rank == sender) {
                send(from, to, data, at);
            } else {
                receive(from, to, data, at);
            }
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }

 private:
    static std::vector<unsigned char> pattern(std::size_t bytes, unsigned number) {
        std::vector<unsigned char> data(bytes);
        bench::fill_pattern({data.data(), data.size()}, number * 77 + 5);
        return data;
    }
    Memory& memory(Block block) { return *memory_[static_cast<std::size_t>(block)]; }

    std::string taken() {
        std::string path;
        for (std::size_t i = 0; i < kPaths.size(); ++i) {
            const auto now = counters_[i]->read();
            if (now != last_[i]) {
                path += path.empty() ? kPaths[i] : std::string("+") + kPaths[i];
            }
            last_[i] = now;
        }
        return path;
    }

    void send(Block from, Block to, const std::vector<unsigned char>& data, std::size_t at) {
        memory(from).write(at, data);
        MPI_Barrier(MPI_COMM_WORLD);
        taken();
        MPI_Send(memory(from).at(at), static_cast<int>(data.size()), MPI_BYTE, harness_.rank ^ 1, 1,
                 MPI_COMM_WORLD);
        const std::string path = taken();
        const std::string wanted = expected(from, to, data.size());
        harness_.check(wanted.empty() || path == wanted,
                       "%zu bytes of %s to %s went by %s instead of %s", data.size(),
                       to_string(from), to_string(to), path.c_str(), wanted.c_str());
    }

    void receive(Block from, Block to, const std::vector<unsigned char>& data, std::size_t at) {
        const std::size_t around = data.size() + 2 * kGuard;
        const std::vector<unsigned char> before = pattern(around, number_ + 1000003);
        memory(to).write(at - kGuard, before);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Status status;
        MPI_Recv(memory(to).at(at), static_cast<int>(data.size()), MPI_BYTE, harness_.rank ^ 1, 1,
                 MPI_COMM_WORLD, &status);
        int count = 0;
        MPI_Get_count(&status, MPI_BYTE, &count);
        std::vector<unsigned char> wanted = before;
        std::copy(data.begin(), data.end(), wanted.begin() + kGuard);
        const std::vector<unsigned char> got = memory(to).read(at - kGuard, around);
        std::size_t first = 0;
        while (first < around && got[first] == wanted[first]) {
            ++first;
        }
        harness_.check(count == static_cast<int>(data.size()) && first == around,
                       "%zu bytes of %s into %s at offset %zu: byte %zd is wrong", data.size(),
                       to_string(from), to_string(to), at,
                       static_cast<std::ptrdiff_t>(first) - static_cast<std::ptrdiff_t>(kGuard));
    }

    /// The one path that the pair should take when the message is large; empty: not this test's.
    std::string expected(Block from, Block to, std::size_t bytes) const {
        if (is_host(from) || bytes < (std::size_t{1} << 20)) {
            return {};
        }
        const bool pinned = to == Block::kPinned || to == Block::kRegistered;
        if (is_host(to) && !pinned) {
            return "staged";
        }
        // What cannot be mapped is written into memory that can.
        const std::string instead =
            to == Block::kDevice && !instead_.empty() ? "cuda_ipc_put" : instead_;
        switch (from) {
            case Block::kDevice:
                return "cuda_ipc";
            case Block::kVmmShared:
            case Block::kVmmParts:
                return instead_.empty() ? "cuda_vmm" : instead;
            case Block::kPoolShared:
                return instead_.empty() ? "cuda_pool" : instead;
            default:
                return to == Block::kDevice   ? "cuda_ipc_put"
                       : instead_ == "staged" ? "staged"
                                              : "cuda_bounce";
        }
    }

    Harness& harness_;
    Device device_;
    std::string instead_;
    std::array<std::unique_ptr<Memory>, kBlocks> memory_;
    std::vector<std::unique_ptr<Variable>> counters_;
    std::array<unsigned long long, kPaths.size()> last_{};
    unsigned number_ = 0;
};

int main_of(int argc, char** argv) {
    Harness harness(&argc, &argv);
    if (harness.ranks != 2) {
        harness.check(false, "memory_kinds runs on 2 ranks");
        return harness.finish();
    }
    {
        Kinds kinds(harness, argc > 1 ? argv[1] : "");
        // A first large message of each kind may go another way, where exports are refused.
        const bool refused = argc > 1;
        for (std::size_t from = 0; from < kBlocks; ++from) {
            for (std::size_t to = 0; to < kBlocks; ++to) {
                for (const std::size_t bytes :
                     {std::size_t{7}, std::size_t{8192}, std::size_t{8193}, std::size_t{65537}}) {
                    kinds.run(static_cast<Block>(from), static_cast<Block>(to), bytes,
                              bytes % 2 * 13);
                }
                if (!refused || to == from) {
                    kinds.run(static_cast<Block>(from), static_cast<Block>(to), (1 << 20) + 3, 4);
                }
            }
            // Across parts of two megabytes, from the middle of the first into the last.
            kinds.run(static_cast<Block>(from), Block::kDevice, 7 << 20, (1 << 20) - 8192 + 4);
            kinds.run(static_cast<Block>(from), static_cast<Block>(from), (4 << 20) + 1, 524287);
        }
    }
    return harness.finish();
}

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    return beeline::test::main_of(argc, argv);
}
