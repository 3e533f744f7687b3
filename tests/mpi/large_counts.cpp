// SPDX-License-Identifier: BSD-3-Clause
// Messages and datatypes beyond 2^31 and 2^32 bytes. Buffers are untouched memory but for a few
// places, so that they take little of the machine's.
//   large_counts [host] [device] [--dense|--one|--half]
// --dense: instead, what needs 2 GiB of real memory in one process
// --one, --half: one message only, of 4 or 2 GiB
#include <sys/mman.h>
#include <sys/prctl.h>

#include <array>
#include <cinttypes>

#include "harness.hpp"

namespace beeline::test {
namespace {

using gpu::Kind;

constexpr std::size_t kGiB = std::size_t{1} << 30;
constexpr std::size_t kMark = 24;     // bytes looked at in one place
constexpr std::size_t kGuard = 4096;  // bytes behind the data that must stay as they are
constexpr int kTag = 7;

/// Memory of any kind of which only what is written takes memory.
class Sparse {
 public:
    Sparse(gpu::Gpu* gpu, Kind kind, std::size_t bytes) : gpu_(gpu), kind_(kind), bytes_(bytes) {
        if (kind == Kind::kDevice) {
            memory_ = static_cast<unsigned char*>(gpu->allocate(kind, bytes));
        } else {
            void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            memory_ = memory == MAP_FAILED ? nullptr : static_cast<unsigned char*>(memory);
        }
        if (memory_ == nullptr) {
            std::printf("FAIL: no %s memory of %zu bytes\n", gpu::to_string(kind), bytes);
            std::fflush(stdout);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    ~Sparse() {
        if (kind_ == Kind::kDevice) {
            gpu_->release(kind_, memory_, bytes_);
        } else {
            munmap(memory_, bytes_);
        }
    }
    Sparse(const Sparse&) = delete;
    Sparse& operator=(const Sparse&) = delete;

    void* data() const { return memory_; }
    void write(std::size_t at, const void* from, std::size_t bytes) {
        if (kind_ == Kind::kDevice) {
            gpu_->write(memory_ + at, from, bytes);
        } else {
            std::memcpy(memory_ + at, from, bytes);
        }
    }
    void read(std::size_t at, void* to, std::size_t bytes) const {
        if (kind_ == Kind::kDevice) {
            gpu_->read(to, memory_ + at, bytes);
        } else {
            std::memcpy(to, memory_ + at, bytes);
        }
    }

 private:
    gpu::Gpu* gpu_;
    Kind kind_;
    std::size_t bytes_;
    unsigned char* memory_;
};

/// What is sent: a datatype, and where in its memory data and gaps lie.
struct Shape {
    const char* name;
    MPI_Datatype type;
    int count;
    std::size_t span;               ///< bytes of memory
    std::size_t bytes;              ///< of data
    std::vector<std::size_t> data;  ///< places of kMark bytes of data
    std::vector<std::size_t> gaps;  ///< places of kMark bytes that are no data
};

/// `bytes` bytes in a row as one element; none of the numbers in it is beyond an int.
MPI_Datatype bytes_type(std::size_t bytes) {
    constexpr std::size_t kUnit = std::size_t{1} << 20;
    MPI_Datatype unit = MPI_DATATYPE_NULL;
    MPI_Datatype many = MPI_DATATYPE_NULL;
    MPI_Datatype all = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(kUnit), MPI_BYTE, &unit);
    MPI_Type_contiguous(static_cast<int>(bytes / kUnit), unit, &many);
    const std::array<int, 2> counts{1, static_cast<int>(bytes % kUnit)};
    const std::array<MPI_Aint, 2> places{0, static_cast<MPI_Aint>(bytes / kUnit * kUnit)};
    const std::array<MPI_Datatype, 2> types{many, MPI_BYTE};
    MPI_Type_create_struct(2, counts.data(), places.data(), types.data(), &all);
    MPI_Type_commit(&all);
    MPI_Type_free(&many);
    MPI_Type_free(&unit);
    return all;
}

Shape row(const char* name, std::size_t bytes) {
    Shape shape{name, bytes_type(bytes), 1, bytes, bytes, {0, bytes - kMark}, {}};
    for (const std::size_t edge : {2 * kGiB, 4 * kGiB}) {
        if (edge + kMark < bytes) {
            shape.data.push_back(edge - kMark / 2);
        }
    }
    shape.data.push_back(kGiB + 12345);
    return shape;
}

/// `blocks` runs of 1000 bytes, 1 GiB apart: 1 element.
Shape far_apart(int blocks) {
    Shape shape{"runs 1 GiB apart", MPI_DATATYPE_NULL, 1, 0, 0, {}, {}};
    MPI_Type_create_hvector(blocks, 1000, static_cast<MPI_Aint>(kGiB), MPI_BYTE, &shape.type);
    MPI_Type_commit(&shape.type);
    shape.bytes = static_cast<std::size_t>(blocks) * 1000;
    shape.span = static_cast<std::size_t>(blocks - 1) * kGiB + 1000;
    for (std::size_t i = 0; i < static_cast<std::size_t>(blocks); ++i) {
        shape.data.push_back(i * kGiB);
        shape.data.push_back(i * kGiB + 1000 - kMark);
        if (i + 1 < static_cast<std::size_t>(blocks)) {
            shape.gaps.push_back(i * kGiB + 1000);
            shape.gaps.push_back((i + 1) * kGiB - kMark);
        }
    }
    return shape;
}

/// Elements of `length` bytes, `stride` bytes apart: count x extent is large.
Shape stretched(std::size_t length, std::size_t stride, int count) {
    Shape shape{"elements of a large extent", MPI_DATATYPE_NULL, count, 0, 0, {}, {}};
    MPI_Datatype block = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(length), MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, static_cast<MPI_Aint>(stride), &shape.type);
    MPI_Type_commit(&shape.type);
    MPI_Type_free(&block);
    const auto elements = static_cast<std::size_t>(count);
    shape.bytes = elements * length;
    shape.span = (elements - 1) * stride + length;
    for (const std::size_t i : {std::size_t{0}, elements / 2, elements - 1}) {
        shape.data.push_back(i * stride);
        shape.data.push_back(i * stride + length - kMark);
        if (i + 1 < elements) {
            shape.gaps.push_back(i * stride + length);
        }
    }
    return shape;
}

std::size_t available_memory() {
    std::FILE* file = std::fopen("/proc/meminfo", "r");
    std::size_t kib = 0;
    char line[128];
    while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr &&
           std::sscanf(line, "MemAvailable: %zu", &kib) != 1) {
    }
    if (file != nullptr) {
        std::fclose(file);
    }
    return kib << 10;
}

class LargeCounts {
 public:
    explicit LargeCounts(Harness& harness) : h_(harness), other_(1 - h_.rank) {}

