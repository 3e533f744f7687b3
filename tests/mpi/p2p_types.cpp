// SPDX-License-Identifier: BSD-3-Clause
// Derived datatypes in every kind of memory: only the bytes that the type names move, and each to
// its place.
#include "harness.hpp"

namespace beeline::test {
namespace {

/// A committed datatype and, for one element of it, where each byte of the packed stream lies.
struct Type {
    const char* name;
    MPI_Datatype type;
    std::vector<std::size_t> places;
    std::size_t extent;
};

void add_run(std::vector<std::size_t>& places, std::size_t start, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
        places.push_back(start + i);
    }
}

Type make_contiguous() {
    Type t{"contiguous", MPI_DATATYPE_NULL, {}, 28};
    MPI_Type_contiguous(7, MPI_INT, &t.type);
    add_run(t.places, 0, 28);
    return t;
}

Type make_vector() {
    Type t{"vector", MPI_DATATYPE_NULL, {}, (4 * 7 + 3) * 4};
    MPI_Type_vector(5, 3, 7, MPI_INT, &t.type);
    for (std::size_t block = 0; block < 5; ++block) {
        add_run(t.places, block * 28, 12);
    }
    return t;
}

Type make_indexed() {
    Type t{"indexed", MPI_DATATYPE_NULL, {}, 9 * 8 + 2 * 8};
    const int lengths[3] = {1, 3, 2};
    // Out of address order: the stream follows the type map.
    const int starts[3] = {4, 0, 9};
    MPI_Type_indexed(3, lengths, starts, MPI_DOUBLE, &t.type);
    add_run(t.places, 32, 8);
    add_run(t.places, 0, 24);
    add_run(t.places, 72, 16);
    return t;
}

Type make_struct() {
    Type t{"struct", MPI_DATATYPE_NULL, {}, 32};
    const int lengths[3] = {1, 2, 3};
    const MPI_Aint starts[3] = {0, 8, 25};
    const MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_BYTE};
    MPI_Datatype bare = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(3, lengths, starts, types, &bare);
    MPI_Type_create_resized(bare, 0, 32, &t.type);
    MPI_Type_free(&bare);
    add_run(t.places, 0, 1);
    add_run(t.places, 8, 16);
    add_run(t.places, 25, 3);
    return t;
}

Type make_resized() {
    Type t{"resized", MPI_DATATYPE_NULL, {}, 10};
    MPI_Type_create_resized(MPI_INT, 0, 10, &t.type);
    add_run(t.places, 0, 4);
    return t;
}

Type make_nested() {
    Type t{"nested", MPI_DATATYPE_NULL, {}, 0};
    MPI_Datatype column = MPI_DATATYPE_NULL;
    MPI_Type_vector(3, 1, 4, MPI_SHORT, &column);
    MPI_Type_create_hvector(2, 1, 40, column, &t.type);
    MPI_Type_free(&column);
    for (std::size_t outer = 0; outer < 2; ++outer) {
        for (std::size_t inner = 0; inner < 3; ++inner) {
            add_run(t.places, outer * 40 + inner * 8, 2);
        }
    }
    t.extent = 40 + 2 * 8 + 2;
    return t;
}

std::vector<Type> make_types() {
    std::vector<Type> types = {make_contiguous(), make_vector(),  make_indexed(),
                               make_struct(),     make_resized(), make_nested()};
    for (Type& type : types) {
        MPI_Type_commit(&type.type);
    }
    return types;
}

/// Elements per message: single, an eager message, and one far above every eager limit.
constexpr int kCounts[] = {0, 1, 50, 20000};
constexpr std::size_t kLargest = 20000 * 124 + 4096;

class Types {
 public:
    explicit Types(Harness& harness) : h_(harness), types_(make_types()) {
        for (const gpu::Kind kind : h_.kinds) {
            out_.push_back(std::make_unique<Area>(h_.gpu.get(), kind, kLargest));
            in_.push_back(std::make_unique<Area>(h_.gpu.get(), kind, kLargest));
        }
    }
    ~Types() {
        for (Type& type : types_) {
            MPI_Type_free(&type.type);
        }
    }
    Types(const Types&) = delete;
    Types& operator=(const Types&) = delete;

    void run() {
        for (const Type& type : types_) {
            for (std::size_t mine = 0; mine < out_.size(); ++mine) {
                for (std::size_t other = 0; other < in_.size(); ++other) {
                    for (const int count : kCounts) {
                        exchange(type, count, *out_[mine], *in_[other], Receive::kSameType);
                    }
                    exchange(type, 50, *out_[mine], *in_[other], Receive::kBytes);
                    exchange(type, 2000, *out_[mine], *in_[other], Receive::kBytes);
                }
            }
        }
        for (std::size_t kind = 0; kind < out_.size(); ++kind) {
            freed_while_used(*out_[kind], *in_[kind]);
        }
    }

