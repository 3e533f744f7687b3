// SPDX-License-Identifier: BSD-3-Clause
// The fused collective kernels for nvcc, which makes an image of each family
// (see regenerate_fused.sh): BEELINE_FAMILY is the family's macro in reduce.inc.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fused_source_hash.h"

#define BEELINE_DEVICE __device__ __forceinline__
#define BEELINE_INDEPENDENT
#define BEELINE_ROLLED _Pragma("unroll 1")
#define BEELINE_ASSUME_GLOBAL(address) __builtin_assume(__isGlobal(address))
#include "fused.hpp"
#include "reduce.inc"

namespace beeline::coll::kernel {

// Volatile accesses are relaxed ones of the whole system; of a vector each element is whole.
BEELINE_DEVICE void fused_store(void* address, std::uint64_t low, std::uint64_t high) {
    asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(address), "l"(low), "l"(high)
                 : "memory");
}
BEELINE_DEVICE void fused_load(const void* address, std::uint64_t& low, std::uint64_t& high) {
    asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(low), "=l"(high)
                 : "l"(address)
                 : "memory");
}
BEELINE_DEVICE std::uint32_t fused_load_word(const std::uint32_t* address) {
    std::uint32_t value;
    asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
}
BEELINE_DEVICE void fused_store_word(std::uint32_t* address, std::uint32_t value) {
    asm volatile("st.volatile.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}
/// After everything this thread has seen done.
BEELINE_DEVICE void fused_store_report(std::uint64_t* address, std::uint64_t value) {
    __threadfence_system();
    asm volatile("st.volatile.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}
BEELINE_DEVICE std::uint64_t fused_now() {
    std::uint64_t now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

}  // namespace beeline::coll::kernel

#define BEELINE_FUSED_PLACE(address) (address)
#define BEELINE_FUSED_PAUSE(polls) static_cast<void>(polls)
#include "fused.inc"

namespace beeline::coll::kernel {

template <class T, class Op>
BEELINE_DEVICE void fused_allreduce(const FusedCall& call) {
    FusedThread thread = {blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x,
                          gridDim.x * static_cast<std::size_t>(blockDim.x),
                          fused_now() + call.limit, (call.flag & 1U) != 0};
    fused_share<T, Op>(call, thread);
    if (thread.first == 0) {
        fused_store_word(fused_header(call, call.rank, kFusedDevice), thread.device ? 1U : 0U);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        // The last block to come here knows that all others are done, and sees what they did.
        __threadfence_system();
        std::uint32_t* tickets = fused_header(call, call.rank, kFusedTickets);
        if (atomicAdd(reinterpret_cast<unsigned*>(tickets), 1U) == gridDim.x - 1) {
            __threadfence();
            fused_report(call);
        }
    }
}

}  // namespace beeline::coll::kernel

#define BEELINE_KERNEL(op, type, Functor, T)                                            \
    extern "C" __global__ void __launch_bounds__(512)                                   \
        fused_allreduce_##op##_##type(const __grid_constant__ FusedCall call) {         \
        fused_allreduce<T, Functor>(call);                                              \
    }
using namespace beeline::coll::kernel;
BEELINE_FAMILY(BEELINE_KERNEL)

// Does nothing; its name says which sources the image was made from.
extern "C" __global__ void BEELINE_FUSED_SOURCE_KERNEL() {}
