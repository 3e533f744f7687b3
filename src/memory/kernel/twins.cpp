// SPDX-License-Identifier: BSD-3-Clause
// The packing kernels for the software CUDA device: built into libbeeline_kernels.so. Each block
// takes a stretch of the packed stream and moves it run by run.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "memory/kernel/source_hash.h"
#include "softcuda/include/softcuda_kernel.hpp"

#define BEELINE_DEVICE inline
#include "memory/kernel/runs.inc"

namespace {

using beeline::memory::kernel::Group;
using beeline::memory::kernel::Place;
using beeline::memory::kernel::Runs;

template <class Move>
void for_each_run_of_block(const Runs& runs, std::size_t skip, std::size_t bytes, Move&& move) {
    const Group* groups = softcuda::translate(runs.groups);
    const std::size_t end = bytes * (blockIdx.x + 1) / gridDim.x;
    for (std::size_t at = bytes * blockIdx.x / gridDim.x; at < end;) {
        const Place place = place_of(groups, runs, skip + at);
        const std::size_t length = std::min(place.bytes, end - at);
        move(place.offset, at, length);
        at += length;
    }
}

}  // namespace

static void gather_runs(char* buffer, char* packed, Runs runs, std::size_t skip, std::size_t bytes,
                        unsigned) {
    for_each_run_of_block(runs, skip, bytes,
                          [&](std::ptrdiff_t offset, std::size_t at, std::size_t length) {
                              std::memcpy(softcuda::translate(packed + at),
                                          softcuda::translate(buffer + offset), length);
                          });
}

static void scatter_runs(char* buffer, char* packed, Runs runs, std::size_t skip, std::size_t bytes,
                         unsigned) {
    for_each_run_of_block(runs, skip, bytes,
                          [&](std::ptrdiff_t offset, std::size_t at, std::size_t length) {
                              std::memcpy(softcuda::translate(buffer + offset),
                                          softcuda::translate(packed + at), length);
                          });
}

static void BEELINE_SOURCE_KERNEL() {}

SOFTCUDA_BRIEF_TWIN(gather_runs)
SOFTCUDA_BRIEF_TWIN(scatter_runs)
#define BEELINE_TWIN(function) SOFTCUDA_TWIN(function)
BEELINE_TWIN(BEELINE_SOURCE_KERNEL)
