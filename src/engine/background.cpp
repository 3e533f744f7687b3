// SPDX-License-Identifier: BSD-3-Clause
// When the thread sleeps and when it works, and the engine's side of it.
#include "engine/background.hpp"

#include <csignal>
#include <ctime>

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/log.hpp"

namespace beeline::engine {
namespace {

constexpr unsigned kIdleRounds = 64;  // of progress without an event before it sleeps
constexpr long kShortest = 20;        // microseconds of sleep after something happened
constexpr long kLongest = 200;        // and at most, while a large request is under way
constexpr unsigned kLinger = 20;      // sleeps after the last large request before it waits for one

void sleep_microseconds(long time) noexcept {
    const timespec pause{0, time * 1000};
    nanosleep(&pause, nullptr);
}

}  // namespace

Result<std::unique_ptr<Background>> Background::start(Engine& engine) {
    std::unique_ptr<Background> made(new Background(engine));
    engine.threads = true;
    engine.watched_ = true;
    // A signal of the application's is for one of its own threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&made->thread_, nullptr, main, made.get());
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error != 0) {
        log(LogLevel::kWarning,
            "no thread for progress in the background (%s): messages move on in MPI calls only",
            std::strerror(error));
        engine.watched_ = false;
        return Status::kUnsupported;
    }
    made->process_ = getpid();
    return made;
}

Background::~Background() {
    if (process_ != getpid()) {
        return;  // never started, or a child of the process that did
    }
    stop_.store(true);
    engine_.large_.fetch_add(1);
    engine_.large_.notify_one();
    pthread_join(thread_, nullptr);
    engine_.large_.fetch_sub(1);
    engine_.watched_ = false;
}

void* Background::main(void* self) noexcept {
    pthread_setname_np(pthread_self(), "beeline");
    prctl(PR_SET_TIMERSLACK, 1000);  // nanoseconds; the default doubles the shortest sleep
    static_cast<Background*>(self)->run();
    return nullptr;
}

void Background::run() noexcept {
    long pause = kShortest;
    unsigned lingered = 0;
    std::uint32_t entries = engine_.entries_.load(std::memory_order_relaxed);
    while (!stop_.load(std::memory_order_relaxed)) {
        if (engine_.large_.load(std::memory_order_relaxed) == 0) {
            // The next one often follows soon, and waking up costs its sender a system call.
            if (++lingered > kLinger) {
                engine_.large_.wait(0);
                lingered = 0;
                pause = kShortest;
            } else {
                sleep_microseconds(kLongest);
            }
            continue;
        }
        lingered = 0;
        sleep_microseconds(pause);
        const std::uint32_t now = engine_.entries_.load(std::memory_order_relaxed);
        if (now != entries) {
            entries = now;  // a caller makes progress itself
            pause = kLongest;
            continue;
        }
        pause = drive(entries) ? kShortest : std::min(2 * pause, kLongest);
    }
}

/// Rounds of progress while something happens and no caller comes; whether anything did.
bool Background::drive(std::uint32_t entries) noexcept {
    bool any = false;
    for (unsigned idle = 0; idle < kIdleRounds; ++idle) {
        if (engine_.entries_.load(std::memory_order_relaxed) != entries ||
            stop_.load(std::memory_order_relaxed)) {
            break;
        }
        const int events = engine_.progress_aside();
        if (events < 0) {
            break;
        }
        if (events > 0) {
            any = true;
            idle = 0;
        }
    }
    return any;
}

int Engine::progress_aside() noexcept {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) {
        return -1;
    }
    aside_ = true;
    int events = 0;
    try {
        events = progress();
    } catch (const std::bad_alloc&) {
        log_once(LogLevel::kError, "engine.aside", "no memory to make progress in the background");
    }
    aside_ = false;
    return events;
}

/// Counts a request that the thread is to move on.
void Engine::watch(Request& request) noexcept {
    if (request.buffer_.bytes > std::min(limits_.eager, limits_.device_eager)) {
        request.large_ = true;
        if (large_.fetch_add(1, std::memory_order_relaxed) == 0) {
            large_.notify_one();  // no system call unless the thread waits
        }
    }
}

/// What was left by the thread for a caller: ends to be told, and messages of peers not known yet.
int Engine::take_over() {
    int events = 0;
    while (Request* request = ended_.pop_front()) {
        ++events;
        request->done(request);
    }
    if (Message* newest = std::exchange(unresolved_, nullptr); newest != nullptr) {
        Message* oldest = nullptr;
        while (newest != nullptr) {
            Message* next = newest->next;
            newest->next = oldest;
            oldest = newest;
            newest = next;
        }
        while (oldest != nullptr) {
            Message* message = std::exchange(oldest, oldest->next);
            ++events;
            if (Communicator* communicator = find(message->arrived.context)) {
                replay(*communicator, message);
            } else {
                drop(message);
            }
        }
    }
    return events;
}

}  // namespace beeline::engine
