// SPDX-License-Identifier: BSD-3-Clause
// A pool of helper threads that grows to the largest number ever needed at once.
#include "softcuda/driver/helpers.hpp"

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <mutex>
#include <vector>

namespace softcuda {
namespace {

/** One call of run_together. */
struct Job {
    void (*work)(void*);
    void* argument;
    int unfinished;
    std::condition_variable done;
};

struct Helper {
    std::condition_variable wake;
    Job* job = nullptr;
};

struct Pool {
    std::mutex mutex;
    std::vector<Helper*> idle;
};

Pool& pool() {
    static Pool& instance = *new Pool;
    return instance;
}

void* help(void* argument) {
    Helper& helper = *static_cast<Helper*>(argument);
    std::unique_lock lock(pool().mutex);
    for (;;) {
        helper.wake.wait(lock, [&] { return helper.job != nullptr; });
        Job& job = *helper.job;
        lock.unlock();
        job.work(job.argument);
        lock.lock();
        helper.job = nullptr;
        pool().idle.push_back(&helper);
        if (--job.unfinished == 0) {
            job.done.notify_one();
        }
    }
}

/** A helper that waits for a job; nullptr if no thread could be started. pool().mutex is held. */
Helper* take_helper() {
    if (!pool().idle.empty()) {
        Helper* helper = pool().idle.back();
        pool().idle.pop_back();
        return helper;
    }
    auto* helper = new Helper;
    if (!start_thread(help, helper)) {
        delete helper;
        return nullptr;
    }
    return helper;
}

}  // namespace

bool start_thread(void* (*entry)(void*), void* argument) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    const int error = pthread_create(&thread, &attributes, entry, argument);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return error == 0;
}

void run_together(int threads, void (*work)(void*), void* argument) {
    if (threads <= 1) {
        work(argument);
        return;
    }
    Job job{work, argument, 0, {}};
    {
        const std::lock_guard lock(pool().mutex);
        for (int i = 1; i < threads; ++i) {
            Helper* helper = take_helper();
            if (helper == nullptr) {
                break;
            }
            ++job.unfinished;
            helper->job = &job;
            helper->wake.notify_one();
        }
    }
    work(argument);
    std::unique_lock lock(pool().mutex);
    job.done.wait(lock, [&] { return job.unfinished == 0; });
}

}  // namespace softcuda
