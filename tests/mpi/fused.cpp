// SPDX-License-Identifier: BSD-3-Clause
// Allreduce by one kernel: results, repetition, what a call costs in driver calls, and a rank that
// does not come. The first argument names the scenario.
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string_view>
#include <vector>

#include "tests/mpi/harness.hpp"

namespace beeline::test {
namespace {

constexpr std::array kKinds = {gpu::Kind::kDevice, gpu::Kind::kHost, gpu::Kind::kManaged,
                               gpu::Kind::kPinned};

struct Pairing {
    MPI_Datatype type;
    MPI_Op op;
    const char* name;
};

const std::vector<Pairing>& pairings() {
    static const std::vector<Pairing> all = {
        {MPI_INT8_T, MPI_SUM, "int8 sum"},
        {MPI_UINT8_T, MPI_MAX, "uint8 max"},
        {MPI_INT16_T, MPI_MIN, "int16 min"},
        {MPI_UINT16_T, MPI_PROD, "uint16 prod"},
        {MPI_INT32_T, MPI_SUM, "int32 sum"},
        {MPI_INT32_T, MPI_LAND, "int32 land"},
        {MPI_UINT32_T, MPI_BXOR, "uint32 bxor"},
        {MPI_INT64_T, MPI_BAND, "int64 band"},
        {MPI_UINT64_T, MPI_SUM, "uint64 sum"},
        {MPI_FLOAT, MPI_SUM, "float sum"},
        {MPI_FLOAT, MPI_MAX, "float max"},
        {MPI_DOUBLE, MPI_PROD, "double prod"},
        {MPI_C_FLOAT_COMPLEX, MPI_SUM, "complex sum"},
        {MPI_C_DOUBLE_COMPLEX, MPI_PROD, "double complex prod"},
        {MPI_2INT, MPI_MAXLOC, "2int maxloc"},
        {MPI_FLOAT_INT, MPI_MINLOC, "float_int minloc"},
        {MPI_LONG_DOUBLE, MPI_SUM, "long double sum (on the host)"},
    };
    return all;
}

bool of_floats(MPI_Datatype type) {
    return type == MPI_FLOAT || type == MPI_C_FLOAT_COMPLEX;
}
bool of_doubles(MPI_Datatype type) {
    return type == MPI_DOUBLE || type == MPI_C_DOUBLE_COMPLEX;
}

/// Bytes from which every rank makes the contribution of any rank. Floating point numbers are such
/// that sums and products round, so that another order of the ranks would show.
std::vector<unsigned char> contribution(const Pairing& what, std::size_t bytes, unsigned seed) {
    std::vector<unsigned char> data(bytes);
    std::uint32_t state = seed * 2654435761U + 1;
    const auto next = [&state] {
        state = state * 1664525U + 1013904223U;
        return state >> 8;
    };
    const auto fill = [&](auto example, auto value) {
        for (std::size_t at = 0; at + sizeof example <= bytes; at += sizeof example) {
            const decltype(example) element = value();
            std::memcpy(data.data() + at, &element, sizeof element);
        }
    };
    if (of_floats(what.type)) {
        fill(float{}, [&] { return 1.0F + static_cast<float>(next() % 1000003) * 1e-4F; });
    } else if (of_doubles(what.type)) {
        fill(double{}, [&] { return 1.0 + static_cast<double>(next()) * 1e-7; });
    } else if (what.type == MPI_LONG_DOUBLE) {
        fill(static_cast<long double>(0), [&] { return static_cast<long double>(next() % 1000); });
    } else if (what.type == MPI_FLOAT_INT) {
        fill(std::uint64_t{}, [&] {
            const float value = static_cast<float>(next() % 4);
            std::uint32_t low = 0;
            std::memcpy(&low, &value, sizeof low);
            return std::uint64_t{next() % 7} << 32 | low;
        });
    } else {
        // (Sums of small integers that overflow saturate or wrap, as the processor has it.)
        const unsigned most = what.op == MPI_LAND ? 2 : what.type == MPI_INT8_T ? 16 : 256;
        for (unsigned char& byte : data) {
            byte = static_cast<unsigned char>(next() % most);
        }
    }
    return data;
}

/// In rank order, as MPI_Reduce_local does it.
std::vector<unsigned char> reference(const Pairing& what, int count, std::size_t bytes,
                                     unsigned seed, int ranks) {
    std::vector<unsigned char> sum = contribution(what, bytes, seed);
    for (int rank = 1; rank < ranks; ++rank) {
        std::vector<unsigned char> next =
            contribution(what, bytes, seed + static_cast<unsigned>(rank));
        MPI_Reduce_local(sum.data(), next.data(), count, what.type, what.op);
        sum = next;
    }
    return sum;
}

/// Long doubles have bytes without meaning.
bool equal(const Pairing& what, const std::vector<unsigned char>& one,
           const std::vector<unsigned char>& two) {
    if (what.type != MPI_LONG_DOUBLE) {
        return one == two;
    }
    for (std::size_t at = 0; at < one.size(); at += 16) {
        if (std::memcmp(&one[at], &two[at], 10) != 0) {
            return false;
        }
    }
    return true;
}

/// A communicator's allreduces, checked, with buffers that are made once.
class Caller {
 public:
    Caller(Harness& h, MPI_Comm comm, std::size_t most) : h_(h), comm_(comm), most_(most) {
        MPI_Comm_size(comm, &ranks_);
        MPI_Comm_rank(comm, &rank_);
        for (const gpu::Kind kind : kKinds) {
            in_.emplace_back(h.gpu.get(), kind, most + 2 * kGuard);
            out_.emplace_back(h.gpu.get(), kind, most + 2 * kGuard);
        }
    }

