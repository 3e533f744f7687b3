// SPDX-License-Identifier: BSD-3-Clause
// A world of ranks in one process: ordered matching as the transport promises, and everything else
// as late and as shuffled as it allows.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include "coll/exec/transport.hpp"

namespace beeline::world {

/// How a loopback world behaves.
struct Weather {
    std::uint64_t seed = 1;
    /// Ends this message (counted over the world, from 1) with kIo instead of moving it; 0: none.
    std::uint64_t failing_message = 0;
};

/// A message moves only when some rank waits or asks, the pairs that met being taken in random
/// order: a source changed too early, or a target read too early, shows.
class Loopback {
 public:
    explicit Loopback(int size, Weather weather = {});
    ~Loopback();
    coll::exec::Transport& transport(int rank);
    /// Messages that met so far.
    std::uint64_t messages() const { return met_; }
    /// Messages nobody met: a leftover after all ranks are done is a mistake.
    std::size_t unmatched();

    /// Runs body(rank) for every rank, each in a thread of its own.
    void run(const std::function<void(int)>& body);

 private:
    class Rank;
    struct Message {
        const void* source = nullptr;
        void* target = nullptr;
        std::size_t bytes = 0;
        int rank = 0;  ///< whose it is
        Message* partner = nullptr;
        bool complete = false;
        Status status = Status::kOk;
    };
    using Lane = std::tuple<int, int, int>;  ///< from, to, channel

    Result<coll::exec::Handle> post(const Lane& lane, bool sends, Message message);
    Status wait(int rank, std::span<coll::exec::Handle> handles);
    bool test(coll::exec::Handle handle, Status& outcome);
    void wake(const Message& message);
    void move_one(std::unique_lock<std::mutex>& lock);

    std::mutex mutex_;
    std::vector<std::condition_variable> changed_;  ///< by rank: one of its messages met or moved
    std::map<Lane, std::deque<Message*>> sends_;
    std::map<Lane, std::deque<Message*>> receives_;
    std::vector<Message*> met_receives_;  ///< ready to be moved
    std::vector<std::unique_ptr<Rank>> ranks_;
    std::uint64_t random_;
    std::uint64_t met_ = 0;
    std::uint64_t failing_message_;
};

}  // namespace beeline::world
