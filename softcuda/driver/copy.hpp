// SPDX-License-Identifier: BSD-3-Clause
// Copies and fills as stream work.
#pragma once

#include <cstdint>

#include "softcuda/driver/stream.hpp"

namespace softcuda {

/** A rectangle: `height` rows of `width` bytes. A plain copy has one row. */
struct Rectangle {
    uint64_t width;
    uint64_t height;
    uint64_t to_pitch;
    uint64_t from_pitch;
};

/** How far the caller waits. */
enum class Wait {
    kNever,   // an ...Async entry
    kIfHost,  // a synchronous entry: returns with the bytes in place if the host takes part
};

/** Copies between any two addresses the driver knows, in the order of `handle`'s stream. Pageable
 *  host memory makes even asynchronous copies wait, as a real driver does: small host-to-device
 *  ones only until the bytes are staged. */
CUresult copy(uint64_t to, uint64_t from, const Rectangle& shape, CUstream handle, Wait wait);

/** Fills rows with an element of 1, 2 or 4 bytes. */
CUresult fill(uint64_t to, uint64_t pitch, uint32_t value, unsigned element, uint64_t width,
              uint64_t height, CUstream handle, Wait wait);

/** When a transfer begins, for model_link; 0 where there is no model: reading the clock may be
 *  dear. */
uint64_t start_of_link();

/** Sleeps until the modelled link would have moved `bytes` since `start_ns`. */
void model_link(uint64_t start_ns, uint64_t bytes);

/** What a device does with an address it may not use: the context is lost. */
CUresult fault_context(CUctx_st& context, Wait wait);

}  // namespace softcuda