    void call(const Pairing& what, int count, std::size_t skew, std::size_t from, std::size_t to,
              bool in_place, unsigned seed) {
        int size = 0;
        MPI_Type_size(what.type, &size);
        const std::size_t bytes = static_cast<std::size_t>(size) * static_cast<std::size_t>(count);
        const std::size_t start = kGuard + skew;
        const auto mine = contribution(what, bytes, seed + static_cast<unsigned>(rank_));
        std::vector<unsigned char> image(start + bytes + kGuard / 2, 0xa5);
        gpu::Buffer& out = out_[to];
        gpu::Buffer& in = in_[from];
        if (in_place) {
            std::copy(mine.begin(), mine.end(), image.begin() + static_cast<std::ptrdiff_t>(start));
        } else {
            in.write(start, mine.data(), bytes);
        }
        out.write(0, image.data(), image.size());
        const int outcome = MPI_Allreduce(in_place ? MPI_IN_PLACE : in.at(start), out.at(start),
                                          count, what.type, what.op, comm_);
        std::vector<unsigned char> seen(image.size());
        out.read(0, seen.data(), seen.size());
        const std::vector<unsigned char> result(
            seen.begin() + static_cast<std::ptrdiff_t>(start),
            seen.begin() + static_cast<std::ptrdiff_t>(start + bytes));
        h_.check(outcome == MPI_SUCCESS &&
                     equal(what, result, reference(what, count, bytes, seed, ranks_)),
                 "%s: %d elements, skew %zu, from %s to %s%s", what.name, count, skew,
                 gpu::to_string(kKinds[from]), gpu::to_string(kKinds[to]),
                 in_place ? ", in place" : "");
        std::fill(seen.begin() + static_cast<std::ptrdiff_t>(start),
                  seen.begin() + static_cast<std::ptrdiff_t>(start + bytes), 0xa5);
        std::fill(image.begin() + static_cast<std::ptrdiff_t>(start),
                  image.begin() + static_cast<std::ptrdiff_t>(start + bytes), 0xa5);
        h_.check(seen == image, "%s: %d elements: wrote outside the buffer", what.name, count);
    }

    std::size_t most() const { return most_; }

