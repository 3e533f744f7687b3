// SPDX-License-Identifier: BSD-3-Clause
// The packing kernels for nvcc, which makes runs.ptx of them (see regenerate.sh). A thread moves
// one word at a time; the caller has chosen the word so that none crosses the end of a block.
#include <cstddef>
#include <cstdint>

#include "source_hash.h"

#define BEELINE_DEVICE __device__ __forceinline__
#include "runs.inc"

namespace {

using beeline::memory::kernel::Place;
using beeline::memory::kernel::Runs;

template <class Word, bool kGather>
__device__ __forceinline__ void move(char* buffer, char* packed, const Runs& runs, std::size_t skip,
                                     std::size_t bytes) {
    const std::size_t words = bytes / sizeof(Word);
    const std::size_t stride = gridDim.x * static_cast<std::size_t>(blockDim.x);
    std::size_t word = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
    for (; word < words; word += stride) {
        const Place place = place_of(runs.groups, runs, skip + word * sizeof(Word));
        auto* in_buffer = reinterpret_cast<Word*>(buffer + place.offset);
        auto* in_packed = reinterpret_cast<Word*>(packed) + word;
        if (kGather) {
            *in_packed = *in_buffer;
        } else {
            *in_buffer = *in_packed;
        }
    }
}

template <bool kGather>
__device__ __forceinline__ void move_by(char* buffer, char* packed, const Runs& runs,
                                        std::size_t skip, std::size_t bytes, unsigned word) {
    switch (word) {
        case 16:
            move<uint4, kGather>(buffer, packed, runs, skip, bytes);
            break;
        case 8:
            move<std::uint64_t, kGather>(buffer, packed, runs, skip, bytes);
            break;
        case 4:
            move<std::uint32_t, kGather>(buffer, packed, runs, skip, bytes);
            break;
        case 2:
            move<std::uint16_t, kGather>(buffer, packed, runs, skip, bytes);
            break;
        default:
            move<std::uint8_t, kGather>(buffer, packed, runs, skip, bytes);
            break;
    }
}

}  // namespace

extern "C" __global__ void gather_runs(char* buffer, char* packed, Runs runs, std::size_t skip,
                                       std::size_t bytes, unsigned word) {
    move_by<true>(buffer, packed, runs, skip, bytes, word);
}

extern "C" __global__ void scatter_runs(char* buffer, char* packed, Runs runs, std::size_t skip,
                                        std::size_t bytes, unsigned word) {
    move_by<false>(buffer, packed, runs, skip, bytes, word);
}

// Does nothing; its name says which sources the image was made from.
extern "C" __global__ void BEELINE_SOURCE_KERNEL() {}
