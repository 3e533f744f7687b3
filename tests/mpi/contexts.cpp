// SPDX-License-Identifier: BSD-3-Clause
// The caller's CUDA context: MPI finds it and leaves it as it was, whatever is current and wherever
// the memory is, and makes none of its own for nothing.
#include "contexts.hpp"

#include "harness.hpp"

namespace beeline::test {
namespace {

constexpr std::size_t kSizes[] = {8, 5000, 140000, 2000000};
constexpr std::size_t kLargest = 2000000;
constexpr int kDevices = 2;

class ContextRules {
 public:
    explicit ContextRules(Harness& harness)
        : h_(harness),
          right_((h_.rank + 1) % h_.ranks),
          left_((h_.rank - 1 + h_.ranks) % h_.ranks),
          mine_(h_.rank % kDevices),
          other_((h_.rank + 1) % kDevices) {}

    void run() {
        host_messages_make_no_context();
        own_ = cuda_.retain(mine_);
        other_primary_ = cuda_.retain(other_);
        cuda_.release(other_);
        cuda_.use(own_);
        own_device_only();
        other_primary_ = cuda_.retain(other_);
        CUcontext created = cuda_.create(other_);
        allocate(own_);
        for (const CUcontext current : {own_, CUcontext{nullptr}, other_primary_, created}) {
            every_call(current);
            changed_meanwhile(current);
        }
        free_memory();
        // Memory of a context that is not the primary one, used while another is current.
        allocate(created);
        every_call(own_);
        changed_meanwhile(nullptr);
        free_memory();
        cuda_.use(own_);
        cuda_.destroy(created);
        cuda_.release(other_);
        cuda_.release(mine_);
    }

 private:
    void host_messages_make_no_context() {
        std::vector<char> out(kLargest, 'x');
        std::vector<char> in(kLargest);
        for (const std::size_t bytes : kSizes) {
            MPI_Sendrecv(out.data(), static_cast<int>(bytes), MPI_BYTE, right_, 1, in.data(),
                         static_cast<int>(bytes), MPI_BYTE, left_, 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
        }
        for (int device = 0; device < kDevices; ++device) {
            h_.check(!cuda_.active(device), "host messages made a context on device %d", device);
        }
        h_.check(cuda_.current() == nullptr, "host messages left a context current");
        MPI_Barrier(MPI_COMM_WORLD);
    }

    /// Messages of one device's memory touch that device only.
    void own_device_only() {
        allocate(own_);
        cuda_.use(own_);
        // The first messages, which set things up, and later ones.
        for (int round = 0; round < 2; ++round) {
            for (const std::size_t bytes : kSizes) {
                h_.check(cuda_.captures([&] { exchange(bytes); }),
                         "a message of %zu bytes broke a stream capture", bytes);
                judge(bytes, own_, "own device");
            }
        }
        h_.check(h_.ranks > 1 || !cuda_.active(other_),
                 "messages of device %d made a context on device %d", mine_, other_);
        free_memory();
        MPI_Barrier(MPI_COMM_WORLD);
    }

    void allocate(CUcontext context) {
        cuda_.use(context);
        memory_of_ = context;
        out_ = cuda_.allocate(kLargest, static_cast<unsigned char>(h_.rank + 1));
        in_ = cuda_.allocate(kLargest, 0xee);
    }
    void free_memory() {
        cuda_.use(memory_of_);
        cuda_.free(out_);
        cuda_.free(in_);
    }

    void exchange(std::size_t bytes) {
        MPI_Sendrecv(out_, static_cast<int>(bytes), MPI_BYTE, right_, 1, in_,
                     static_cast<int>(bytes), MPI_BYTE, left_, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }

    void judge(std::size_t bytes, CUcontext current, const char* call) {
        h_.check(cuda_.current() == current, "%s of %zu bytes changed the current context", call,
                 bytes);
        cuda_.use(memory_of_);
        h_.check(cuda_.holds(in_, bytes, static_cast<unsigned char>(left_ + 1)),
                 "%s of %zu bytes: wrong data", call, bytes);
        void* const blank = in_;
        cuda_.free(blank);
        in_ = cuda_.allocate(kLargest, 0xee);
        cuda_.use(current);
    }
    void left_alone(CUcontext current, const char* call) {
        h_.check(cuda_.current() == current, "%s changed the current context", call);
    }

    void every_call(CUcontext current) {
        cuda_.use(current);
        for (const std::size_t bytes : kSizes) {
            const int n = static_cast<int>(bytes);
            exchange(bytes);
            judge(bytes, current, "MPI_Sendrecv");
            MPI_Request requests[2];
            MPI_Irecv(in_, n, MPI_BYTE, left_, 2, MPI_COMM_WORLD, &requests[0]);
            left_alone(current, "MPI_Irecv");
            MPI_Isend(out_, n, MPI_BYTE, right_, 2, MPI_COMM_WORLD, &requests[1]);
            left_alone(current, "MPI_Isend");
            int flag = 0;
            while (flag == 0) {
                MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
                left_alone(current, "MPI_Testall");
            }
            judge(bytes, current, "MPI_Testall");
            MPI_Issend(out_, n, MPI_BYTE, right_, 3, MPI_COMM_WORLD, &requests[1]);
            MPI_Message message = MPI_MESSAGE_NULL;
            MPI_Mprobe(left_, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
            left_alone(current, "MPI_Mprobe");
            MPI_Mrecv(in_, n, MPI_BYTE, &message, MPI_STATUS_IGNORE);
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
            judge(bytes, current, "MPI_Mrecv");
        }
        MPI_Barrier(MPI_COMM_WORLD);
        left_alone(current, "MPI_Barrier");
    }

    /// Posted under one context, completed under another.
    void changed_meanwhile(CUcontext later) {
        for (const std::size_t bytes : kSizes) {
            const int n = static_cast<int>(bytes);
            cuda_.use(own_);
            MPI_Request requests[2];
            MPI_Isend(out_, n, MPI_BYTE, right_, 4, MPI_COMM_WORLD, &requests[0]);
            MPI_Irecv(in_, n, MPI_BYTE, left_, 4, MPI_COMM_WORLD, &requests[1]);
            cuda_.use(later);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            judge(bytes, later, "MPI_Waitall");
        }
    }

    Harness& h_;
    Contexts cuda_;
    int right_;
    int left_;
    int mine_;
    int other_;
    CUcontext own_ = nullptr;
    CUcontext other_primary_ = nullptr;
    CUcontext memory_of_ = nullptr;
    void* out_ = nullptr;
    void* in_ = nullptr;
};

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    beeline::test::Harness harness(&argc, &argv);
    beeline::test::ContextRules(harness).run();
    return harness.finish();
}
