// SPDX-License-Identifier: BSD-3-Clause
// The datatypes and operations of beeline/types.h in collectives, on host and device memory. With
// software GPUs, `launches` in the command line wants device buffers to be reduced by kernels.
#include <beeline/types.h>
#include <dlfcn.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/mpi/harness.hpp"

namespace {

using namespace beeline;

struct Case {
    const char* name;
    MPI_Datatype type;
    std::uint16_t numbers[6];  ///< 0 to 5
    std::size_t size;
};

std::vector<Case> cases() {
    return {
        {"float16", beeline_type_float16(), {0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500}, 2},
        {"bfloat16", beeline_type_bfloat16(), {0, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0}, 2},
        {"e4m3", beeline_type_float8_e4m3(), {0, 0x38, 0x40, 0x44, 0x48, 0x4a}, 1},
        {"e5m2", beeline_type_float8_e5m2(), {0, 0x3c, 0x40, 0x42, 0x44, 0x45}, 1},
    };
}

std::vector<unsigned char> filled(const Case& what, int number, std::size_t count) {
    std::vector<unsigned char> bytes(count * what.size);
    for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(&bytes[i * what.size], &what.numbers[number], what.size);
    }
    return bytes;
}

unsigned long long launches() {
    using Calls = unsigned long long (*)(const char*);
    const auto calls = reinterpret_cast<Calls>(dlsym(RTLD_DEFAULT, "softcuda_calls"));
    return calls != nullptr ? calls("cuLaunchKernel") : 0;
}

/// Rank 0 brings 2, the others 1: at most four ranks, so that no result is above 5.
void check(test::Harness& harness, const Case& what, gpu::Kind kind, std::size_t count) {
    const struct {
        const char* name;
        MPI_Op op;
        int result;
    } wanted[] = {{"sum", beeline_op_sum(), harness.ranks + 1},
                  {"prod", beeline_op_prod(), 2},
                  {"min", beeline_op_min(), harness.ranks > 1 ? 1 : 2},
                  {"max", beeline_op_max(), 2}};
    for (const auto& want : wanted) {
        gpu::Buffer buffer(harness.gpu.get(), kind, count * what.size);
        const auto mine = filled(what, harness.rank == 0 ? 2 : 1, count);
        buffer.write(0, mine.data(), mine.size());
        const int outcome = MPI_Allreduce(MPI_IN_PLACE, buffer.at(), static_cast<int>(count),
                                          what.type, want.op, MPI_COMM_WORLD);
        std::vector<unsigned char> result(mine.size());
        buffer.read(0, result.data(), result.size());
        harness.check(outcome == MPI_SUCCESS && result == filled(what, want.result, count),
                      "%s of %zu %s on %s is wrong", want.name, count, what.name,
                      gpu::to_string(kind));
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bool none_before =
        beeline_type_bfloat16() == MPI_DATATYPE_NULL && beeline_op_sum() == MPI_OP_NULL;
    test::Harness harness(&argc, &argv);
    harness.check(none_before, "handles exist before MPI_Init");
    harness.check(beeline_type_bfloat16() == beeline_type_bfloat16(), "a handle changes");
    bool wants_launches = false;
    for (int i = 1; i < argc; ++i) {
        wants_launches = wants_launches || std::string(argv[i]) == "launches";
    }
    for (const Case& what : cases()) {
        int size = 0;
        MPI_Type_size(what.type, &size);
        harness.check(size == static_cast<int>(what.size), "%s has %d bytes", what.name, size);
        for (const gpu::Kind kind : harness.kinds) {
            const unsigned long long before = launches();
            for (const std::size_t count : {1U, 5U, 3000U}) {
                check(harness, what, kind, count);
            }
            if (wants_launches && kind == gpu::Kind::kDevice) {
                harness.check(launches() > before, "%s is not reduced by a kernel", what.name);
            }
        }
    }
    return harness.finish();
}
