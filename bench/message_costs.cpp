// SPDX-License-Identifier: BSD-3-Clause
// What bench/instructions counts under callgrind: MPI calls on host memory in which nobody waits,
// because the message, the receive or the room for it is there already. So the counts do not depend
// on time.
//   message_costs FILE [--load-driver]     2 ranks; FILE is a scratch file both can map;
// with the option the process is one that has loaded libcuda.so.1 and uses a GPU
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

constexpr int kMessages = 256;  // counted, of each case
constexpr int kWindow = 64;
constexpr int kTag = 1;

/// Who may act, who is done, and whether rank 0 has noticed; kept outside of MPI.
struct Turns {
    std::atomic<int> turn;
    std::atomic<int> done[2];
    std::atomic<int> over;
};

struct Call {
    unsigned char* memory;
    int bytes;
    int messages;
    MPI_Request* requests;
    int* complete;
};

}  // namespace

extern "C" {

// callgrind finds these by name (--toggle-collect, --dump-after), so they must be there.
[[gnu::noinline]] void counted(void (*body)(const Call&), const Call& call) {
    body(call);
    asm volatile("" ::: "memory");
}
[[gnu::noinline]] void end_of_case(void) {
    asm volatile("" ::: "memory");
}

}  // extern "C"

namespace {

void send(const Call& call) {
    MPI_Send(call.memory, call.bytes, MPI_BYTE, 1, kTag, MPI_COMM_WORLD);
}
void receive(const Call& call) {
    MPI_Recv(call.memory, call.bytes, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
void start_sends(const Call& call) {
    for (int i = 0; i < call.messages; ++i) {
        MPI_Isend(call.memory, call.bytes, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, &call.requests[i]);
    }
}
void start_receives(const Call& call) {
    for (int i = 0; i < call.messages; ++i) {
        MPI_Irecv(call.memory, call.bytes, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, &call.requests[i]);
    }
}
void test(const Call& call) {
    MPI_Testall(call.messages, call.requests, call.complete, MPI_STATUSES_IGNORE);
}

class Ranks {
 public:
    explicit Ranks(const char* path) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        const int file = open(path, O_RDWR | O_CREAT, 0600);
        if (file < 0 || ftruncate(file, sizeof(Turns)) != 0) {
            std::perror(path);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        void* map = mmap(nullptr, sizeof(Turns), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        turns_ = static_cast<Turns*>(map);
        close(file);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    int rank() const { return rank_; }
    /// The other rank goes on ...
    void give() { turns_->turn.store(1 - rank_, std::memory_order_release); }
    /// ... and this one waits until it is called back.
    void await() {
        while (turns_->turn.load(std::memory_order_acquire) != rank_) {
            sched_yield();
        }
    }
    void hand_over() {
        give();
        await();
    }
    void set_done(int done) { turns_->done[rank_].store(done); }
    bool both_done() const { return turns_->done[0].load() != 0 && turns_->done[1].load() != 0; }
    void set_over(int over) { turns_->over.store(over); }
    bool over() const { return turns_->over.load() != 0; }

 private:
    int rank_ = 0;
    Turns* turns_ = nullptr;
};

using Count = void (*)(void (*)(const Call&), const Call&);

void uncounted(void (*body)(const Call&), const Call& call) {
    body(call);
}

/// MPI_Send, then MPI_Recv of what is there.
void run_blocking(Ranks& ranks, const Call& call, Count count) {
    if (ranks.rank() == 0) {
        count(send, call);
        ranks.hand_over();
    } else {
        ranks.await();
        count(receive, call);
        ranks.give();
    }
}

/// The receives, then the sends, then MPI_Testall in turns until both are done: some sends end only
/// when the receiver has made progress.
void run_window(Ranks& ranks, const Call& call, Count count) {
    if (ranks.rank() == 1) {
        ranks.await();
    }
    ranks.set_done(0);
    *call.complete = 0;
    if (ranks.rank() == 0) {
        ranks.set_over(0);
        ranks.hand_over();
    }
    count(ranks.rank() == 0 ? start_sends : start_receives, call);
    while (ranks.rank() == 0 || !ranks.over()) {
        if (*call.complete == 0) {
            count(test, call);
            ranks.set_done(*call.complete);
        }
        if (ranks.rank() == 0 && ranks.both_done()) {
            ranks.set_over(1);
            ranks.hand_over();
            return;
        }
        ranks.hand_over();
    }
    ranks.give();
}

void run(Ranks& ranks, Call call, bool blocking, int messages, Count count) {
    for (int done = 0; done < messages; done += call.messages) {
        blocking ? run_blocking(ranks, call, count) : run_window(ranks, call, count);
    }
}

}  // namespace

namespace {

/// Makes this a process that uses a GPU, as far as a library can tell.
bool use_gpu() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        return false;
    }
    const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"));
    const auto retain =
        reinterpret_cast<int (*)(void**, int)>(dlsym(library, "cuDevicePrimaryCtxRetain"));
    const auto set = reinterpret_cast<int (*)(void*)>(dlsym(library, "cuCtxSetCurrent"));
    void* context = nullptr;
    return init != nullptr && retain != nullptr && set != nullptr && init(0) == 0 &&
           retain(&context, 0) == 0 && set(context) == 0;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const bool gpu = argc == 3 && std::strcmp(argv[2], "--load-driver") == 0;
    if ((argc != 2 && !gpu) || size != 2 || (gpu && !use_gpu())) {
        std::fprintf(stderr, "usage: mpirun -n 2 message_costs FILE [--load-driver]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    struct {
        const char* name;
        int bytes;
        int window;
        bool blocking;
    } const cases[] = {
        {"send-recv", 0, 1, true},       {"send-recv", 8, 1, true},
        {"isend-irecv", 8, 1, false},    {"isend-irecv", 1024, 1, false},
        {"isend-irecv", 2048, 1, false}, {"isend-irecv", 8192, 1, false},
        {"window", 8, kWindow, false},   {"window", 1024, kWindow, false},
    };
    std::vector<unsigned char> memory(8192);
    std::vector<MPI_Request> requests(kWindow);
    int complete = 0;
    Ranks ranks(argv[1]);
    for (const auto& one : cases) {
        const Call call{memory.data(), one.bytes, one.window, requests.data(), &complete};
        run(ranks, call, one.blocking, kWindow, uncounted);
        run(ranks, call, one.blocking, kMessages, counted);
        if (ranks.rank() == 0) {
            std::printf("%s %d\n", one.name, one.bytes);
        }
        end_of_case();
    }
    MPI_Finalize();
    return 0;
}
