// SPDX-License-Identifier: BSD-3-Clause
// One collective call of any kind with inputs that make its result exact, and what a serial
// computation says it leaves in memory.
#pragma once

#include <mpi.h>
#include <mpi-ext.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/gpu/gpu.hpp"

namespace beeline::test {

enum class Call {
    kBcast,
    kAllgather,
    kAllgatherv,
    kGather,
    kGatherv,
    kScatter,
    kScatterv,
    kAlltoall,
    kAlltoallv,
    kAlltoallw,
    kAllreduce,
    kReduce,
    kReduceScatter,
    kReduceScatterBlock,
    kScan,
    kExscan,
    kBarrier,
    kNeighborAllgather,
    kNeighborAllgatherv,
    kNeighborAlltoall,
    kNeighborAlltoallv,
    kNeighborAlltoallw,
};
const char* to_string(Call call) noexcept;

constexpr bool reduces(Call call) noexcept {
    return call >= Call::kAllreduce && call <= Call::kExscan;
}
constexpr bool on_neighbors(Call call) noexcept {
    return call >= Call::kNeighborAllgather;
}

enum class Form { kBlocking, kNonblocking, kPersistent };

/// A datatype and an operation on it, both of the program's own in some.
struct Element {
    const char* name;
    MPI_Datatype type;
    MPI_Op op;
    std::size_t size;                          ///< bytes
    long limit;                                ///< values are below it
    long (*combine)(long lower, long higher);  ///< what the operation does
    void (*put)(void* place, long value);
    std::size_t padding = 0;  ///< of the bytes, at the end: no operation has to keep it
};

/// Made after MPI_Init; the program's operations check that they see host memory that they can use.
class Elements {
 public:
    Elements();
    ~Elements();
    Elements(const Elements&) = delete;
    Elements& operator=(const Elements&) = delete;
    /// So many at the start are predefined, with an operation that every GPU has.
    static constexpr std::size_t kMachine = 7;
    const Element& operator[](std::size_t index) const { return all_[index]; }
    std::size_t size() const { return all_.size(); }

 private:
    MPI_Datatype map_ = MPI_DATATYPE_NULL;
    MPI_Op compose_ = MPI_OP_NULL;
    MPI_Op add_ = MPI_OP_NULL;
    std::vector<Element> all_;
};

/// A communicator. With a topology: block k of a receive buffer is what rank sources[k] has in its
/// send block partners[k]; a source of MPI_PROC_NULL leaves it alone.
struct Group {
    std::string name;
    MPI_Comm comm = MPI_COMM_NULL;
    std::vector<int> sources;
    std::vector<int> partners;
    std::vector<int> targets;
    /// No two edges lead from one rank to the same one.
    bool plain_order = true;
};

/// The facts of a call; equal on all ranks but for the kinds of memory.
struct Case {
    Call call = Call::kBarrier;
    Form form = Form::kBlocking;
    gpu::Kind send = gpu::Kind::kHost;
    gpu::Kind receive = gpu::Kind::kHost;
    bool in_place = false;
    int gaps = 0;  ///< of the datatypes: 0: none, 1: behind each element, 2: before it as well
    int count = 0;
    int root = 0;
};

/// A call with its buffers. Begin, wait for the request, check; persistent ones several times.
class Running {
 public:
    Running(const Case& facts, const Element& element, const Group& group, gpu::Gpu* gpu);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    /// Fills the buffers and makes the call. Blocking ones are over when this returns.
    int begin();
    MPI_Request& request() { return request_; }
    /// What differs from the serial result, once the call is complete; empty: nothing.
    std::string check();
    /// The case, for people.
    std::string describe() const;

 private:
    static constexpr std::size_t kGuard = 64;

    /// Blocks of elements in one buffer.
    struct Side {
        std::vector<int> counts;
        std::vector<int> places;  ///< in elements
        std::vector<int> offsets;
        std::vector<MPI_Aint> far_offsets;
        std::vector<MPI_Datatype> types;
        std::vector<std::vector<long>> before;  ///< input; a block may be without
        std::vector<std::vector<long>> after;   ///< result; where empty the block stays as it was
        std::size_t unspecified = SIZE_MAX;     ///< elements from this one on are not looked at
        MPI_Datatype type = MPI_DATATYPE_NULL;
        std::size_t stride = 0;
        std::size_t offset = 0;
        int total = 0;
        std::vector<unsigned char> initial;
        std::vector<unsigned char> wanted;
        std::unique_ptr<gpu::Buffer> buffer;
        void* address() const { return buffer->at(kGuard); }
    };

    long datum(int from, int block, int index) const;
    std::vector<long> block(int from, int to, int length) const;
    std::vector<long> folded(int first, int last, int offset, int length) const;
    int length_of(int rank) const;
    int length_between(int from, int to) const;
    void set_vectors();
    void set_blocks();
    void set_neighbors();
    void add(Side& side, int length, std::vector<long> before, std::vector<long> after);
    void lay_out(Side& side, int gaps, gpu::Kind kind, bool scattered);
    bool is_padding(const Side& side, std::size_t byte) const;
    void write(Side& side, bool result, std::vector<unsigned char>& image) const;
    int start_vectors();
    int start_blocks();
    int start_neighbors();

    Case facts_;
    const Element& element_;
    const Group& group_;
    gpu::Gpu* gpu_;
    int rank_ = 0;
    int size_ = 1;
    Side send_;
    Side receive_;
    MPI_Request request_ = MPI_REQUEST_NULL;
    bool begun_ = false;
};

}  // namespace beeline::test
