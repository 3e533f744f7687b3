// SPDX-License-Identifier: BSD-3-Clause
// Device memory under requests that live long, and under several threads at once.
//   memory_requests rounds|freed|mixed|threads
#include <array>
#include <memory>
#include <string>
#include <thread>

#include "harness.hpp"
#include "memory_blocks.hpp"

namespace beeline::test {
namespace {

class LongRequests {
 public:
    explicit LongRequests(Harness& harness)
        : h_(harness),
          device_(harness.rank),
          partner_(harness.rank ^ 1),
          sends_(harness.rank == 0) {}

    /// Persistent requests started again and again; the data is that of the moment of the start.
    void rounds(std::size_t bytes, int count) {
        Memory memory(device_, Block::kDevice, bytes, 0);
        MPI_Request request = init(memory.at(0), bytes);
        for (int round = 0; round < count; ++round) {
            const auto marks = marks_of(round);
            if (sends_) {
                memory.write(0, marks);
                memory.write(bytes - marks.size(), marks);
            }
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            h_.check(memory.read(0, marks.size()) == marks &&
                         memory.read(bytes - marks.size(), marks.size()) == marks,
                     "round %d of %zu bytes: other data", round, bytes);
        }
        MPI_Request_free(&request);
    }

    /// The request is freed, when it is done or before, then its memory, whose address comes back
    /// with the next one.
    void freed(std::size_t bytes) {
        for (int round = 0; round < 60; ++round) {
            const bool active = round % 3 == 0 && sends_;
            const Block block = round % 2 == 0 ? Block::kDevice : Block::kVmmShared;
            Memory memory(device_, block, bytes, 0);
            MPI_Request request = init(memory.at(0), bytes);
            const auto marks = marks_of(round);
            if (sends_) {
                memory.write(bytes - marks.size(), marks);
            }
            MPI_Start(&request);
            if (active) {
                MPI_Request_free(&request);
            } else {
                MPI_Wait(&request, MPI_STATUS_IGNORE);
                MPI_Request_free(&request);
            }
            h_.check(memory.read(bytes - marks.size(), marks.size()) == marks,
                     "round %d of %zu bytes: other data", round, bytes);
            MPI_Barrier(MPI_COMM_WORLD);  // the receiver has it: the memory may go
        }
    }

    /// One MPI_Startall over every kind of memory.
    void mixed() {
        constexpr std::size_t kBytes = 100000;
        std::array<std::unique_ptr<Memory>, 2 * (kBlocks - 1)> memory;
        std::array<MPI_Request, memory.size()> requests;
        for (std::size_t i = 0; i < memory.size(); ++i) {
            memory[i] = std::make_unique<Memory>(device_, static_cast<Block>(i / 2), kBytes, 0);
            const int tag = static_cast<int>(i / 2);
            if (i % 2 == 0) {
                MPI_Send_init(memory[i]->at(0), kBytes, MPI_BYTE, partner_, tag, MPI_COMM_WORLD,
                              &requests[i]);
            } else {
                // From one kind into another.
                memory[i] = std::make_unique<Memory>(
                    device_, static_cast<Block>((i / 2 + 3) % (kBlocks - 1)), kBytes, 0);
                MPI_Recv_init(memory[i]->at(0), kBytes, MPI_BYTE, partner_, tag, MPI_COMM_WORLD,
                              &requests[i]);
            }
        }
        for (int round = 0; round < 25; ++round) {
            for (std::size_t i = 0; i < memory.size(); i += 2) {
                memory[i]->write(kBytes - 4, marks_of(round * 100 + static_cast<int>(i)));
            }
            MPI_Startall(static_cast<int>(requests.size()), requests.data());
            MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
            for (std::size_t i = 1; i < memory.size(); i += 2) {
                h_.check(memory[i]->read(kBytes - 4, 4) ==
                             marks_of(round * 100 + static_cast<int>(i) - 1),
                         "round %d: other data into %s", round, to_string(memory[i]->block()));
            }
        }
        for (MPI_Request& request : requests) {
            MPI_Request_free(&request);
        }
    }

    /// Threads receive from parts of one allocation of the peer at the same time: it is mapped
    /// once.
    void threads() {
        constexpr std::size_t kThreads = 8;
        constexpr std::size_t kPart = std::size_t{1} << 20;
        Memory memory(device_, Block::kDevice, kThreads * kPart, 0);
        const Variable opened("pml_beeline_imports_opened");
        h_.check(opened.found(), "there is no counter of opened handles");
        const auto before = opened.read();
        for (int round = 0; round < 5; ++round) {
            if (sends_) {
                for (std::size_t i = 0; i < kThreads; ++i) {
                    memory.write(i * kPart + kPart - 4,
                                 marks_of(round * 100 + static_cast<int>(i)));
                }
            }
            MPI_Barrier(MPI_COMM_WORLD);
            std::vector<std::thread> all;
            for (std::size_t i = 0; i < kThreads; ++i) {
                all.emplace_back([&, i] {
                    unsigned char* at = memory.at(i * kPart);
                    const int tag = static_cast<int>(i);
                    if (sends_) {
                        MPI_Send(at, kPart, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
                    } else {
                        MPI_Recv(at, kPart, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                    }
                });
            }
            for (std::thread& one : all) {
                one.join();
            }
            for (std::size_t i = 0; i < kThreads && !sends_; ++i) {
                h_.check(memory.read(i * kPart + kPart - 4, 4) ==
                             marks_of(round * 100 + static_cast<int>(i)),
                         "round %d: thread %zu received other data", round, i);
            }
        }
        const auto mine = static_cast<unsigned long>(opened.read() - before);
        unsigned long total = 0;
        MPI_Allreduce(&mine, &total, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
        h_.check(mine <= 1 && total >= 1, "the handle was opened %lu times, %lu by both ranks",
                 mine, total);
    }

 private:
    static std::vector<unsigned char> marks_of(int value) {
        return {static_cast<unsigned char>(value), static_cast<unsigned char>(value >> 8), 0xa5,
                static_cast<unsigned char>(~value)};
    }
    MPI_Request init(void* at, std::size_t bytes) const {
        MPI_Request request = MPI_REQUEST_NULL;
        if (sends_) {
            MPI_Send_init(at, static_cast<int>(bytes), MPI_BYTE, partner_, 1, MPI_COMM_WORLD,
                          &request);
        } else {
            MPI_Recv_init(at, static_cast<int>(bytes), MPI_BYTE, partner_, 1, MPI_COMM_WORLD,
                          &request);
        }
        return request;
    }

    Harness& h_;
    Device device_;
    int partner_;
    bool sends_;
};

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    const std::string which = argc > 1 ? argv[1] : "";
    beeline::test::Harness harness(&argc, &argv,
                                   which == "threads" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    if (harness.ranks != 2) {
        harness.check(false, "memory_requests runs on 2 ranks");
        return harness.finish();
    }
    {
        beeline::test::LongRequests requests(harness);
        if (which == "rounds") {
            requests.rounds(3000, 1000);
            requests.rounds(300000, 1000);
        } else if (which == "freed") {
            requests.freed(3000);
            requests.freed(2 << 20);
        } else if (which == "mixed") {
            requests.mixed();
        } else if (which == "threads") {
            requests.threads();
        } else {
            harness.check(false, "unknown case %s", which.c_str());
        }
    }
    return harness.finish();
}