 private:
    static constexpr std::size_t kGuard = 64;
    Harness& h_;
    MPI_Comm comm_;
    std::size_t most_;
    int ranks_ = 0;
    int rank_ = 0;
    std::deque<gpu::Buffer> in_;
    std::deque<gpu::Buffer> out_;
};

/// All types and operations; buffers of every kind, differing by rank.
void matrix(Harness& h) {
    Caller caller(h, MPI_COMM_WORLD, 64 << 10);
    unsigned seed = 1;
    for (const Pairing& what : pairings()) {
        int size = 0;
        MPI_Type_size(what.type, &size);
        for (const int count : {1, 3, 8, 1000, 4001}) {
            if (static_cast<std::size_t>(count * size) > caller.most()) {
                continue;
            }
            ++seed;
            const std::size_t skew = seed % 3 == 0 ? static_cast<std::size_t>(size) : 0;
            const std::size_t kind = seed % 2 == 0 ? 0 : seed + static_cast<unsigned>(h.rank);
            caller.call(what, count, skew, kind % kKinds.size(), (kind / 2) % kKinds.size(),
                        seed % 4 == 1, 100 * seed);
        }
    }
}

/// Many calls of changing sizes; a second communicator in between.
void repeat(Harness& h) {
    Caller caller(h, MPI_COMM_WORLD, 8 << 10);
    MPI_Comm other = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    Caller second(h, other, 8 << 10);
    const auto& all = pairings();
    for (unsigned round = 0; round < 1000; ++round) {
        Caller& which = round % 7 == 3 ? second : caller;
        which.call(all[4 + round % 3], static_cast<int>(1 + round * 37 % 2000), 0, 0, 0,
                   round % 2 == 0, round * 64);
    }
    MPI_Comm_free(&other);
    MPI_Comm third = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &third);
    Caller(h, third, 1024).call(all[4], 100, 0, 0, 0, false, 5);
    MPI_Comm_free(&third);
}

/// One launch, and nothing that waits for the driver.
void ledger(Harness& h) {
    using Calls = unsigned long long (*)(const char*);
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    const auto calls =
        reinterpret_cast<Calls>(library == nullptr ? nullptr : dlsym(library, "softcuda_calls"));
    h.check(calls != nullptr, "the software device's ledger is not there");
    if (calls == nullptr) {
        return;
    }
    const gpu::Buffer in(h.gpu.get(), gpu::Kind::kDevice, 4096);
    const gpu::Buffer out(h.gpu.get(), gpu::Kind::kDevice, 4096);
    const auto run = [&] {
        MPI_Allreduce(in.at(), out.at(), 1024, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    };
    run();
    run();
    constexpr const char* kNone[] = {"cuStreamSynchronize", "cuEventSynchronize", "cuEventRecord",
                                     "cuStreamQuery",       "cuMemcpyAsync",      "cuMemsetD8Async",
                                     "cuMemAlloc",          "cuMemHostRegister",  "cuEventQuery"};
    std::array<unsigned long long, std::size(kNone)> before{};
    for (std::size_t i = 0; i < before.size(); ++i) {
        before[i] = calls(kNone[i]);
    }
    const unsigned long long launches = calls("cuLaunchKernel");
    constexpr unsigned kRounds = 20;
    for (unsigned round = 0; round < kRounds; ++round) {
        run();
    }
    h.check(calls("cuLaunchKernel") - launches == kRounds, "%llu launches in %u calls",
            calls("cuLaunchKernel") - launches, kRounds);
    for (std::size_t i = 0; i < before.size(); ++i) {
        h.check(calls(kNone[i]) == before[i], "%llu calls of %s in %u allreduces",
                calls(kNone[i]) - before[i], kNone[i], kRounds);
    }
}

/// Host buffers on all ranks: fused collectives must get out of the way.
void host_only(Harness& h) {
    using Calls = unsigned long long (*)(const char*);
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    const auto calls =
        reinterpret_cast<Calls>(library == nullptr ? nullptr : dlsym(library, "softcuda_calls"));
    Caller caller(h, MPI_COMM_WORLD, 4096);
    const Pairing& what = pairings()[4];
    caller.call(what, 100, 0, 0, 0, false, 1);
    caller.call(what, 100, 0, 0, 0, false, 2);
    const unsigned long long before = calls == nullptr ? 0 : calls("cuLaunchKernel");
    for (unsigned round = 0; round < 100; ++round) {
        caller.call(what, 100, 0, 1, 1, round % 2 == 0, round);
    }
    const unsigned long long launches = calls == nullptr ? 0 : calls("cuLaunchKernel") - before;
    h.check(launches >= 1 && launches <= 8, "%llu launches in 100 calls on host memory", launches);
    // Device memory again: found out within the rest.
    for (unsigned round = 0; round < 70; ++round) {
        caller.call(what, 100, 0, 0, 0, false, round);
    }
}

/// The last rank does not come: the others must get an error in time, and not before.
int missing(Harness& h) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    auto buffer = std::make_unique<gpu::Buffer>(h.gpu.get(), gpu::Kind::kDevice, 4096);
    const auto run = [&] {
        return MPI_Allreduce(MPI_IN_PLACE, buffer->at(), 1024, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    };
    int failures = run() == MPI_SUCCESS ? 0 : 1;
    if (h.rank == h.ranks - 1) {
        sleep(6);
    } else {
        failures += run() == MPI_SUCCESS ? 1 : 0;
        failures += run() == MPI_SUCCESS ? 1 : 0;  // and so does every later one
    }
    buffer.reset();
    std::printf("%s missing: rank %d: %d failures\n", failures == 0 ? "OK" : "FAIL", h.rank,
                failures);
    std::fflush(stdout);
    h.gpu.reset();
    MPI_Finalize();
    return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    using namespace beeline::test;
    const std::string_view scenario = argc > 1 ? argv[1] : "";
    Harness h(&argc, &argv);
    if (scenario == "missing") {
        return missing(h);
    }
    if (scenario == "matrix") {
        matrix(h);
    } else if (scenario == "repeat") {
        repeat(h);
    } else if (scenario == "ledger") {
        ledger(h);
    } else if (scenario == "host_only") {
        host_only(h);
    } else {
        h.check(false, "no scenario of this name");
    }
    return h.finish();
}
