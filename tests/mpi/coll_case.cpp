// SPDX-License-Identifier: BSD-3-Clause
// The serial reference of every collective, and its buffers.
#include "tests/mpi/coll_case.hpp"

#include <cstring>

namespace beeline::test {

const char* to_string(Call call) noexcept {
    constexpr const char* kNames[] = {"bcast",
                                      "allgather",
                                      "allgatherv",
                                      "gather",
                                      "gatherv",
                                      "scatter",
                                      "scatterv",
                                      "alltoall",
                                      "alltoallv",
                                      "alltoallw",
                                      "allreduce",
                                      "reduce",
                                      "reduce_scatter",
                                      "reduce_scatter_block",
                                      "scan",
                                      "exscan",
                                      "barrier",
                                      "neighbor_allgather",
                                      "neighbor_allgatherv",
                                      "neighbor_alltoall",
                                      "neighbor_alltoallv",
                                      "neighbor_alltoallw"};
    return kNames[static_cast<int>(call)];
}

Running::Running(const Case& facts, const Element& element, const Group& group, gpu::Gpu* gpu)
    : facts_(facts), element_(element), group_(group), gpu_(gpu) {
    MPI_Comm_rank(group.comm, &rank_);
    MPI_Comm_size(group.comm, &size_);
    if (reduces(facts.call) || facts.call == Call::kBcast) {
        set_vectors();
    } else if (on_neighbors(facts.call)) {
        set_neighbors();
    } else if (facts.call != Call::kBarrier) {
        set_blocks();
    }
    const bool both = facts.call == Call::kAlltoallv || facts.call == Call::kAlltoallw ||
                      facts.call == Call::kNeighborAlltoallv ||
                      facts.call == Call::kNeighborAlltoallw;
    const bool sends = both || facts.call == Call::kScatterv;
    const bool receives = both || facts.call == Call::kAllgatherv || facts.call == Call::kGatherv ||
                          facts.call == Call::kNeighborAllgatherv;
    const int gaps = reduces(facts.call) ? 0 : facts.gaps;
    lay_out(send_, gaps, facts.send, sends);
    // The two sides may have different datatypes, of the same elements.
    lay_out(receive_, gaps == 0 ? 0 : 3 - gaps, facts.receive, receives);
}

Running::~Running() {
    if (request_ != MPI_REQUEST_NULL) {
        MPI_Request_free(&request_);
    }
    for (Side* side : {&send_, &receive_}) {
        if (side->type != element_.type) {
            MPI_Type_free(&side->type);
        }
    }
}

long Running::datum(int from, int block, int index) const {
    const long value = from * 37L + block * 11L + index * 3L + facts_.count;
    return value % (element_.limit - 1) + 1;
}

std::vector<long> Running::block(int from, int to, int length) const {
    std::vector<long> values;
    for (int index = 0; index < length; ++index) {
        values.push_back(datum(from, to, index));
    }
    return values;
}

/// The operation over the contributions of some ranks, in their order.
std::vector<long> Running::folded(int first, int last, int offset, int length) const {
    std::vector<long> values;
    for (int index = offset; index < offset + length; ++index) {
        long value = datum(first, 0, index);
        for (int rank = first + 1; rank <= last; ++rank) {
            value = element_.combine(value, datum(rank, 0, index));
        }
        values.push_back(value);
    }
    return values;
}

int Running::length_of(int rank) const {
    const bool varies = facts_.call == Call::kAllgatherv || facts_.call == Call::kGatherv ||
                        facts_.call == Call::kScatterv || facts_.call == Call::kReduceScatter ||
                        facts_.call == Call::kNeighborAllgatherv;
    if (!varies || facts_.count == 0) {
        return facts_.count;
    }
    return rank % 3 == 1 ? 0 : facts_.count + rank;
}

/// The same in both directions, as alltoallv in place wants it.
int Running::length_between(int from, int to) const {
    if (facts_.call == Call::kAlltoall || facts_.count == 0) {
        return facts_.count;
    }
    return (from + to) % 3 == 1 ? 0 : facts_.count + from + to;
}

void Running::add(Side& side, int length, std::vector<long> before, std::vector<long> after) {
    side.counts.push_back(length);
    side.before.push_back(std::move(before));
    side.after.push_back(std::move(after));
}

void Running::set_vectors() {
    const int n = facts_.count;
    if (facts_.call == Call::kBcast) {
        const std::vector<long> value = block(facts_.root, 0, n);
        add(receive_, n, rank_ == facts_.root ? value : std::vector<long>{}, value);
        return;
    }
    const bool scatters =
        facts_.call == Call::kReduceScatter || facts_.call == Call::kReduceScatterBlock;
    int own = 0;  // the first element of this rank's part
    int all = scatters ? 0 : n;
    for (int rank = 0; scatters && rank < size_; ++rank) {
        own = rank == rank_ ? all : own;
        all += length_of(rank);
    }
    std::vector<long> mine;
    for (int index = 0; index < all; ++index) {
        mine.push_back(datum(rank_, 0, index));
    }
    std::vector<long> result;
    bool has_result = true;
    switch (facts_.call) {
        case Call::kReduce:
            has_result = rank_ == facts_.root;
            result = folded(0, size_ - 1, 0, n);
            break;
        case Call::kScan:
            result = folded(0, rank_, 0, n);
            break;
        case Call::kExscan:
            has_result = rank_ > 0;
            result = rank_ > 0 ? folded(0, rank_ - 1, 0, n) : result;
            break;
        default:
            result = folded(0, size_ - 1, own, scatters ? length_of(rank_) : n);
            break;
    }
    const bool in_place = facts_.in_place && (facts_.call != Call::kReduce || has_result);
    if (!in_place) {
        add(send_, all, mine, mine);
        add(receive_, scatters ? length_of(rank_) : n, {},
            has_result ? result : std::vector<long>{});
    } else {
        add(receive_, all, mine, result);
        receive_.unspecified = scatters ? result.size() : SIZE_MAX;
    }
    if (facts_.call == Call::kExscan && rank_ == 0) {
        receive_.unspecified = 0;
    }
}

void Running::set_blocks() {
    const bool here = rank_ == facts_.root;
    for (int peer = 0; peer < size_; ++peer) {
        const int length = length_of(peer);
        switch (facts_.call) {
            case Call::kAllgather:
            case Call::kAllgatherv:
            case Call::kGather:
            case Call::kGatherv: {
                const bool gathers = facts_.call == Call::kGather || facts_.call == Call::kGatherv;
                const std::vector<long> value = block(peer, 0, length);
                const bool in_place = facts_.in_place && peer == rank_ && (!gathers || here);
                if (!gathers || here) {
                    add(receive_, length, in_place ? value : std::vector<long>{}, value);
                }
                if (peer == rank_ && !in_place) {
                    add(send_, length, value, value);
                }
                break;
            }
            case Call::kScatter:
            case Call::kScatterv: {
                const std::vector<long> value = block(facts_.root, peer, length);
                if (here) {
                    add(send_, length, value, value);
                }
                if (peer == rank_ && !(here && facts_.in_place)) {
                    add(receive_, length, {}, value);
                }
                break;
            }
            default: {
                const int between = length_between(rank_, peer);
                const std::vector<long> out = block(rank_, peer, between);
                if (!facts_.in_place) {
                    add(send_, between, out, out);
                }
                add(receive_, between, facts_.in_place ? out : std::vector<long>{},
                    block(peer, rank_, between));
                break;
            }
        }
    }
}

void Running::set_neighbors() {
    const bool gathers =
        facts_.call == Call::kNeighborAllgather || facts_.call == Call::kNeighborAllgatherv;
    const bool varies =
        facts_.call == Call::kNeighborAlltoallv || facts_.call == Call::kNeighborAlltoallw;
    const auto length = [&](int from, int index) {
        if (gathers) {
            return length_of(from);
        }
        return varies && facts_.count > 0 ? facts_.count + (from + index) % 3 : facts_.count;
    };
    if (gathers) {
        const std::vector<long> value = block(rank_, 0, length(rank_, 0));
        add(send_, length(rank_, 0), value, value);
    }
    for (std::size_t k = 0; !gathers && k < group_.targets.size(); ++k) {
        const int index = static_cast<int>(k);
        const std::vector<long> value = block(rank_, index, length(rank_, index));
        add(send_, length(rank_, index), value, value);
    }
    for (std::size_t k = 0; k < group_.sources.size(); ++k) {
        const int from = group_.sources[k];
        if (from == MPI_PROC_NULL) {
            add(receive_, facts_.count, {}, {});
        } else {
            const int index = gathers ? 0 : group_.partners[k];
            add(receive_, length(from, index), {}, block(from, index, length(from, index)));
        }
    }
}

/// Places, datatype, images and memory of a side.
void Running::lay_out(Side& side, int gaps, gpu::Kind kind, bool scattered) {
    side.stride = element_.size * static_cast<std::size_t>(gaps + 1);
    side.offset = gaps == 2 ? element_.size : 0;
    side.type = element_.type;
    if (gaps != 0) {
        const MPI_Aint offset = static_cast<MPI_Aint>(side.offset);
        MPI_Datatype shifted = MPI_DATATYPE_NULL;
        MPI_Type_create_hindexed_block(1, 1, &offset, element_.type, &shifted);
        MPI_Type_create_resized(shifted, 0, static_cast<MPI_Aint>(side.stride), &side.type);
        MPI_Type_commit(&side.type);
        MPI_Type_free(&shifted);
    }
    const std::size_t blocks = side.counts.size();
    side.places.resize(blocks);
    for (std::size_t turn = 0; turn < blocks; ++turn) {
        // Scattered blocks lie in reverse order, with room between them.
        const std::size_t index = scattered ? blocks - 1 - turn : turn;
        side.places[index] = side.total + (scattered ? 1 : 0);
        side.total = side.places[index] + side.counts[index];
    }
    for (std::size_t index = 0; index < blocks; ++index) {
        side.offsets.push_back(side.places[index] * static_cast<int>(side.stride));
        side.far_offsets.push_back(side.offsets.back());
        side.types.push_back(side.type);
    }
    // Open MPI refuses a null list even where it has no entries.
    for (std::vector<int>* list : {&side.counts, &side.places, &side.offsets}) {
        list->reserve(1);
    }
    side.far_offsets.reserve(1);
    side.types.reserve(1);
    const std::size_t bytes = static_cast<std::size_t>(side.total) * side.stride + 2 * kGuard + 16;
    side.initial.resize(bytes);
    unsigned value = 91U + static_cast<unsigned>(rank_);
    for (unsigned char& byte : side.initial) {
        value = value * 1664525U + 1013904223U;
        byte = static_cast<unsigned char>(value >> 24);
    }
    write(side, false, side.initial);
    side.wanted = side.initial;
    write(side, true, side.wanted);
    side.buffer = std::make_unique<gpu::Buffer>(gpu_, kind, bytes);
}

void Running::write(Side& side, bool result, std::vector<unsigned char>& image) const {
    const auto& contents = result ? side.after : side.before;
    for (std::size_t index = 0; index < contents.size(); ++index) {
        std::size_t place = kGuard + static_cast<std::size_t>(side.places[index]) * side.stride;
        for (const long value : contents[index]) {
            element_.put(image.data() + place + side.offset, value);
            place += side.stride;
        }
    }
}

bool Running::is_padding(const Side& side, std::size_t byte) const {
    const std::size_t data = static_cast<std::size_t>(side.total) * side.stride;
    if (element_.padding == 0 || byte < kGuard || byte >= kGuard + data) {
        return false;
    }
    const std::size_t at = (byte - kGuard) % side.stride - side.offset;
    return at < element_.size && at >= element_.size - element_.padding;
}

std::string Running::check() {
    for (const bool sends : {true, false}) {
        Side& side = sends ? send_ : receive_;
        std::vector<unsigned char> seen(side.wanted.size());
        side.buffer->read(0, seen.data(), seen.size());
        const auto total = static_cast<std::size_t>(side.total);
        if (side.unspecified < total) {
            const std::size_t from = kGuard + side.unspecified * side.stride;
            const std::size_t to = kGuard + total * side.stride;
            std::memcpy(seen.data() + from, side.wanted.data() + from, to - from);
        }
        for (std::size_t index = 0; index < seen.size(); ++index) {
            if (seen[index] != side.wanted[index] && !is_padding(side, index)) {
                return describe() + ": the " + (sends ? "send" : "receive") +
                       " buffer differs at byte " +
                       std::to_string(static_cast<long>(index) - static_cast<long>(kGuard)) +
                       " of " + std::to_string(side.wanted.size() - 2 * kGuard - 16);
            }
        }
    }
    return {};
}

std::string Running::describe() const {
    constexpr const char* kForms[] = {"", "i", "persistent "};
    std::string text = kForms[static_cast<int>(facts_.form)];
    text += to_string(facts_.call);
    text += std::string(" ") + element_.name + " x " + std::to_string(facts_.count);
    text +=
        std::string(", ") + gpu::to_string(facts_.send) + " to " + gpu::to_string(facts_.receive);
    text += facts_.in_place ? ", in place" : "";
    text += ", gaps " + std::to_string(facts_.gaps) + ", root " + std::to_string(facts_.root);
    return text + ", on " + group_.name;
}

}  // namespace beeline::test
