// SPDX-License-Identifier: BSD-3-Clause
// The reductions' source for this compiler, with the types that only a CPU computes. For the files
// that compile reductions; includes nothing of the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#define BEELINE_DEVICE inline
#define BEELINE_INDEPENDENT _Pragma("GCC ivdep")
#define BEELINE_ROLLED
#define BEELINE_ASSUME_GLOBAL(address)
#define BEELINE_HOST_TYPES
#include "coll/kernel/reduce.inc"

namespace beeline::coll::kernel {

__extension__ typedef __float128 Float128;

using PairF80I32 = Pair<long double, std::int32_t>;

/// An x87 number is 10 bytes; what follows it in memory stays as it is.
constexpr std::size_t kF80Bytes = 10;

template <>
inline void write_bytes(void* address, std::size_t i, const long double& element) {
    std::memcpy(static_cast<char*>(address) + i * sizeof element, &element, kF80Bytes);
}

template <>
inline void write_bytes(void* address, std::size_t i, const Complex<long double>& element) {
    write_bytes(address, 2 * i, element.re);
    write_bytes(address, 2 * i + 1, element.im);
}

template <>
inline void write_bytes(void* address, std::size_t i, const PairF80I32& element) {
    char* at = static_cast<char*>(address) + i * sizeof element;
    std::memcpy(at, &element.value, kF80Bytes);
    std::memcpy(at + offsetof(PairF80I32, index), &element.index, sizeof element.index);
}

}  // namespace beeline::coll::kernel
