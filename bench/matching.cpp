// SPDX-License-Identifier: BSD-3-Clause
// What a match costs behind queues of different depths, beside one linear list as the textbook has
// it.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/list.hpp"
#include "match/matcher.hpp"

namespace {

using beeline::match::kAnySource;
using beeline::match::kAnyTag;
using beeline::match::Matcher;

constexpr std::int32_t kSource = 3;
constexpr std::int32_t kWantedTag = 1'000'000;  // no filler has it

/// The rival: both queues as one list each, searched from the oldest.
struct ListPosted : beeline::ListNode<> {
    std::int32_t source = 0;
    std::int32_t tag = 0;
};
struct ListUnexpected : beeline::ListNode<> {
    std::int32_t source = 0;
    std::int32_t tag = 0;
};

class LinearMatcher {
 public:
    ListPosted* arrive(std::int32_t source, std::int32_t tag) noexcept {
        for (ListPosted* each = posted_.front(); each != nullptr; each = posted_.after(each)) {
            if (accepts(each->source, each->tag, source, tag)) {
                beeline::List<ListPosted>::remove(each);
                return each;
            }
        }
        return nullptr;
    }
    void add_unexpected(ListUnexpected* message) noexcept { unexpected_.push_back(message); }
    ListUnexpected* post(ListPosted* receive) noexcept {
        for (ListUnexpected* each = unexpected_.front(); each != nullptr;
             each = unexpected_.after(each)) {
            if (accepts(receive->source, receive->tag, each->source, each->tag)) {
                beeline::List<ListUnexpected>::remove(each);
                return each;
            }
        }
        posted_.push_back(receive);
        return nullptr;
    }

 private:
    static bool accepts(std::int32_t wanted_source, std::int32_t wanted_tag, std::int32_t source,
                        std::int32_t tag) noexcept {
        return (wanted_source == kAnySource || wanted_source == source) &&
               (wanted_tag == kAnyTag ? tag >= 0 : wanted_tag == tag);
    }
    beeline::List<ListPosted> posted_;
    beeline::List<ListUnexpected> unexpected_;
};

template <class Matching>
struct Nodes;
template <>
struct Nodes<Matcher> {
    using Posted = beeline::match::Posted;
    using Unexpected = beeline::match::Unexpected;
};
template <>
struct Nodes<LinearMatcher> {
    using Posted = ListPosted;
    using Unexpected = ListUnexpected;
};

template <class Node>
std::vector<Node> fillers(std::size_t depth) {
    std::vector<Node> nodes(depth);
    for (std::size_t index = 0; index < depth; ++index) {
        nodes[index].source = static_cast<std::int32_t>(index % 64);
        nodes[index].tag = static_cast<std::int32_t>(index / 64);
    }
    return nodes;
}

/// A receive is posted behind `depth` others, and its message arrives.
template <class Matching>
void expected(benchmark::State& state) {
    using Posted = typename Nodes<Matching>::Posted;
    auto others = fillers<Posted>(static_cast<std::size_t>(state.range(0)) - 1);
    Matching matching;
    for (Posted& each : others) {
        matching.post(&each);
    }
    Posted wanted;
    wanted.source = kSource;
    wanted.tag = kWantedTag;
    for ([[maybe_unused]] auto round : state) {
        benchmark::DoNotOptimize(matching.post(&wanted));
        Posted* found = matching.arrive(kSource, kWantedTag);
        benchmark::DoNotOptimize(found);
        if (found != &wanted) {
            state.SkipWithError("the wrong receive was matched");
        }
    }
}

/// A message waits behind `depth` others, and its receive is posted.
template <class Matching>
void unexpected(benchmark::State& state) {
    using Unexpected = typename Nodes<Matching>::Unexpected;
    auto others = fillers<Unexpected>(static_cast<std::size_t>(state.range(0)) - 1);
    Matching matching;
    for (Unexpected& each : others) {
        matching.add_unexpected(&each);
    }
    Unexpected wanted;
    wanted.source = kSource;
    wanted.tag = kWantedTag;
    typename Nodes<Matching>::Posted receive;
    receive.source = kSource;
    receive.tag = kWantedTag;
    for ([[maybe_unused]] auto round : state) {
        benchmark::DoNotOptimize(matching.arrive(kSource, kWantedTag));
        matching.add_unexpected(&wanted);
        Unexpected* found = matching.post(&receive);
        benchmark::DoNotOptimize(found);
        if (found != &wanted) {
            state.SkipWithError("the wrong message was matched");
        }
    }
}

BENCHMARK(expected<Matcher>)->Arg(1)->Arg(100)->Arg(10'000);
BENCHMARK(expected<LinearMatcher>)->Arg(1)->Arg(100)->Arg(10'000);
BENCHMARK(unexpected<Matcher>)->Arg(1)->Arg(100)->Arg(10'000);
BENCHMARK(unexpected<LinearMatcher>)->Arg(1)->Arg(100)->Arg(10'000);

}  // namespace

BENCHMARK_MAIN();
