// SPDX-License-Identifier: BSD-3-Clause
// Messages that complete while neither side calls MPI, and the manners of the thread that does it.
//   async_progress [host] [device] [managed] [--without] [--threads]
// --without: pml_beeline_async_progress is off, and nothing moves outside MPI calls
// --threads: with MPI_THREAD_MULTIPLE
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "harness.hpp"

namespace beeline::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kDeadline = std::chrono::seconds(30);
constexpr std::size_t kBytes = (std::size_t{8} << 20) + 3;
constexpr int kTag = 5;

void pause(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

/// What the ranks say to each other without MPI.
struct Signs {
    std::atomic<int> posted[2];
    std::atomic<int> sent;
    std::atomic<int> arrived;
};

/// Beeline's counters of messages sent, by MPI_T: a call that makes no progress.
class Sent {
 public:
    Sent() {
        int provided = 0;
        int variables = 0;
        MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
        MPI_T_pvar_session_create(&session_);
        MPI_T_pvar_get_num(&variables);
        for (int i = 0; i < variables; ++i) {
            char name[256];
            int length = sizeof name;
            int ignored = 0;
            int bind = 0;
            MPI_Datatype type = MPI_DATATYPE_NULL;
            MPI_T_enum names = MPI_T_ENUM_NULL;
            MPI_T_pvar_get_info(i, name, &length, &ignored, &ignored, &type, &names, nullptr,
                                nullptr, &bind, &ignored, &ignored, &ignored);
            if (std::strncmp(name, "pml_beeline_messages_", 21) == 0) {
                MPI_T_pvar_handle handle = nullptr;
                int count = 0;
                MPI_T_pvar_handle_alloc(session_, i, nullptr, &handle, &count);
                handles_.push_back(handle);
            }
        }
    }
    ~Sent() {
        for (MPI_T_pvar_handle& handle : handles_) {
            MPI_T_pvar_handle_free(session_, &handle);
        }
        MPI_T_pvar_session_free(&session_);
        MPI_T_finalize();
    }
    Sent(const Sent&) = delete;
    Sent& operator=(const Sent&) = delete;

    unsigned long long count() const {
        unsigned long long sum = 0;
        for (MPI_T_pvar_handle handle : handles_) {
            unsigned long long one = 0;
            MPI_T_pvar_read(session_, handle, &one);
            sum += one;
        }
        return sum;
    }

 private:
    MPI_T_pvar_session session_ = nullptr;
    std::vector<MPI_T_pvar_handle> handles_;
};

/// The thread as the kernel shows it.
struct Thread {
    bool found = false;
    unsigned long long blocked = 0;  // signals
    long switches = 0;               // how often it went to sleep
};

Thread find_thread() {
    Thread thread;
    DIR* tasks = opendir("/proc/self/task");
    while (const dirent* entry = readdir(tasks)) {
        std::ifstream status(std::string("/proc/self/task/") + entry->d_name + "/status");
        std::string line;
        Thread one;
        while (std::getline(status, line)) {
            one.found = one.found || line == "Name:\tbeeline";
            std::sscanf(line.c_str(), "SigBlk: %llx", &one.blocked);
            std::sscanf(line.c_str(), "voluntary_ctxt_switches: %ld", &one.switches);
        }
        if (one.found) {
            thread = one;
        }
    }
    closedir(tasks);
    return thread;
}

class AsyncProgress {
 public:
    AsyncProgress(Harness& harness, bool without) : h_(harness), without_(without) {
        MPI_Aint bytes = h_.rank == 0 ? static_cast<MPI_Aint>(sizeof(Signs)) : 0;
        int unit = 1;
        void* memory = nullptr;
        MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window_);
        MPI_Win_shared_query(window_, 0, &bytes, &unit, &memory);
        signs_ = static_cast<Signs*>(memory);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    ~AsyncProgress() { MPI_Win_free(&window_); }
    AsyncProgress(const AsyncProgress&) = delete;
    AsyncProgress& operator=(const AsyncProgress&) = delete;

    void run() {
        manners();
        int number = 0;
        for (const gpu::Kind from : h_.kinds) {
            for (const gpu::Kind to : h_.kinds) {
                for (const bool first : {true, false}) {
                    pass(++number, from, to, first);
                }
            }
        }
        traffic();
        rest();
    }

 private:
    void manners() {
        const Thread thread = find_thread();
        h_.check(thread.found == !without_, "the thread %s",
                 thread.found ? "runs" : "is not there");
        if (thread.found) {
            // All that can be blocked: not SIGKILL, SIGSTOP and the two the C library keeps.
            constexpr unsigned long long kOwn = (1ULL << 8) | (1ULL << 18) | (3ULL << 31);
            h_.check((thread.blocked | kOwn) == ~0ULL, "the thread blocks signals %llx only",
                     thread.blocked);
        }
        const pid_t child = fork();
        if (child == 0) {
            execlp("true", "true", nullptr);
            _exit(1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        h_.check(status == 0, "a child process ends with status %d", status);
    }

    /// Once nothing large is under way the thread does nothing at all.
    void rest() {
        if (without_) {
            return;
        }
        MPI_Barrier(MPI_COMM_WORLD);
        pause(100);
        const long before = find_thread().switches;
        pause(200);
        h_.check(find_thread().switches == before, "the idle thread woke up %ld times",
                 find_thread().switches - before);
    }

    template <class Condition>
    bool becomes(Condition&& condition) {
        const auto limit = Clock::now() + (without_ ? std::chrono::milliseconds(100) : kDeadline);
        while (!condition()) {
            if (Clock::now() > limit) {
                return false;
            }
            pause(1);
        }
        return true;
    }

    /// One message; `first`: the receive is posted before the send.
    void pass(int number, gpu::Kind from, gpu::Kind to, bool first) {
        const auto seed = static_cast<std::uint64_t>(number) * 977;
        MPI_Barrier(MPI_COMM_WORLD);
        char name[96];
        std::snprintf(name, sizeof name, "message %d from %s to %s memory, %s", number,
                      gpu::to_string(from), gpu::to_string(to), first ? "expected" : "unexpected");
        if (h_.rank == 0) {
            send(name, number, seed, from, first);
        } else if (h_.rank == 1) {
            receive(name, number, seed, to, first);
        }
    }

    void send(const char* name, int number, std::uint64_t seed, gpu::Kind kind, bool first) {
        Area area(h_.gpu.get(), kind, kBytes);
        area.set(kBytes, 1, seed);
        const unsigned long long before = sent_.count();
        if (first) {
            await_sign(signs_->posted[1], number);
        }
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(area.data(), static_cast<int>(kBytes), MPI_BYTE, 1, kTag, MPI_COMM_WORLD,
                  &request);
        signs_->posted[0] = number;
        const bool done = becomes([&] { return sent_.count() > before; });
        h_.check(done == !without_, "%s: %s without an MPI call at the sender", name,
                 done ? "completes" : "does not complete");
        int flag = 0;
        if (done) {
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            h_.check(flag != 0, "%s: MPI_Test does not see that it is complete", name);
        }
        signs_->sent = number;
        await_sign(signs_->arrived, number);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        h_.check(area.intact(), "%s: the sender's memory changed", name);
    }

    void receive(const char* name, int number, std::uint64_t seed, gpu::Kind kind, bool first) {
        Area area(h_.gpu.get(), kind, kBytes);
        area.poison(kBytes, 3, seed);
        if (!first) {
            await_sign(signs_->posted[0], number);
            pause(5);
        }
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(area.data(), static_cast<int>(kBytes), MPI_BYTE, 0, kTag, MPI_COMM_WORLD,
                  &request);
        signs_->posted[1] = number;
        area.expect(kBytes, seed);
        const bool there = becomes([&] { return area.intact(); });
        h_.check(there == !without_, "%s: %s without an MPI call at the receiver", name,
                 there ? "arrives" : "does not arrive");
        await_sign(signs_->sent, number);
        signs_->arrived = number;
        MPI_Status status;
        MPI_Wait(&request, &status);
        int count = 0;
        MPI_Get_count(&status, MPI_BYTE, &count);
        h_.check(area.intact() && count == static_cast<int>(kBytes), "%s: %d bytes", name, count);
    }

    void await_sign(const std::atomic<int>& sign, int number) {
        const auto limit = Clock::now() + kDeadline;
        while (sign < number && Clock::now() < limit) {
            pause(1);
        }
        h_.check(sign >= number, "the other rank has not come to message %d", number);
    }

    /// Ordinary traffic of all sizes beside the thread, with pauses for it to take part.
    void traffic() {
        constexpr int kMessages = 60;
        MPI_Barrier(MPI_COMM_WORLD);
        const int other = 1 - h_.rank;
        if (h_.rank > 1) {
            return;
        }
        for (int i = 0; i < kMessages; ++i) {
            const auto index = static_cast<std::size_t>(i);
            const std::size_t bytes = std::size_t{1} << (index % 21);
            const gpu::Kind kind = h_.kinds[index % h_.kinds.size()];
            Area out(h_.gpu.get(), kind, bytes);
            Area in(h_.gpu.get(), kind, bytes);
            out.set(bytes, 0, index * 2 + static_cast<std::size_t>(h_.rank));
            in.poison(bytes, 0, index);
            MPI_Request requests[2];
            MPI_Irecv(in.data(), static_cast<int>(bytes), MPI_BYTE,
                      i % 3 == 0 ? MPI_ANY_SOURCE : other, i, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(out.data(), static_cast<int>(bytes), MPI_BYTE, other, i, MPI_COMM_WORLD,
                      &requests[1]);
            if (i % 4 == 0) {
                pause(1);
            }
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            in.expect(bytes, index * 2 + static_cast<std::size_t>(other));
            h_.check(in.intact() && out.intact(), "%zu bytes in %s memory beside the thread", bytes,
                     gpu::to_string(kind));
        }
    }

    Harness& h_;
    bool without_;
    Sent sent_;
    MPI_Win window_ = MPI_WIN_NULL;
    Signs* signs_ = nullptr;
};

bool has(int argc, char** argv, const char* option) {
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], option) == 0) {
            return true;
        }
    }
    return false;
}

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    using namespace beeline::test;
    Harness harness(&argc, &argv,
                    has(argc, argv, "--threads") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    AsyncProgress(harness, has(argc, argv, "--without")).run();
    const int code = harness.finish();
    if (find_thread().found) {
        std::printf("FAIL async_progress: the thread is there after MPI_Finalize\n");
        return 1;
    }
    return code;
}
