// SPDX-License-Identifier: BSD-3-Clause
// The loopback world.
#include "tests/world/loopback.hpp"

#include <algorithm>
#include <thread>

#include "memory/copy.hpp"

namespace beeline::world {

class Loopback::Rank final : public coll::exec::Transport {
 public:
    Rank(Loopback& world, int rank, int size) : world_(world), rank_(rank), size_(size) {}
    int rank() const noexcept override { return rank_; }
    int size() const noexcept override { return size_; }
    Result<coll::exec::Handle> send(const void* address, std::size_t bytes, int peer,
                                    int channel) noexcept override {
        return world_.post({rank_, peer, channel}, true, {address, nullptr, bytes, rank_});
    }
    Result<coll::exec::Handle> receive(void* address, std::size_t bytes, int peer,
                                       int channel) noexcept override {
        return world_.post({peer, rank_, channel}, false, {nullptr, address, bytes, rank_});
    }
    Status wait(std::span<coll::exec::Handle> handles) noexcept override {
        return world_.wait(rank_, handles);
    }
    bool test(coll::exec::Handle handle, Status& outcome) noexcept override {
        return world_.test(handle, outcome);
    }

 private:
    Loopback& world_;
    int rank_;
    int size_;
};

Loopback::Loopback(int size, Weather weather)
    : changed_(static_cast<std::size_t>(size)),
      random_(weather.seed),
      failing_message_(weather.failing_message) {
    for (int rank = 0; rank < size; ++rank) {
        ranks_.push_back(std::make_unique<Rank>(*this, rank, size));
    }
}

Loopback::~Loopback() = default;

coll::exec::Transport& Loopback::transport(int rank) {
    return *ranks_[static_cast<std::size_t>(rank)];
}

std::size_t Loopback::unmatched() {
    std::size_t number = 0;
    for (const auto* lanes : {&sends_, &receives_}) {
        for (const auto& [lane, queue] : *lanes) {
            number += queue.size();
        }
    }
    return number;
}

void Loopback::run(const std::function<void(int)>& body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
        threads.emplace_back(body, rank);
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

Result<coll::exec::Handle> Loopback::post(const Lane& lane, bool sends, Message message) {
    const std::lock_guard lock(mutex_);
    auto* posted = new Message(message);
    std::deque<Message*>& others = (sends ? receives_ : sends_)[lane];
    if (others.empty()) {
        (sends ? sends_ : receives_)[lane].push_back(posted);
        return static_cast<coll::exec::Handle>(posted);
    }
    Message* other = others.front();
    others.pop_front();
    posted->partner = other;
    other->partner = posted;
    Message* receive = sends ? other : posted;
    ++met_;
    if (met_ == failing_message_ || receive->bytes != receive->partner->bytes) {
        receive->status = receive->partner->status =
            met_ == failing_message_ ? Status::kIo : Status::kTruncated;
    }
    met_receives_.push_back(receive);
    wake(*other);
    return static_cast<coll::exec::Handle>(posted);
}

/// Moves a random pair that met.
void Loopback::move_one(std::unique_lock<std::mutex>& lock) {
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    std::swap(met_receives_[(random_ >> 33) % met_receives_.size()], met_receives_.back());
    Message* receive = met_receives_.back();
    Message* send = receive->partner;
    met_receives_.pop_back();
    if (receive->status == Status::kOk) {
        lock.unlock();
        const Status copied = memory::copy(receive->target, send->source, receive->bytes);
        lock.lock();
        receive->status = send->status = copied;
    }
    receive->complete = true;
    send->complete = true;
    wake(*receive);
    wake(*send);
}

void Loopback::wake(const Message& message) {
    changed_[static_cast<std::size_t>(message.rank)].notify_one();
}

Status Loopback::wait(int rank, std::span<coll::exec::Handle> handles) {
    std::unique_lock lock(mutex_);
    const auto all_complete = [&] {
        return std::all_of(handles.begin(), handles.end(), [](coll::exec::Handle handle) {
            return static_cast<Message*>(handle)->complete;
        });
    };
    while (!all_complete()) {
        if (met_receives_.empty()) {
            changed_[static_cast<std::size_t>(rank)].wait(lock);
        } else {
            move_one(lock);
        }
    }
    Status first = Status::kOk;
    for (coll::exec::Handle handle : handles) {
        auto* message = static_cast<Message*>(handle);
        first = first == Status::kOk ? message->status : first;
        delete message;
    }
    return first;
}

bool Loopback::test(coll::exec::Handle handle, Status& outcome) {
    std::unique_lock lock(mutex_);
    auto* message = static_cast<Message*>(handle);
    if (!message->complete) {
        if (!met_receives_.empty()) {
            move_one(lock);
        }
        return false;
    }
    outcome = message->status;
    delete message;
    return true;
}

}  // namespace beeline::world
