// SPDX-License-Identifier: BSD-3-Clause
// The meaning of the collectives, for the validator.
#include "coll/plan/meaning.hpp"

#include <algorithm>
#include <tuple>

namespace beeline::coll::plan {

Contributions::Contributions(int size)
    : words_((static_cast<std::size_t>(size) + 63) / 64),
      bits_(words_ * static_cast<std::size_t>(size), 0) {
    for (int rank = 0; rank < size; ++rank) {
        const auto at = static_cast<std::size_t>(rank);
        sets_.push_back({1, rank, rank, rank, true});
        bits_[at * words_ + at / 64] = std::uint64_t{1} << (at % 64);
    }
}

std::optional<ContributionId> Contributions::combine(ContributionId left, ContributionId right) {
    const std::uint64_t key = (std::uint64_t{left} << 32 | right) + 1;
    if (key == last_key_) {
        return last_;
    }
    const auto found = known_.find(key);
    if (found == known_.end()) {
        const std::size_t begin = bits_.size();
        bits_.resize(begin + words_);
        for (std::size_t word = 0; word < words_; ++word) {
            const std::uint64_t one = bits_[left * words_ + word];
            const std::uint64_t two = bits_[right * words_ + word];
            if ((one & two) != 0) {
                bits_.resize(begin);
                return std::nullopt;
            }
            bits_[begin + word] = one | two;
        }
        const Set a = sets_[left];
        const Set b = sets_[right];
        last_ = static_cast<ContributionId>(sets_.size());
        sets_.push_back({a.members + b.members, a.first, b.last, std::max(a.highest, b.highest),
                         a.ordered && b.ordered && a.last + 1 == b.first});
        known_.emplace(key, last_);
    } else {
        last_ = found->second;
    }
    last_key_ = key;
    return last_;
}

Meaning::Meaning(std::span<const Schedule> world, std::span<const Neighbors> neighbors)
    : world_(world),
      collective_(world[0].collective),
      size_(static_cast<std::uint32_t>(world.size())),
      slices_(world[0].slices) {
    if (on_neighbors(collective_)) {
        match_edges(neighbors);
    }
}

/// Which target of its peer each source is: the n-th of the same two ranks and channel.
void Meaning::match_edges(std::span<const Neighbors> neighbors) {
    std::map<std::tuple<int, int, int>, std::vector<std::uint32_t>> sent;
    for (std::size_t rank = 0; rank < neighbors.size(); ++rank) {
        const std::vector<Edge>& targets = neighbors[rank].targets;
        widest_ = std::max(widest_, static_cast<std::uint32_t>(targets.size()));
        for (std::size_t target = 0; target < targets.size(); ++target) {
            sent[{static_cast<int>(rank), targets[target].peer, targets[target].channel}].push_back(
                static_cast<std::uint32_t>(target));
        }
    }
    std::map<std::tuple<int, int, int>, std::size_t> taken;
    for (std::size_t rank = 0; rank < neighbors.size(); ++rank) {
        edges_.emplace_back();
        for (const Edge& source : neighbors[rank].sources) {
            const std::tuple key{source.peer, static_cast<int>(rank), source.channel};
            const std::vector<std::uint32_t>& blocks = sent[key];
            const std::size_t turn = taken[key]++;
            const auto peer = static_cast<std::uint32_t>(source.peer);
            edges_.back().push_back(turn < blocks.size() ? peer * widest_ + blocks[turn]
                                                         : Label::kUndefined / slices_);
        }
    }
}

std::uint32_t Meaning::edge_datum(int rank, std::uint32_t block) const {
    const auto& edges = edges_[static_cast<std::size_t>(rank)];
    return block < edges.size() ? edges[block] : Label::kUndefined / slices_;
}

std::uint32_t Meaning::input_datum(int rank, std::uint32_t chunk) const {
    const std::uint32_t slice = chunk % slices_;
    const std::uint32_t block = chunk / slices_;
    const auto self = static_cast<std::uint32_t>(rank);
    switch (collective_) {
        case Collective::kAllgather:
        case Collective::kGather:
        case Collective::kNeighborAllgather:
            return self * slices_ + slice;
        case Collective::kAlltoall:
            return (self * size_ + block) * slices_ + slice;
        case Collective::kNeighborAlltoall:
            return (self * widest_ + block) * slices_ + slice;
        default:
            return chunk;
    }
}

std::uint32_t Meaning::output_datum(int rank, std::uint32_t chunk) const {
    const std::uint32_t slice = chunk % slices_;
    const std::uint32_t block = chunk / slices_;
    const auto self = static_cast<std::uint32_t>(rank);
    switch (collective_) {
        case Collective::kReduceScatter:
        case Collective::kScatter:
            return self * slices_ + slice;
        case Collective::kAlltoall:
            return (block * size_ + self) * slices_ + slice;
        case Collective::kNeighborAllgather:
            return edge_datum(rank, block) / widest_ * slices_ + slice;
        case Collective::kNeighborAlltoall:
            return edge_datum(rank, block) * slices_ + slice;
        default:
            return chunk;
    }
}

Label Meaning::initial(int rank, Buffer buffer, std::uint32_t chunk) const {
    const Schedule& schedule = world_[static_cast<std::size_t>(rank)];
    const auto self = static_cast<ContributionId>(rank);
    if (buffer == Buffer::kInput) {
        return {input_datum(rank, chunk), self};
    }
    const std::uint32_t block = chunk / slices_;
    switch (collective_) {
        case Collective::kAllreduce:
        case Collective::kReduce:
        case Collective::kScan:
        case Collective::kExscan:
            return schedule.in_place ? Label{chunk, self} : Label{};
        case Collective::kBcast:
            return rank == schedule.root ? Label{chunk, self} : Label{};
        case Collective::kAllgather:
        case Collective::kGather:
            return schedule.in_place && block == self ? Label{chunk, self} : Label{};
        case Collective::kAlltoall:
            return schedule.in_place
                       ? Label{(self * size_ + block) * slices_ + chunk % slices_, self}
                       : Label{};
        default:
            return {};
    }
}

Meaning::Wanted Meaning::wanted(int rank, std::uint32_t chunk) const {
    const std::uint32_t datum = output_datum(rank, chunk);
    const int size = static_cast<int>(size_);
    switch (collective_) {
        case Collective::kAllreduce:
        case Collective::kReduce:
        case Collective::kReduceScatter:
            return {datum, size};
        case Collective::kScan:
            return {datum, rank + 1};
        case Collective::kExscan:
            return rank == 0 ? Wanted{} : Wanted{datum, rank};
        default:
            return {datum, 0};
    }
}

int Meaning::origin(std::uint32_t datum) const {
    const std::uint32_t block = datum / slices_;
    switch (collective_) {
        case Collective::kAlltoall:
            return static_cast<int>(block / size_);
        case Collective::kNeighborAlltoall:
            return static_cast<int>(block / widest_);
        case Collective::kBcast:
        case Collective::kScatter:
            return world_[0].root;
        default:
            return static_cast<int>(block);
    }
}

std::uint32_t Meaning::length_class(std::uint32_t datum) const {
    if (world_[0].cut == Cut::kEqual) {
        return datum % slices_;
    }
    if (collective_ == Collective::kAlltoall && world_[0].in_place) {
        // What two ranks exchange in place has one length: each gives it once.
        const std::uint32_t block = datum / slices_;
        const std::uint32_t from = block / size_;
        const std::uint32_t to = block % size_;
        return (std::min(from, to) * size_ + std::max(from, to)) * slices_ + datum % slices_;
    }
    return datum;
}

std::uint32_t Meaning::length_class(int rank, const Place& place) const {
    switch (place.buffer) {
        case Buffer::kInput:
            return length_class(input_datum(rank, place.chunk));
        case Buffer::kOutput:
            return length_class(output_datum(rank, place.chunk));
        case Buffer::kMirror:
            return length_class(frame_datum(rank, place.chunk % world_[0].frame_chunks()));
        case Buffer::kSlot:
            break;
    }
    return length_class(frame_datum(rank, place.like));
}

/// The datum that a frame chunk is as long as, at `rank`.
std::uint32_t Meaning::frame_datum(int rank, std::uint32_t chunk) const {
    if (collective_ == Collective::kAlltoall) {
        return output_datum(rank, chunk);
    }
    return chunk;
}

}  // namespace beeline::coll::plan
