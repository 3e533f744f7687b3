// SPDX-License-Identifier: BSD-3-Clause
// Reductions on the CPU, made vectors of by the compiler.
#include "coll/kernel/reduce_host.hpp"

#include <cassert>
#include <cstdint>
#include <cstring>

#define BEELINE_DEVICE inline
#define BEELINE_INDEPENDENT _Pragma("GCC ivdep")
#include "coll/kernel/reduce.inc"

namespace beeline::coll::kernel {
namespace {

using Function = void (*)(const void*, const void*, void*, std::size_t) noexcept;

template <class T, class Functor>
void run(const void* left, const void* right, void* out, std::size_t count) noexcept {
    reduce_anywhere<T, Functor>(left, right, out, count, 0, 1);
}

#define BEELINE_ENTRY(op, type, Functor, T) run<T, Functor>,
constexpr Function kFunctions[] = {BEELINE_REDUCE_KERNELS(BEELINE_ENTRY)};
#undef BEELINE_ENTRY

}  // namespace

void reduce_host(Type type, Op op, const void* left, const void* right, void* out,
                 std::size_t count) noexcept {
    const int index = kernel_index(type, op);
    assert(index >= 0);
    kFunctions[index](left, right, out, count);
}

}  // namespace beeline::coll::kernel