    void run() {
        std::vector<Shape> shapes;
        shapes.push_back(far_apart(6));
        shapes.push_back(stretched(100, 3 * kGiB / 2 + 8, 4));
        shapes.push_back(stretched(48, (std::size_t{16} << 20) + 8, 300));
        for (const Kind from : h_.kinds) {
            for (const Kind to : h_.kinds) {
                for (const Shape& shape : shapes) {
                    pass(shape, from, to);
                }
            }
        }
        for (const Shape& shape : shapes) {
            for (const Kind kind : h_.kinds) {
                self(shape, kind);
                broadcast(shape, kind);
                reduce(shape, kind);
            }
        }
        if (h_.has(Kind::kDevice)) {
            rows();
        }
        release(shapes);
    }

    /// One long message to a device, for paths that take all of it through the host.
    void run_one(std::size_t bytes) {
        const Shape shape = row("one message", bytes);
        pass(shape, h_.kinds[0], Kind::kDevice);
        release({shape});
    }

    /// Messages of more than 2 GiB that fill the host memory they are received in.
    void run_dense() {
        constexpr std::size_t kNeeded = 7 * kGiB / 2;
        std::size_t least = available_memory();
        unsigned long mine = least;
        MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_UNSIGNED_LONG, MPI_MIN, MPI_COMM_WORLD);
        least = mine;
        if (least < kNeeded) {
            if (h_.rank == 0) {
                std::printf(
                    "SKIP large_counts: messages of 2 GiB in host memory need %zu MiB, "
                    "%zu are available\n",
                    kNeeded >> 20, least >> 20);
            }
            return;
        }
        const Shape shape = row("2^31 + 7 bytes", 2 * kGiB + 7);
        pass(shape, Kind::kHost, Kind::kHost);
        if (h_.has(Kind::kDevice)) {
            pass(shape, Kind::kDevice, Kind::kHost);
            broadcast(shape, Kind::kDevice);
        }
        release({shape});
    }

