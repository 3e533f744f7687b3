// SPDX-License-Identifier: BSD-3-Clause
// Symbolic buffer contents for the validator.
#include "coll/plan/symbols.hpp"

#include <algorithm>

namespace beeline::coll::plan {

Contributions::Contributions(int size) : size_(size) {
    const std::size_t words = (static_cast<std::size_t>(size) + 63) / 64;
    for (int rank = 0; rank < size; ++rank) {
        Set set;
        set.ranks.assign(words, 0);
        set.ranks[static_cast<std::size_t>(rank) / 64] = std::uint64_t{1} << (rank % 64);
        set.first = set.last = rank;
        sets_.push_back(std::move(set));
    }
}

std::optional<ContributionId> Contributions::combine(ContributionId left, ContributionId right) {
    const auto found = known_.find({left, right});
    if (found != known_.end()) {
        return found->second;
    }
    Set set = sets_[left];
    const Set& other = sets_[right];
    for (std::size_t word = 0; word < set.ranks.size(); ++word) {
        if ((set.ranks[word] & other.ranks[word]) != 0) {
            return std::nullopt;
        }
        set.ranks[word] |= other.ranks[word];
    }
    set.ordered = set.ordered && other.ordered && set.last + 1 == other.first;
    set.members += other.members;
    set.last = other.last;
    sets_.push_back(std::move(set));
    const auto id = static_cast<ContributionId>(sets_.size() - 1);
    known_.emplace(std::pair{left, right}, id);
    return id;
}

bool Contributions::complete(ContributionId id) const {
    return sets_[id].members == size_;
}

std::vector<Segment> Contents::read(std::size_t begin, std::size_t end) const {
    std::vector<Segment> result;
    auto segment = std::partition_point(segments_.begin(), segments_.end(),
                                        [&](const Segment& s) { return s.end <= begin; });
    for (; segment != segments_.end() && segment->begin < end; ++segment) {
        Segment cut = *segment;
        cut.begin = std::max(cut.begin, begin);
        cut.end = std::min(cut.end, end);
        result.push_back(cut);
    }
    return result;
}

void Contents::write(std::size_t begin, std::size_t end, const std::vector<Segment>& segments) {
    std::vector<Segment> result;
    for (const Segment& segment : segments_) {
        if (segment.begin < begin) {
            Segment head = segment;
            head.end = std::min(head.end, begin);
            result.push_back(head);
        }
    }
    result.insert(result.end(), segments.begin(), segments.end());
    for (const Segment& segment : segments_) {
        if (segment.end > end) {
            Segment tail = segment;
            tail.begin = std::max(tail.begin, end);
            result.push_back(tail);
        }
    }
    segments_ = std::move(result);
}

std::vector<Segment> moved(std::vector<Segment> segments, std::size_t from, std::size_t to) {
    for (Segment& segment : segments) {
        segment.begin = segment.begin - from + to;
        segment.end = segment.end - from + to;
        segment.shift += static_cast<std::ptrdiff_t>(from) - static_cast<std::ptrdiff_t>(to);
    }
    return segments;
}

}  // namespace beeline::coll::plan
