// SPDX-License-Identifier: BSD-3-Clause
// Open MPI's structures must look the same from C++ as from C, and a layout must describe the same
// bytes, in the same order, as Open MPI packs.
#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

#include "plugin/compat/ompi.hpp"
#include "plugin/types.hpp"
#include "tests/mpi/structures.h"

namespace {

int failures = 0;

void check_structures() {
    struct Row {
        const char* name;
        std::size_t number;
    };
    const Row rows[] = {
#define STRUCTURE(type) {"sizeof " #type, sizeof(type)},
#define MEMBER(type, member) {"offset of " #type "::" #member, offsetof(type, member)},
#include "tests/mpi/structures.def"
#undef STRUCTURE
#undef MEMBER
    };
    if (std::size(rows) != beeline_c_rows) {
        std::printf("FAIL: %zu rows in C++, %zu in C\n", std::size(rows), beeline_c_rows);
        ++failures;
        return;
    }
    for (std::size_t i = 0; i < beeline_c_rows; ++i) {
        if (rows[i].number != beeline_c_numbers[i]) {
            std::printf("FAIL: %s is %zu in C++ and %zu in C\n", rows[i].name, rows[i].number,
                        beeline_c_numbers[i]);
            ++failures;
        }
    }
}

/// A random datatype of at most `depth` constructors over predefined ones.
MPI_Datatype random_type(std::mt19937& random, int depth) {
    const auto below = [&](int limit) {
        return static_cast<int>(random() % static_cast<unsigned>(limit));
    };
    if (depth == 0) {
        const MPI_Datatype plain[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_DOUBLE_INT};
        MPI_Datatype copy = MPI_DATATYPE_NULL;
        MPI_Type_dup(plain[below(5)], &copy);
        return copy;
    }
    MPI_Datatype inner = random_type(random, depth - 1);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Aint low = 0;
    MPI_Aint extent = 0;
    MPI_Type_get_extent(inner, &low, &extent);
    switch (below(5)) {
        case 0:
            MPI_Type_contiguous(1 + below(4), inner, &made);
            break;
        case 1:
            MPI_Type_vector(1 + below(4), 1 + below(2), 2 + below(3), inner, &made);
            break;
        case 2: {
            const int lengths[] = {below(3), 1 + below(2), below(2)};
            const MPI_Aint places[] = {extent * 7, extent * -3, extent * (1 + below(3))};
            MPI_Type_create_hindexed(3, lengths, places, inner, &made);
            break;
        }
        case 3:
            MPI_Type_create_resized(inner, low - below(9), extent + below(17), &made);
            break;
        case 4: {
            const int lengths[] = {1, 1 + below(2)};
            const MPI_Aint places[] = {extent * 5, below(4)};
            const MPI_Datatype parts[] = {inner, MPI_SHORT};
            MPI_Type_create_struct(2, lengths, places, parts, &made);
            break;
        }
        default:
            break;
    }
    MPI_Type_free(&inner);
    return made;
}

void check_layout(MPI_Datatype type, int count, int number) {
    const beeline::datatype::Layout& layout = *beeline::plugin::layout_of(type);
    MPI_Aint low = 0;
    MPI_Aint extent = 0;
    MPI_Type_get_true_extent(type, &low, &extent);
    const MPI_Aint step = layout.extent;
    const MPI_Aint last = step * (count - 1);
    const MPI_Aint from = low + std::min<MPI_Aint>(0, last);
    const MPI_Aint to = low + extent + std::max<MPI_Aint>(0, last);
    std::vector<unsigned char> memory(static_cast<std::size_t>(to - from) + 1);
    std::mt19937 random(static_cast<unsigned>(number));
    for (unsigned char& byte : memory) {
        byte = static_cast<unsigned char>(random());
    }
    const unsigned char* buffer = memory.data() - from;
    int size = 0;
    MPI_Pack_size(count, type, MPI_COMM_SELF, &size);
    std::vector<std::byte> want(static_cast<std::size_t>(size) + 1);
    int position = 0;
    MPI_Pack(buffer, count, type, want.data(), size, &position, MPI_COMM_SELF);
    want.resize(static_cast<std::size_t>(position));
    const auto elements = static_cast<std::size_t>(count);
    std::vector<std::byte> have(layout.bytes(elements));
    beeline::datatype::pack(layout, elements, buffer, 0, have);
    if (have != want) {
        std::printf("FAIL: datatype %d x %d: %zu bytes by the layout, %zu by MPI_Pack%s\n", number,
                    count, have.size(), want.size(),
                    have.size() == want.size() ? ", which differ" : "");
        ++failures;
    }
    std::ptrdiff_t offset = 0;
    const bool contiguous = beeline::plugin::is_contiguous(type, elements, offset);
    if (contiguous && size != 0 &&
        (!layout.contiguous(elements) || layout.first_offset() != offset)) {
        std::printf("FAIL: datatype %d x %d is taken for one run and is not\n", number, count);
        ++failures;
    }
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    check_structures();
    std::mt19937 random(20260);
    constexpr int kTypes = 2000;  // more than the cache keeps of datatypes that are gone
    for (int number = 0; number < kTypes; ++number) {
        MPI_Datatype type = random_type(random, 1 + number % 4);
        MPI_Type_commit(&type);
        check_layout(type, 1, number);
        check_layout(type, 3, number);
        MPI_Type_free(&type);
    }
    for (const MPI_Datatype type : {MPI_INT, MPI_DOUBLE_INT, MPI_LONG_DOUBLE, MPI_C_BOOL}) {
        check_layout(type, 5, kTypes);
    }
    std::printf("%s layouts: %zu structure rows, %d datatypes\n", failures == 0 ? "OK" : "FAIL",
                beeline_c_rows, kTypes);
    beeline::plugin::release_layouts();
    MPI_Finalize();
    return failures == 0 ? 0 : 1;
}
