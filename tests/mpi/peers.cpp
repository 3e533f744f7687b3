// SPDX-License-Identifier: BSD-3-Clause
// Messages between ranks that differ in the GPUs they see, use or lack.
//   peers PLACE...      where the buffers of rank 0, 1, ... are; ranks without a word take the
//   last:
//     host              host memory, and nothing of CUDA is loaded
//     driver            host memory, with the driver loaded and initialized but no context made
//     gpuN              memory of the GPU with ordinal N, whose context is current
//     gpus              in turn memory of every visible GPU, while another one's context is current
//     late              100 host messages, then the driver is loaded, then as gpu0
//   peers --allreduce PLACE...   collectives of memory in these places
//   peers --uuid N      prints the UUID of GPU N as CUDA_VISIBLE_DEVICES takes it, without MPI
#include <string>
#include <vector>

#include "contexts.hpp"
#include "harness.hpp"

namespace beeline::test {
namespace {

constexpr std::size_t kSizes[] = {1, 8, 5000, 8192, 8193, 140000, 2000000};
constexpr std::size_t kLargest = 2000000;
constexpr unsigned char kBlank = 0xee;

/// Memory of one place, in which messages are sent from and received into.
struct Place {
    CUcontext context = nullptr;  // null: host memory
    void* out = nullptr;
    void* in = nullptr;
};

class Peers {
 public:
    Peers(Harness& harness, std::string where) : h_(harness), where_(std::move(where)) {}

    /// Each rank's buffers are where they are; all ranks must choose the same schedule.
    void allreduce() {
        find_places();
        for (Place& place : places_) {
            for (const std::size_t bytes : kSizes) {
                const std::size_t count = bytes / sizeof(std::uint32_t);
                blank(place, bytes);
                if (place.context != nullptr) {
                    cuda_->use(place.context);
                    cuda_->fill(place.out, bytes, 1);
                } else {
                    std::memset(place.out, 1, bytes);
                }
                MPI_Allreduce(place.out, place.in, static_cast<int>(count), MPI_UINT32_T, MPI_SUM,
                              MPI_COMM_WORLD);
                h_.check(holds(place, count * 4, static_cast<unsigned char>(h_.ranks)),
                         "MPI_Allreduce of %zu bytes is wrong", bytes);
                MPI_Bcast(place.out, static_cast<int>(bytes), MPI_BYTE, 0, MPI_COMM_WORLD);
                MPI_Barrier(MPI_COMM_WORLD);
            }
        }
        for (Place& place : places_) {
            forget(place);
        }
    }
    void run() {
        if (where_ == "late") {
            // The GPU's ranks take part with what they have.
            exchange_host(100);
        } else if (any_late) {
            exchange_host(100);
        }
        find_places();
        for (std::size_t turn = 0; turn < 4; ++turn) {
            for (const std::size_t bytes : kSizes) {
                exchange(turn, bytes);
            }
        }
        for (Place& place : places_) {
            forget(place);
        }
        // The contexts stay until the end: MPI_Finalize gives back what it has in them.
    }
    bool any_late = false;