 private:
    static void release(const std::vector<Shape>& shapes) {
        for (const Shape& shape : shapes) {
            MPI_Datatype type = shape.type;
            MPI_Type_free(&type);
        }
    }

    static std::array<unsigned char, kMark> mark(std::size_t place, std::uint64_t seed) {
        std::array<unsigned char, kMark> bytes{};
        bench::fill_pattern(bytes, seed + bench::mix(place));
        return bytes;
    }
    static void put(Sparse& memory, const std::vector<std::size_t>& places, std::uint64_t seed) {
        for (const std::size_t place : places) {
            memory.write(place, mark(place, seed).data(), kMark);
        }
    }
    void expect(const Sparse& memory, const std::vector<std::size_t>& places, std::uint64_t seed,
                const Shape& shape, const char* what) {
        for (const std::size_t place : places) {
            std::array<unsigned char, kMark> seen{};
            memory.read(place, seen.data(), kMark);
            h_.check(seen == mark(place, seed), "%s: %s at byte %zu", shape.name, what, place);
        }
    }

    void expect_status(const MPI_Status& status, const Shape& shape, std::size_t bytes) {
        MPI_Count elements = -1;
        MPI_Count lengths = -1;
        int count = -1;
        int bytes_count = -1;
        MPI_Get_elements_x(&status, shape.type, &elements);
        MPI_Get_elements_x(&status, MPI_BYTE, &lengths);
        MPI_Get_count(&status, shape.type, &count);
        MPI_Get_count(&status, MPI_BYTE, &bytes_count);
        const auto wanted = static_cast<MPI_Count>(bytes);
        h_.check(elements == wanted && lengths == wanted,
                 "%s: status of %lld and %lld bytes instead of %zu", shape.name,
                 static_cast<long long>(elements), static_cast<long long>(lengths), bytes);
        const bool whole = bytes == shape.bytes;
        h_.check(count == (whole ? shape.count : MPI_UNDEFINED), "%s: %d elements", shape.name,
                 count);
        h_.check(bytes_count == (bytes > INT32_MAX ? MPI_UNDEFINED : static_cast<int>(bytes)),
                 "%s: MPI_Get_count of bytes gives %d", shape.name, bytes_count);
    }

    /// Rank 0 sends; rank 1 receives, the message being expected or probed first.
    void pass(const Shape& shape, Kind from, Kind to, bool probed = false) {
        const std::uint64_t seed = bench::mix(++cases_);
        if (h_.rank == 0) {
            Sparse memory(h_.gpu.get(), from, shape.span + kGuard);
            put(memory, shape.data, seed);
            put(memory, shape.gaps, seed);
            meet();
            MPI_Ssend(memory.data(), shape.count, shape.type, 1, kTag, MPI_COMM_WORLD);
            return;
        }
        Sparse memory(h_.gpu.get(), to, shape.span + kGuard);
        const std::vector<std::size_t> behind{shape.span};
        put(memory, shape.data, ~seed);
        put(memory, shape.gaps, ~seed);
        put(memory, behind, ~seed);
        MPI_Status status{};
        MPI_Request request = MPI_REQUEST_NULL;
        if (probed) {
            meet();
            MPI_Message message = MPI_MESSAGE_NULL;
            MPI_Mprobe(0, kTag, MPI_COMM_WORLD, &message, &status);
            expect_status(status, shape, shape.bytes);
            MPI_Mrecv(memory.data(), shape.count, shape.type, &message, &status);
        } else {
            MPI_Irecv(memory.data(), shape.count, shape.type, 0, kTag, MPI_COMM_WORLD, &request);
            meet();
            MPI_Wait(&request, &status);
        }
        expect_status(status, shape, shape.bytes);
        char what[64];
        std::snprintf(what, sizeof what, "from %s to %s memory, data", gpu::to_string(from),
                      gpu::to_string(to));
        expect(memory, shape.data, seed, shape, what);
        expect(memory, shape.gaps, ~seed, shape, "a gap was written");
        expect(memory, behind, ~seed, shape, "the end was passed");
    }

