// SPDX-License-Identifier: BSD-3-Clause
// Results of reductions whose operands do not add up alike in every order, as one number: the same
// wherever the ranks are and whatever serves the calls, if coll_beeline_reproducible is set.
//   reproducible [KIND...]
#include <cmath>
#include <cstdint>
#include <span>

#include "beeline/types.h"
#include "tests/mpi/harness.hpp"

namespace beeline::test {
namespace {

constexpr int kCounts[] = {1, 7, 1000, 70001};

/// FNV-1a of G. Fowler, L. C. Noll and K.-P. Vo.
class Digest {
 public:
    void add(std::span<const unsigned char> bytes) {
        for (const unsigned char byte : bytes) {
            value_ = (value_ ^ byte) * 0x100000001b3U;
        }
    }
    std::uint64_t value() const { return value_; }

 private:
    std::uint64_t value_ = 0xcbf29ce484222325U;
};

std::uint32_t noise(int rank, std::size_t index) {
    return static_cast<std::uint32_t>(
        bench::mix(std::uint64_t{static_cast<unsigned>(rank)} << 40 ^ index) >> 32);
}

/// Numbers of many magnitudes: each sum rounds.
template <class T>
T number(int rank, std::size_t index);
template <>
float number<float>(int rank, std::size_t index) {
    const std::uint32_t bits = noise(rank, index);
    return std::ldexp(static_cast<float>(bits % 65536) - 32768.0F, static_cast<int>(bits >> 28));
}
template <>
double number<double>(int rank, std::size_t index) {
    return static_cast<double>(number<float>(rank, index)) * 1.1;
}
template <>
std::uint16_t number<std::uint16_t>(int rank, std::size_t index) {
    // Half precision: of 15 magnitudes around one.
    const std::uint32_t bits = noise(rank, index);
    return static_cast<std::uint16_t>((bits & 0x83ff) | (8 + bits % 15) << 10);
}

struct Place {
    gpu::Kind send;
    gpu::Kind receive;
    bool in_place;
};

template <class T>
class Reductions {
 public:
    Reductions(Harness& h, MPI_Datatype type, MPI_Op op, const Place& place, int count)
        : h_(h),
          type_(type),
          op_(op),
          place_(place),
          count_(count),
          length_(static_cast<std::size_t>(count * h.ranks)),
          send_(h.gpu.get(), place.send, length_ * sizeof(T)),
          receive_(h.gpu.get(), place.receive, length_ * sizeof(T)),
          values_(length_) {}

    /// All calls; the results of this rank go into the digest.
    void run(Digest& digest) {
        const int all = count_ * h_.ranks;
        call(digest, all,
             [&](void* in, void* out) { MPI_Allreduce(in, out, all, type_, op_, MPI_COMM_WORLD); });
        const int root = h_.ranks / 2;
        call(h_.rank == root ? digest : unused_, all, [&](void* in, void* out) {
            MPI_Reduce(h_.rank == root || in != MPI_IN_PLACE ? in : out, out, all, type_, op_, root,
                       MPI_COMM_WORLD);
        });
        call(digest, count_, [&](void* in, void* out) {
            MPI_Reduce_scatter_block(in, out, count_, type_, op_, MPI_COMM_WORLD);
        });
        call(digest, all,
             [&](void* in, void* out) { MPI_Scan(in, out, all, type_, op_, MPI_COMM_WORLD); });
        call(h_.rank > 0 ? digest : unused_, all,
             [&](void* in, void* out) { MPI_Exscan(in, out, all, type_, op_, MPI_COMM_WORLD); });
        call(digest, all, [&](void* in, void* out) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Iallreduce(in, out, all, type_, op_, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        });
    }

 private:
    template <class Make>
    void call(Digest& digest, int results, Make&& make) {
        for (std::size_t index = 0; index < length_; ++index) {
            values_[index] = number<T>(h_.rank, index);
        }
        send_.write(0, values_.data(), send_.size());
        receive_.write(0, values_.data(), receive_.size());
        make(place_.in_place ? MPI_IN_PLACE : send_.at(), receive_.at());
        receive_.read(0, values_.data(), receive_.size());
        digest.add({reinterpret_cast<const unsigned char*>(values_.data()),
                    static_cast<std::size_t>(results) * sizeof(T)});
    }

    Harness& h_;
    MPI_Datatype type_;
    MPI_Op op_;
    Place place_;
    int count_;
    std::size_t length_;
    gpu::Buffer send_;
    gpu::Buffer receive_;
    std::vector<T> values_;
    Digest unused_;
};

std::uint64_t digest_of(Harness& h, const Place& place) {
    Digest digest;
    for (const int count : kCounts) {
        Reductions<float>(h, MPI_FLOAT, MPI_SUM, place, count).run(digest);
        Reductions<double>(h, MPI_DOUBLE, MPI_SUM, place, count).run(digest);
        Reductions<float>(h, MPI_FLOAT, MPI_PROD, place, count).run(digest);
        Reductions<std::uint16_t>(h, beeline_type_float16(), beeline_op_sum(), place, count)
            .run(digest);
    }
    return digest.value();
}

/// The digests of all ranks in one.
std::uint64_t combined(std::uint64_t mine, int ranks) {
    std::vector<std::uint64_t> all(static_cast<std::size_t>(ranks));
    MPI_Allgather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
    Digest digest;
    digest.add({reinterpret_cast<const unsigned char*>(all.data()), all.size() * sizeof all[0]});
    return digest.value();
}

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    using namespace beeline::test;
    Harness h(&argc, &argv);
    {
        std::uint64_t first = 0;
        bool any = false;
        for (const auto kind : h.kinds) {
            for (const bool in_place : {false, true}) {
                // Ranks may pass different kinds of memory.
                const auto other = h.kinds[static_cast<std::size_t>(h.rank) % h.kinds.size()];
                const std::uint64_t digest =
                    combined(digest_of(h, {other, kind, in_place}), h.ranks);
                first = any ? first : digest;
                any = true;
                h.check(digest == first, "%s memory%s gives other bits",
                        beeline::gpu::to_string(kind), in_place ? ", in place" : "");
            }
        }
        if (h.rank == 0) {
            std::printf("digest %016llx\n", static_cast<unsigned long long>(first));
        }
    }
    return h.finish();
}