 private:
    void exchange_host(int times) {
        std::vector<unsigned char> out(64, byte_of(h_.rank));
        std::vector<unsigned char> in(64);
        const int right = (h_.rank + 1) % h_.ranks;
        const int left = (h_.rank - 1 + h_.ranks) % h_.ranks;
        for (int i = 0; i < times; ++i) {
            MPI_Sendrecv(out.data(), 64, MPI_BYTE, right, 9, in.data(), 64, MPI_BYTE, left, 9,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        h_.check(in[63] == byte_of(left), "host messages before the driver are wrong");
    }

    void find_places() {
        if (where_ == "host") {
            places_.push_back(host());
            return;
        }
        if (where_ == "driver") {
            // cuInit may well fail: CUDA_VISIBLE_DEVICES can hide every GPU.
            void* library = dlopen("libcuda.so.1", RTLD_NOW);
            auto* init = library == nullptr
                             ? nullptr
                             : reinterpret_cast<CUresult (*)(unsigned)>(dlsym(library, "cuInit"));
            h_.check(init != nullptr, "no driver to load");
            if (init != nullptr) {
                init(0);
            }
            places_.push_back(host());
            return;
        }
        cuda_ = std::make_unique<Contexts>();
        if (where_ == "gpus") {
            for (int device = 0; device < cuda_->devices(); ++device) {
                places_.push_back(on(device));
            }
            h_.check(places_.size() > 1, "one GPU is not several");
            return;
        }
        places_.push_back(on(where_ == "late" ? 0 : std::atoi(where_.c_str() + 3)));
    }
    static Place host() { return {nullptr, std::malloc(kLargest), std::malloc(kLargest)}; }
    Place on(int device) {
        Place place;
        place.context = cuda_->retain(device);
        cuda_->use(place.context);
        place.out = cuda_->allocate(kLargest, byte_of(h_.rank));
        place.in = cuda_->allocate(kLargest, kBlank);
        return place;
    }
    void forget(Place& place) {
        if (place.context == nullptr) {
            std::free(place.out);
            std::free(place.in);
            return;
        }
        cuda_->use(place.context);
        cuda_->free(place.out);
        cuda_->free(place.in);
    }

    static unsigned char byte_of(int rank) { return static_cast<unsigned char>(rank + 1); }

    /// Every pair of ranks, this one with itself included, one after the other: the receive buffer
    /// is judged after each.
    void exchange(std::size_t turn, std::size_t bytes) {
        const Place& from = places_[turn % places_.size()];
        Place& to = places_[(turn / 2) % places_.size()];
        for (int step = 0; step < h_.ranks; ++step) {
            const int right = (h_.rank + step) % h_.ranks;
            const int left = (h_.rank - step + h_.ranks) % h_.ranks;
            blank(to, bytes);
            if (from.context == nullptr) {
                std::memset(from.out, byte_of(h_.rank), bytes);
            }
            // With several GPUs, one whose memory is not sent is current.
            CUcontext current = places_[(turn + 1) % places_.size()].context;
            if (cuda_ != nullptr) {
                cuda_->use(current);
            }
            MPI_Status status;
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Isend(from.out, static_cast<int>(bytes), MPI_BYTE, right, 1, MPI_COMM_WORLD,
                      &request);
            MPI_Recv(to.in, static_cast<int>(kLargest), MPI_BYTE, left, 1, MPI_COMM_WORLD, &status);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            h_.check(cuda_ == nullptr || cuda_->current() == current,
                     "%zu bytes from rank %d changed the current context", bytes, left);
            int count = 0;
            MPI_Get_count(&status, MPI_BYTE, &count);
            h_.check(static_cast<std::size_t>(count) == bytes, "%zu bytes arrived as %d", bytes,
                     count);
            h_.check(holds(to, bytes, byte_of(left)), "%zu bytes from rank %d are wrong", bytes,
                     left);
        }
    }
    void blank(Place& place, std::size_t bytes) {
        if (place.context == nullptr) {
            std::memset(place.in, kBlank, bytes);
            return;
        }
        cuda_->use(place.context);
        cuda_->fill(place.in, bytes, kBlank);
    }
    bool holds(const Place& place, std::size_t bytes, unsigned char value) {
        if (place.context != nullptr) {
            cuda_->use(place.context);
            return cuda_->holds(place.in, bytes, value);
        }
        const auto* seen = static_cast<const unsigned char*>(place.in);
        return std::all_of(seen, seen + bytes, [&](unsigned char byte) { return byte == value; });
    }

    Harness& h_;
    std::string where_;
    std::unique_ptr<Contexts> cuda_;
    std::vector<Place> places_;
};

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    using beeline::test::Contexts;
    if (argc == 3 && std::strcmp(argv[1], "--uuid") == 0) {
        std::printf("%s\n", Contexts().uuid(std::atoi(argv[2])).c_str());
        return 0;
    }
    int nothing = 1;  // the harness would take "host" for itself
    beeline::test::Harness harness(&nothing, &argv);
    if (argc < 2) {
        std::printf("FAIL peers: no place is given\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const bool allreduce = std::strcmp(argv[1], "--allreduce") == 0;
    const int first = allreduce ? 2 : 1;
    beeline::test::Peers peers(harness, argv[std::min(harness.rank + first, argc - 1)]);
    if (allreduce) {
        peers.allreduce();
        return harness.finish();
    }
    for (int i = 1; i < argc; ++i) {
        peers.any_late = peers.any_late || std::strcmp(argv[i], "late") == 0;
    }
    peers.run();
    return harness.finish();
}
