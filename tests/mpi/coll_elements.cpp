// SPDX-License-Identifier: BSD-3-Clause
// Datatypes and operations whose results are exact.
#include <cstdio>
#include <cstring>

#include "tests/mpi/coll_case.hpp"

namespace beeline::test {
namespace {

template <class T>
void put(void* place, long value) {
    const T number = static_cast<T>(value);
    std::memcpy(place, &number, sizeof number);
}

long sum(long a, long b) {
    return a + b;
}
long product(long a, long b) {
    return a * b;
}
long larger(long a, long b) {
    return a > b ? a : b;
}
long smaller(long a, long b) {
    return a < b ? a : b;
}
long differing(long a, long b) {
    return a ^ b;
}
long common(long a, long b) {
    return a & b;
}

/// An affine map of the numbers modulo a prime: x becomes factor * x + offset.
struct Map {
    unsigned factor;
    unsigned offset;
};
constexpr unsigned kPrime = 251;

Map map_of(long value) {
    const auto number = static_cast<unsigned>(value);
    return {number / kPrime % kPrime, number % kPrime};
}

Map after(Map first, Map second) {
    return {first.factor * second.factor % kPrime,
            (second.factor * first.offset + second.offset) % kPrime};
}

Map both(Map one, Map other) {
    return {(one.factor + other.factor) % kPrime, (one.offset + other.offset) % kPrime};
}

template <Map (*Combine)(Map, Map)>
long combine(long lower, long higher) {
    const Map result = Combine(map_of(lower), map_of(higher));
    return static_cast<long>(result.factor * kPrime + result.offset);
}

/// As MPI calls it. It touches the memory with the CPU, which device memory would not survive.
template <Map (*Combine)(Map, Map)>
void call(void* in, void* inout, int* count, MPI_Datatype*) {
    for (int index = 0; index < *count; ++index) {
        Map lower;
        Map higher;
        auto* place = static_cast<char*>(inout) + static_cast<std::size_t>(index) * sizeof(Map);
        std::memcpy(&lower, static_cast<char*>(in) + static_cast<std::size_t>(index) * sizeof(Map),
                    sizeof(Map));
        std::memcpy(&higher, place, sizeof(Map));
        const Map result = Combine(lower, higher);
        std::memcpy(place, &result, sizeof(Map));
    }
}

void put_map(void* place, long value) {
    const Map map = map_of(value);
    std::memcpy(place, &map, sizeof map);
}

struct Pair {
    int value;
    int index;
};

/// The bytes of x87's format that count.
constexpr std::size_t kLongDouble = 10;

void put_pair(void* place, long value) {
    const Pair pair{static_cast<int>(value / 64), static_cast<int>(value % 64)};
    std::memcpy(place, &pair, sizeof pair);
}

long largest_first(long a, long b) {
    if (a / 64 != b / 64) {
        return a / 64 > b / 64 ? a : b;
    }
    return a % 64 < b % 64 ? a : b;
}

}  // namespace

Elements::Elements() {
    MPI_Type_contiguous(2, MPI_UINT32_T, &map_);
    MPI_Type_commit(&map_);
    MPI_Op_create(call<after>, 0, &compose_);
    MPI_Op_create(call<both>, 1, &add_);
    constexpr long kMaps = static_cast<long>(kPrime) * kPrime;
    all_ = {
        {"int32 sum", MPI_INT32_T, MPI_SUM, 4, 1000, sum, put<std::int32_t>},
        {"double sum", MPI_DOUBLE, MPI_SUM, 8, 1000, sum, put<double>},
        {"float product", MPI_FLOAT, MPI_PROD, 4, 4, product, put<float>},
        {"int8 max", MPI_INT8_T, MPI_MAX, 1, 100, larger, put<std::int8_t>},
        {"uint64 min", MPI_UINT64_T, MPI_MIN, 8, 100000, smaller, put<std::uint64_t>},
        {"uint16 xor", MPI_UINT16_T, MPI_BXOR, 2, 1 << 15, differing, put<std::uint16_t>},
        {"byte and", MPI_BYTE, MPI_BAND, 1, 256, common, put<unsigned char>},
        {"long double sum", MPI_LONG_DOUBLE, MPI_SUM, sizeof(long double), 1000, sum,
         [](void* place, long value) {
             std::memset(place, 0, sizeof(long double));
             const auto number = static_cast<long double>(value);
             std::memcpy(place, &number, kLongDouble);
         },
         sizeof(long double) - kLongDouble},
        {"two ints maxloc", MPI_2INT, MPI_MAXLOC, sizeof(Pair), 64 * 100, largest_first, put_pair},
        {"maps one after another", map_, compose_, sizeof(Map), kMaps, combine<after>, put_map},
        {"maps added", map_, add_, sizeof(Map), kMaps, combine<both>, put_map},
    };
}

Elements::~Elements() {
    MPI_Op_free(&compose_);
    MPI_Op_free(&add_);
    MPI_Type_free(&map_);
}

}  // namespace beeline::test
