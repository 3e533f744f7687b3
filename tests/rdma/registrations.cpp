// SPDX-License-Identifier: BSD-3-Clause
// Device buffers whose registration with a network card the scripts count: used again, freed and
// made again at the same address, and very many.
//   registrations repeat|again|many COUNT BYTES device
#include <memory>
#include <string>

#include "tests/mpi/harness.hpp"

namespace beeline::test {
namespace {

constexpr int kTag = 7;

class Registrations {
 public:
    Registrations(Harness& harness, int count, std::size_t bytes)
        : h_(harness), count_(count), bytes_(bytes), wanted_(bytes), seen_(bytes) {}

    /// One buffer on each side, every time with other data.
    void repeat() {
        const auto buffer = make();
        for (int round = 0; round < count_; ++round) {
            move(*buffer, round);
        }
    }

    /// A new buffer for each message, where the last one was.
    void again() {
        int same = 0;
        const unsigned char* last = nullptr;
        for (int round = 0; round < count_; ++round) {
            const auto buffer = make();
            same += buffer->at() == last ? 1 : 0;
            last = buffer->at();
            move(*buffer, round);
        }
        h_.check(same > 0, "no buffer came back at the address of the one before");
    }

    /// Buffers that all live, each sent once, then some of the first and of the last once more.
    void many() {
        std::vector<std::unique_ptr<gpu::Buffer>> all;
        const int buffers = h_.rank == 0 ? count_ : 1;
        for (int i = 0; i < buffers; ++i) {
            all.push_back(make());
        }
        const int some = std::min(count_, 50);
        for (int i = 0; i < count_ + 2 * some; ++i) {
            const int which = i < count_ + some ? i % count_ : 2 * count_ + some - 1 - i;
            move(*all[static_cast<std::size_t>(which % buffers)], i);
        }
    }

 private:
    std::unique_ptr<gpu::Buffer> make() {
        return std::make_unique<gpu::Buffer>(h_.gpu.get(), gpu::Kind::kDevice, bytes_);
    }

    /// One message from rank 0 to rank 1, with the pattern of `seed`.
    void move(gpu::Buffer& buffer, int seed) {
        bench::fill_pattern(wanted_, static_cast<std::uint64_t>(seed) * 131 + 5);
        const int size = static_cast<int>(bytes_);
        if (h_.rank == 0) {
            buffer.write(0, wanted_.data(), bytes_);
            MPI_Send(buffer.at(), size, MPI_BYTE, 1, kTag, MPI_COMM_WORLD);
        } else if (h_.rank == 1) {
            MPI_Recv(buffer.at(), size, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            buffer.read(0, seen_.data(), bytes_);
            h_.check(seen_ == wanted_, "message %d has wrong bytes", seed);
        }
    }

    Harness& h_;
    int count_;
    std::size_t bytes_;
    std::vector<unsigned char> wanted_;
    std::vector<unsigned char> seen_;
};

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    beeline::test::Harness harness(&argc, &argv);
    const std::string what = argc > 3 ? argv[1] : "";
    const int count = argc > 3 ? std::atoi(argv[2]) : 0;
    const long bytes = argc > 3 ? std::atol(argv[3]) : 0;
    harness.check(count > 0 && bytes > 0 && harness.ranks == 2, "two ranks, a count and bytes");
    {
        beeline::test::Registrations test(harness, count, static_cast<std::size_t>(bytes));
        if (what == "repeat") {
            test.repeat();
        } else if (what == "again") {
            test.again();
        } else if (what == "many") {
            test.many();
        } else {
            harness.check(false, "'%s' is unknown", what.c_str());
        }
    }
    return harness.finish();
}
