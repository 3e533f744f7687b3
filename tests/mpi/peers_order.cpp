// SPDX-License-Identifier: BSD-3-Clause
// Messages beside other work of the GPU: copies that return early, streams that are busy for ever,
// kernels that failed.
//   peers_order early|early_pool|busy|busy_default|sticky
// "early" is run with SOFTCUDA_DELAY, which lets synchronous copies return long before they are
// done; "sticky" with a SOFTCUDA_FAULT on rank 0.
#include <functional>
#include <string_view>

#include "contexts.hpp"
#include "harness.hpp"

namespace beeline::test {
namespace {

constexpr std::size_t kSizes[] = {8, 5000, 140000, 1000000};
constexpr std::size_t kLargest = 1000000;
constexpr unsigned char kOld = 0xee;

template <class Function>
Function driver(const char* name) {
    auto* found = reinterpret_cast<Function>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), name));
    if (found == nullptr) {
        std::printf("FAIL peers_order: no %s\n", name);
        std::exit(1);
    }
    return found;
}

CUdeviceptr address(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

class Order {
 public:
    explicit Order(Harness& harness)
        : h_(harness),
          right_((h_.rank + 1) % h_.ranks),
          left_((h_.rank - 1 + h_.ranks) % h_.ranks),
          mine_(static_cast<unsigned char>(h_.rank + 1)),
          theirs_(static_cast<unsigned char>(left_ + 1)) {
        cuda_.use(cuda_.retain(h_.rank % cuda_.devices()));
    }

    /// The application writes what it sends, and clears what it receives into, by calls that return
    /// before that has happened; its own work on the data comes on a stream that waits for none.
    /// `pool`: in stream-ordered memory, whose copies the driver cannot be asked to complete.
    void early(bool pool) {
        auto copy_between =
            driver<CUresult (*)(CUdeviceptr, CUdeviceptr, std::size_t)>("cuMemcpyDtoD_v2");
        auto copy_in =
            driver<CUresult (*)(CUdeviceptr, const void*, std::size_t)>("cuMemcpyHtoD_v2");
        auto fill = driver<CUresult (*)(CUdeviceptr, unsigned char, std::size_t)>("cuMemsetD8_v2");
        auto allocate_async =
            driver<CUresult (*)(CUdeviceptr*, std::size_t, CUstream)>("cuMemAllocAsync");
        auto free_to_pool = driver<CUresult (*)(CUdeviceptr, CUstream)>("cuMemFreeAsync");
        const auto allocate_from_pool = [&](std::size_t bytes) {
            CUdeviceptr memory = 0;
            h_.check(allocate_async(&memory, bytes, nullptr) == CUDA_SUCCESS, "no pool memory");
            cuda_.fill(reinterpret_cast<void*>(memory), bytes, kOld);
            return reinterpret_cast<void*>(memory);
        };
        void* source = cuda_.allocate(kLargest, mine_);
        void* other = cuda_.allocate(8, 0);
        std::vector<unsigned char> host(kLargest, mine_);
        const std::function<void(void*, std::size_t)> writers[] = {
            [&](void* to, std::size_t n) { copy_between(address(to), address(source), n); },
            [&](void* to, std::size_t n) { copy_in(address(to), host.data(), n); },
            [&](void* to, std::size_t n) { fill(address(to), mine_, n); },
        };
        for (const std::size_t bytes : kSizes) {
            for (const auto& write : writers) {
                // New memory, then the same again.
                void* out = pool ? allocate_from_pool(bytes) : cuda_.allocate(bytes, kOld);
                void* in = pool ? allocate_from_pool(bytes) : cuda_.allocate(bytes, kOld);
                for (int round = 0; round < 2; ++round) {
                    for (int i = 0; i < 6; ++i) {
                        copy_between(address(other), address(source), 8);  // the stream is behind
                    }
                    fill(address(in), 0xcc, bytes);
                    write(out, bytes);
                    exchange(out, in, bytes);
                    judge_on_own_stream(in, bytes);
                    cuda_.fill(out, bytes, kOld);
                }
                for (void* each : {out, in}) {
                    if (pool) {
                        free_to_pool(address(each), nullptr);
                    } else {
                        cuda_.free(each);
                    }
                }
            }
        }
        cuda_.free(source);
        cuda_.free(other);
        unsigned flags = 0;
        driver<CUresult (*)(unsigned*)>("cuCtxGetFlags")(&flags);
        h_.check((flags & CU_CTX_SYNC_MEMOPS) == 0, "the application's context was changed");
    }

    /// A stream waits until the host says so: as a kernel does that waits for messages. Messages
    /// must not wait for it, neither the first ones nor later ones.
    void busy(bool default_stream) {
        auto wait_value = driver<CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned)>(
            "cuStreamWaitValue32_v2");
        auto allocate_host = driver<CUresult (*)(void**, std::size_t, unsigned)>("cuMemHostAlloc");
        auto free_host = driver<CUresult (*)(void*)>("cuMemFreeHost");
        auto create = driver<CUresult (*)(CUstream*, unsigned)>("cuStreamCreate");
        auto destroy = driver<CUresult (*)(CUstream)>("cuStreamDestroy_v2");
        auto wait = driver<CUresult (*)(CUstream)>("cuStreamSynchronize");
        void* out = cuda_.allocate(kLargest, mine_);
        void* in[4];
        for (void*& each : in) {
            each = cuda_.allocate(kLargest, kOld);
        }
        void* memory = nullptr;
        allocate_host(&memory, sizeof(std::uint32_t), 0);
        auto* flag = static_cast<volatile std::uint32_t*>(memory);
        *flag = 0;
        CUstream stream = CU_STREAM_LEGACY;
        if (!default_stream) {
            create(&stream, CU_STREAM_NON_BLOCKING);
        }
        h_.check(wait_value(stream, address(memory), 1, CU_STREAM_WAIT_VALUE_GEQ) == CUDA_SUCCESS,
                 "no stream can be made to wait");
        for (int round = 0; round < 3; ++round) {
            for (int i = 0; i < 4; ++i) {
                exchange(out, in[i], kSizes[i]);
            }
        }
        MPI_Barrier(MPI_COMM_WORLD);
        *flag = 1;
        wait(stream);
        for (int i = 0; i < 4; ++i) {
            h_.check(cuda_.holds(in[i], kSizes[i], theirs_), "%zu bytes beside a busy stream",
                     kSizes[i]);
            cuda_.free(in[i]);
        }
        cuda_.free(out);
        if (!default_stream) {
            destroy(stream);
        }
        free_host(memory);
    }

    /// The driver answers rank 0 with the error of a kernel: its device messages fail on both
    /// sides, and host messages go on.
    void sticky() {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        void* memory = cuda_.allocate(kLargest, mine_);
        for (const std::size_t bytes : kSizes) {
            const int n = static_cast<int>(bytes);
            int result = MPI_SUCCESS;
            if (h_.rank == 0) {
                result = MPI_Send(memory, n, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            } else {
                result = MPI_Recv(memory, n, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
            h_.check(result != MPI_SUCCESS, "%zu bytes of a broken GPU were transferred", bytes);
            int value = h_.rank;
            result = MPI_Sendrecv_replace(&value, 1, MPI_INT, 1 - h_.rank, 2, 1 - h_.rank, 2,
                                          MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            h_.check(result == MPI_SUCCESS && value == 1 - h_.rank, "a host message failed");
        }
    }

 private:
    void exchange(void* out, void* in, std::size_t bytes) {
        MPI_Sendrecv(out, static_cast<int>(bytes), MPI_BYTE, right_, 1, in, static_cast<int>(bytes),
                     MPI_BYTE, left_, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    void judge_on_own_stream(void* in, std::size_t bytes) {
        static auto create = driver<CUresult (*)(CUstream*, unsigned)>("cuStreamCreate");
        static auto destroy = driver<CUresult (*)(CUstream)>("cuStreamDestroy_v2");
        static auto wait = driver<CUresult (*)(CUstream)>("cuStreamSynchronize");
        static auto copy_out =
            driver<CUresult (*)(void*, CUdeviceptr, std::size_t, CUstream)>("cuMemcpyDtoHAsync_v2");
        std::vector<unsigned char> seen(bytes);
        CUstream stream = nullptr;
        create(&stream, CU_STREAM_NON_BLOCKING);
        copy_out(seen.data(), address(in), bytes, stream);
        wait(stream);
        destroy(stream);
        const auto wrong = std::count_if(seen.begin(), seen.end(),
                                         [&](unsigned char byte) { return byte != theirs_; });
        h_.check(wrong == 0, "%zu bytes beside early copies: %ld are wrong, the first is %#x",
                 bytes, static_cast<long>(wrong), seen[0]);
    }

    Harness& h_;
    Contexts cuda_;
    int right_;
    int left_;
    unsigned char mine_;
    unsigned char theirs_;
};

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    beeline::test::Harness harness(&argc, &argv);
    const std::string_view name = argc > 1 ? argv[1] : "";
    beeline::test::Order order(harness);
    if (name == "early" || name == "early_pool") {
        order.early(name == "early_pool");
    } else if (name == "busy" || name == "busy_default") {
        order.busy(name == "busy_default");
    } else if (name == "sticky") {
        order.sticky();
    } else {
        harness.check(false, "no case %s", argc > 1 ? argv[1] : "is named");
    }
    return harness.finish();
}