 private:
    enum class Receive { kSameType, kBytes };

    /// Everybody sends to the right; the payload of rank r is the pattern of its seed in packed
    /// order.
    void exchange(const Type& type, int count, Area& out, Area& in, Receive receive) {
        const std::size_t packed = type.places.size() * static_cast<std::size_t>(count);
        const std::size_t extent = type.extent * static_cast<std::size_t>(count);
        const int right = (h_.rank + 1) % h_.ranks;
        const int left = (h_.rank - 1 + h_.ranks) % h_.ranks;
        ++number_;

        out.poison(extent, 8, number_);
        scatter(type, count, h_.rank, out.image());
        out.upload();
        in.poison(receive == Receive::kBytes ? packed : extent, 8, number_ + 1000000);

        MPI_Status status;
        const bool bytes = receive == Receive::kBytes;
        MPI_Sendrecv(out.data(), count, type.type, right, 1, in.data(),
                     bytes ? static_cast<int>(packed) : count, bytes ? MPI_BYTE : type.type, left,
                     1, MPI_COMM_WORLD, &status);
        if (bytes) {
            in.expect(packed, seed(left));
        } else {
            scatter(type, count, left, in.image());
        }
        const char* names[2] = {gpu::to_string(out.kind()), gpu::to_string(in.kind())};
        h_.check(in.intact(), "%d x %s from %s to %s%s: wrong data or surroundings", count,
                 type.name, names[0], names[1], bytes ? " as bytes" : "");
        h_.check(out.intact(), "%d x %s from %s: the send buffer changed", count, type.name,
                 names[0]);
        int elements = -1;
        MPI_Get_count(&status, bytes ? MPI_BYTE : type.type, &elements);
        h_.check(elements == (bytes ? static_cast<int>(packed) : count), "%d x %s: count %d", count,
                 type.name, elements);
    }

    /// Types are freed as soon as a message uses them, so that the next one, of another layout,
    /// comes to lie where the last one was.
    void freed_while_used(Area& out, Area& in) {
        const int right = (h_.rank + 1) % h_.ranks;
        const int left = (h_.rank - 1 + h_.ranks) % h_.ranks;
        for (std::size_t round = 0; round < 200; ++round) {
            const std::size_t block = 1 + round % 7;
            const std::size_t stride = block + round % 5;
            const int blocks = round % 20 == 0 ? 5000 : 20;
            Type type{"freed", MPI_DATATYPE_NULL, {}, 0};
            MPI_Type_vector(blocks, static_cast<int>(block), static_cast<int>(stride), MPI_BYTE,
                            &type.type);
            MPI_Type_commit(&type.type);
            for (std::size_t i = 0; i < static_cast<std::size_t>(blocks); ++i) {
                add_run(type.places, i * stride, block);
            }
            type.extent = (static_cast<std::size_t>(blocks) - 1) * stride + block;
            ++number_;
            out.poison(type.extent, 8, number_);
            scatter(type, 1, h_.rank, out.image());
            out.upload();
            in.poison(type.extent, 8, number_ + 1000000);
            MPI_Request requests[2];
            MPI_Irecv(in.data(), 1, type.type, left, 2, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(out.data(), 1, type.type, right, 2, MPI_COMM_WORLD, &requests[1]);
            MPI_Type_free(&type.type);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            scatter(type, 1, left, in.image());
            h_.check(in.intact() && out.intact(),
                     "a type freed while in use, %d blocks of %zu each %zu, in %s memory", blocks,
                     block, stride, gpu::to_string(in.kind()));
        }
    }

    std::uint64_t seed(int source) const {
        return bench::make_seed(number_, static_cast<unsigned>(source), 3, 3);
    }

    /// Puts the packed stream of `source` where the type says into `memory`.
    void scatter(const Type& type, int count, int source, unsigned char* memory) {
        stream_.resize(type.places.size() * static_cast<std::size_t>(count));
        bench::fill_pattern(stream_, seed(source));
        const std::size_t width = type.places.size();
        for (std::size_t i = 0; i < stream_.size(); ++i) {
            memory[i / width * type.extent + type.places[i % width]] = stream_[i];
        }
    }

    Harness& h_;
    std::vector<Type> types_;
    std::vector<std::unique_ptr<Area>> out_;
    std::vector<std::unique_ptr<Area>> in_;
    std::vector<unsigned char> stream_;
    unsigned number_ = 0;
};

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    beeline::test::Harness harness(&argc, &argv);
    beeline::test::Types(harness).run();
    return harness.finish();
}
