// SPDX-License-Identifier: BSD-3-Clause
// What MPI leaves alone: the captures of streams, the choice of the device, children of fork().
//   manners capture|late|fork
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>

#include "contexts.hpp"
#include "harness.hpp"

namespace beeline::test {
namespace {

constexpr std::size_t kSizes[] = {8, 5000, 140000, 1000000};
constexpr std::size_t kLargest = 1000000;

class Manners {
 public:
    explicit Manners(Harness& harness)
        : h_(harness),
          right_((h_.rank + 1) % h_.ranks),
          left_((h_.rank - 1 + h_.ranks) % h_.ranks) {}

    /// The application records a graph, here or in another thread, while collectives run for the
    /// first time, and later: by ring, by doubling and through the host.
    void capture() {
        begin(h_.rank);
        for (int round = 0; round < 2; ++round) {
            for (const std::size_t bytes : kSizes) {
                h_.check(cuda_.captures([&] { allreduce(bytes); }),
                         "MPI_Allreduce of %zu bytes broke a stream capture", bytes);
                h_.check(cuda_.holds(in_, bytes / 8 * 8, all_bits()), "MPI_Allreduce of %zu bytes",
                         bytes);
                h_.check(cuda_.captures([&] {
                    MPI_Bcast(out_, static_cast<int>(bytes), MPI_BYTE, 0, MPI_COMM_WORLD);
                }),
                         "MPI_Bcast of %zu bytes broke a stream capture", bytes);
                cuda_.fill(out_, bytes, bit(h_.rank));
                h_.check(cuda_.captures([&] { exchange(bytes); }),
                         "MPI_Sendrecv of %zu bytes broke a stream capture", bytes);
                h_.check(cuda_.holds(in_, bytes, bit(left_)), "MPI_Sendrecv of %zu bytes", bytes);
            }
        }
        end();
    }

    /// The device is chosen after MPI_Init and host messages, and changed later.
    void late() {
        long sum = 1;
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        for (int index = 0; index < cuda_.devices(); ++index) {
            h_.check(!cuda_.active(index), "a context on device %d before one was chosen", index);
        }
        MPI_Comm local = MPI_COMM_NULL;
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
        int rank = 0;
        MPI_Comm_rank(local, &rank);
        MPI_Comm_free(&local);
        for (int change = 0; change < 3; ++change) {
            const int mine = (rank + 1 + change) % cuda_.devices();
            begin(mine);
            for (int index = 0; index < cuda_.devices(); ++index) {
                // Memory of a peer's device is mapped in the context of one's own.
                h_.check(index == mine || !cuda_.active(index),
                         "a context on device %d, where only %d is used", index, mine);
            }
            for (const std::size_t bytes : kSizes) {
                exchange(bytes);
                h_.check(cuda_.holds(in_, bytes, bit(left_)), "%zu bytes on device %d", bytes,
                         mine);
                allreduce(bytes);
                h_.check(cuda_.holds(in_, bytes / 8 * 8, all_bits()), "a sum on device %d", mine);
            }
            MPI_Barrier(MPI_COMM_WORLD);
            end();
            cuda_.use(nullptr);
            cuda_.release(mine);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }

    /// Children that run another program, or exit with all handlers, before the first device
    /// message and after it.
    void fork() {
        children();
        begin(h_.rank);
        for (const std::size_t bytes : kSizes) {
            children();
            exchange(bytes);
            h_.check(cuda_.holds(in_, bytes, bit(left_)), "%zu bytes after fork()", bytes);
            allreduce(bytes);
            h_.check(cuda_.holds(in_, bytes / 8 * 8, all_bits()), "a sum after fork()");
        }
        end();
    }

 private:
    void begin(int device) {
        cuda_.use(cuda_.retain(device % cuda_.devices()));
        out_ = cuda_.allocate(kLargest, bit(h_.rank));
        in_ = cuda_.allocate(kLargest, 0);
    }
    void end() {
        cuda_.free(out_);
        cuda_.free(in_);
    }
    static unsigned char bit(int rank) { return static_cast<unsigned char>(1 << rank % 8); }
    unsigned char all_bits() const { return static_cast<unsigned char>((1 << h_.ranks) - 1); }
    void exchange(std::size_t bytes) {
        MPI_Sendrecv(out_, static_cast<int>(bytes), MPI_BYTE, right_, 1, in_,
                     static_cast<int>(bytes), MPI_BYTE, left_, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    void allreduce(std::size_t bytes) {
        MPI_Allreduce(out_, in_, static_cast<int>(bytes / 8), MPI_UINT64_T, MPI_BOR,
                      MPI_COMM_WORLD);
    }
    void children() {
        const pid_t plain = ::fork();
        if (plain == 0) {
            std::exit(7);
        }
        const pid_t other = ::fork();
        if (other == 0) {
            execlp("sh", "sh", "-c", "exit 8", nullptr);
            _exit(1);
        }
        expect(plain, 7, "a child that exits");
        expect(other, 8, "a child that runs a program");
    }
    void expect(pid_t child, int code, const char* what) {
        int status = 0;
        for (int tries = 0; tries < 1000; ++tries) {
            if (waitpid(child, &status, WNOHANG) == child) {
                h_.check(WIFEXITED(status) && WEXITSTATUS(status) == code, "%s: status %#x", what,
                         static_cast<unsigned>(status));
                return;
            }
            usleep(10000);
        }
        h_.check(false, "%s hangs", what);
        kill(child, SIGKILL);
    }

    Harness& h_;
    Contexts cuda_;
    int right_;
    int left_;
    void* out_ = nullptr;
    void* in_ = nullptr;
};

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    beeline::test::Harness harness(&argc, &argv);
    const std::string_view name = argc > 1 ? argv[1] : "";
    beeline::test::Manners manners(harness);
    if (name == "capture") {
        manners.capture();
    } else if (name == "late") {
        manners.late();
    } else if (name == "fork") {
        manners.fork();
    } else {
        harness.check(false, "no case %s", argc > 1 ? argv[1] : "is named");
    }
    return harness.finish();
}
