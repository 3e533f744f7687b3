// SPDX-License-Identifier: BSD-3-Clause
// Schedules from MSCCL's XML: algorithms that its compiler makes, or that people write.
#pragma once

#include <string_view>

#include "coll/plan/imported.hpp"

namespace beeline::coll::plan {

/// Reads an <algo> of allreduce, allgather, reduce_scatter or alltoall, after the format that
/// MSCCL's runtime reads (github.com/microsoft/msccl): for each <gpu> thread blocks <tb>, each with
/// one peer to send to and one to receive from, and steps that run one after another.
///
/// The steps of a rank are put into one list, in an order in which they can run; what must wait for
/// what follows from the data that they touch. Where an algorithm writes its input, which a
/// schedule must not, it works on a copy. As from_json(): nothing is believed, and `world` is
/// filled only when the proof holds.
Imported from_msccl(std::string_view text) noexcept;

}  // namespace beeline::coll::plan
