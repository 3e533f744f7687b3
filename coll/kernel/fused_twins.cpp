// SPDX-License-Identifier: BSD-3-Clause
// The fused collective kernels for the software CUDA device: part of libbeeline_kernels.so. A block
// is one thread of the CPU there, and ranks may share one processor: who waits gives it up.
#include <sched.h>
#include <time.h>

#include "coll/kernel/fused.hpp"
#include "coll/kernel/fused_source_hash.h"
#include "coll/kernel/functors.hpp"
#include "softcuda/include/softcuda_kernel.hpp"

namespace beeline::coll::kernel {
namespace {

inline void fused_store(void* address, std::uint64_t low, std::uint64_t high) {
    auto* words = static_cast<std::uint64_t*>(address);
    __atomic_store_n(&words[0], low, __ATOMIC_RELAXED);
    __atomic_store_n(&words[1], high, __ATOMIC_RELAXED);
}
inline void fused_load(const void* address, std::uint64_t& low, std::uint64_t& high) {
    const auto* words = static_cast<const std::uint64_t*>(address);
    low = __atomic_load_n(&words[0], __ATOMIC_RELAXED);
    high = __atomic_load_n(&words[1], __ATOMIC_RELAXED);
}
inline std::uint32_t fused_load_word(const std::uint32_t* address) {
    return __atomic_load_n(address, __ATOMIC_RELAXED);
}
inline void fused_store_word(std::uint32_t* address, std::uint32_t value) {
    __atomic_store_n(address, value, __ATOMIC_RELAXED);
}
inline void fused_store_report(std::uint64_t* address, std::uint64_t value) {
    __atomic_store_n(address, value, __ATOMIC_RELEASE);
}
inline std::uint64_t fused_now() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1000000000U +
           static_cast<std::uint64_t>(now.tv_nsec);
}
inline void pause(unsigned polls) {
    if (polls % 8 == 0) {
        sched_yield();
    }
}

}  // namespace
}  // namespace beeline::coll::kernel

#define BEELINE_FUSED_PLACE(address) softcuda::translate(address)
#define BEELINE_FUSED_PAUSE(polls) pause(polls)
#include "coll/kernel/fused.inc"

namespace beeline::coll::kernel {
namespace {

template <class T, class Op>
void fused_allreduce(const FusedCall& call) {
    FusedThread thread = {blockIdx.x, gridDim.x, fused_now() + call.limit, (call.flag & 1U) != 0};
    fused_share<T, Op>(call, thread);
    if (thread.first == 0) {
        fused_store_word(fused_header(call, call.rank, kFusedDevice), thread.device ? 1U : 0U);
    }
    std::uint32_t* tickets = fused_header(call, call.rank, kFusedTickets);
    if (__atomic_fetch_add(tickets, 1U, __ATOMIC_ACQ_REL) == gridDim.x - 1) {
        fused_report(call);
    }
}

}  // namespace
}  // namespace beeline::coll::kernel

using namespace beeline::coll::kernel;

#define BEELINE_KERNEL(op, type, Functor, T)                    \
    static void fused_allreduce_##op##_##type(FusedCall call) { \
        fused_allreduce<T, Functor>(call);                      \
    }                                                           \
    SOFTCUDA_TWIN(fused_allreduce_##op##_##type)
BEELINE_REDUCE_KERNELS(BEELINE_KERNEL)

#define BEELINE_TWIN(function) SOFTCUDA_TWIN(function)
static void BEELINE_FUSED_SOURCE_KERNEL() {}
BEELINE_TWIN(BEELINE_FUSED_SOURCE_KERNEL)