    /// A message longer than its receive: the part that fits, the error, and what comes next.
    void cut(const Shape& shape, std::size_t room, Kind from, Kind to) {
        const std::uint64_t seed = bench::mix(++cases_);
        int next = 0;
        if (h_.rank == 0) {
            Sparse memory(h_.gpu.get(), from, shape.span + kGuard);
            put(memory, shape.data, seed);
            next = 4711;
            MPI_Send(memory.data(), shape.count, shape.type, 1, kTag, MPI_COMM_WORLD);
            MPI_Send(&next, 1, MPI_INT, 1, kTag, MPI_COMM_WORLD);
            return;
        }
        Sparse memory(h_.gpu.get(), to, shape.span + kGuard);
        const std::vector<std::size_t> behind{room};
        put(memory, behind, ~seed);
        MPI_Datatype type = room < kGiB ? MPI_BYTE : bytes_type(room);
        MPI_Status status{};
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        const int outcome = MPI_Recv(memory.data(), room < kGiB ? static_cast<int>(room) : 1, type,
                                     0, kTag, MPI_COMM_WORLD, &status);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        int error_class = MPI_SUCCESS;
        MPI_Error_class(outcome, &error_class);
        h_.check(error_class == MPI_ERR_TRUNCATE, "%s cut to %zu bytes: error class %d", shape.name,
                 room, error_class);
        std::vector<std::size_t> kept;
        for (const std::size_t place : shape.data) {
            if (place + kMark <= room) {
                kept.push_back(place);
            }
        }
        expect(memory, kept, seed, shape, "the part of a cut message");
        expect(memory, behind, ~seed, shape, "behind the part of a cut message");
        MPI_Recv(&next, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        h_.check(next == 4711, "%s: the message after a cut one is %d", shape.name, next);
        if (room >= kGiB) {
            MPI_Type_free(&type);
        }
    }

    /// Device memory in a row: 2^31 - 1 bytes and more, by every way they can be received.
    void rows() {
        const std::vector<Shape> shapes{row("2^31 - 1 bytes", 2 * kGiB - 1),
                                        row("2^31 bytes", 2 * kGiB),
                                        row("2^32 + 7 bytes", 4 * kGiB + 7)};
        for (const Shape& shape : shapes) {
            pass(shape, Kind::kDevice, Kind::kDevice);
        }
        const Shape& largest = shapes.back();
        pass(largest, Kind::kDevice, Kind::kDevice, true);
        self(largest, Kind::kDevice);
        cut(largest, 100, Kind::kDevice, Kind::kDevice);
        cut(largest, 2 * kGiB + 9, Kind::kDevice, Kind::kDevice);
        cut(largest, 100, Kind::kDevice, Kind::kHost);
        cut(largest, 100, Kind::kHost, Kind::kHost);
        release(shapes);
    }

    void self(const Shape& shape, Kind kind) {
        const std::uint64_t seed = bench::mix(++cases_);
        Sparse out(h_.gpu.get(), kind, shape.span + kGuard);
        Sparse in(h_.gpu.get(), kind, shape.span + kGuard);
        const std::vector<std::size_t> behind{shape.span};
        put(out, shape.data, seed);
        put(in, shape.gaps, ~seed);
        put(in, behind, ~seed);
        MPI_Status status{};
        MPI_Sendrecv(out.data(), shape.count, shape.type, 0, kTag, in.data(), shape.count,
                     shape.type, 0, kTag, MPI_COMM_SELF, &status);
        expect_status(status, shape, shape.bytes);
        expect(in, shape.data, seed, shape, "to itself, data");
        expect(in, shape.gaps, ~seed, shape, "to itself, a gap was written");
        expect(in, behind, ~seed, shape, "to itself, the end was passed");
    }

    void broadcast(const Shape& shape, Kind kind) {
        const std::uint64_t seed = bench::mix(++cases_);
        Sparse memory(h_.gpu.get(), kind, shape.span + kGuard);
        put(memory, shape.data, h_.rank == 0 ? seed : ~seed);
        put(memory, shape.gaps, ~seed);
        MPI_Bcast(memory.data(), shape.count, shape.type, 0, MPI_COMM_WORLD);
        expect(memory, shape.data, seed, shape, "MPI_Bcast, data");
        expect(memory, shape.gaps, ~seed, shape, "MPI_Bcast, a gap was written");
    }

    /// The sum by an operation of our own over elements far apart.
    void reduce(const Shape& shape, Kind kind) {
        if (shape.count == 1) {
            return;
        }
        stride_ = static_cast<std::size_t>(extent(shape.type));
        Sparse out(h_.gpu.get(), kind, shape.span + kGuard);
        Sparse in(h_.gpu.get(), kind, shape.span + kGuard);
        for (std::size_t i = 0; i < static_cast<std::size_t>(shape.count); ++i) {
            const auto value =
                static_cast<unsigned char>(i * 3 + 1 + static_cast<unsigned>(h_.rank));
            out.write(i * stride_, &value, 1);
        }
        put(in, shape.gaps, 5);
        MPI_Op op = MPI_OP_NULL;
        MPI_Op_create(add, 1, &op);
        MPI_Allreduce(out.data(), in.data(), shape.count, shape.type, op, MPI_COMM_WORLD);
        MPI_Op_free(&op);
        for (std::size_t i = 0; i < static_cast<std::size_t>(shape.count); ++i) {
            unsigned char value = 0;
            in.read(i * stride_, &value, 1);
            h_.check(value == static_cast<unsigned char>(2 * (i * 3 + 1) + 1),
                     "%s: MPI_Allreduce of %s memory gives %d in element %zu", shape.name,
                     gpu::to_string(kind), value, i);
        }
        expect(in, shape.gaps, 5, shape, "MPI_Allreduce, a gap was written");
    }

    static MPI_Aint extent(MPI_Datatype type) {
        MPI_Aint low = 0;
        MPI_Aint bytes = 0;
        MPI_Type_get_extent(type, &low, &bytes);
        return bytes;
    }
    static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
        const auto stride = static_cast<std::size_t>(extent(*type));
        for (std::size_t i = 0; i < static_cast<std::size_t>(*count); ++i) {
            static_cast<unsigned char*>(inout)[i * stride] =
                static_cast<unsigned char>(static_cast<unsigned char*>(inout)[i * stride] +
                                           static_cast<const unsigned char*>(in)[i * stride]);
        }
    }

    void meet() {
        MPI_Sendrecv(nullptr, 0, MPI_BYTE, other_, 1, nullptr, 0, MPI_BYTE, other_, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }

    Harness& h_;
    int other_;
    std::uint64_t cases_ = 0;
    std::size_t stride_ = 0;
};

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    // A page touched must not become 2 MiB, also in buffers that MPI takes for itself.
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    beeline::test::Harness harness(&argc, &argv);
    beeline::test::LargeCounts tests(harness);
    const char* last = argv[argc - 1];
    if (std::strcmp(last, "--dense") == 0) {
        tests.run_dense();
    } else if (std::strcmp(last, "--one") == 0) {
        tests.run_one(4 * beeline::test::kGiB + 7);
    } else if (std::strcmp(last, "--half") == 0) {
        tests.run_one(2 * beeline::test::kGiB + 7);
    } else {
        tests.run();
    }
    return harness.finish();
}
