// SPDX-License-Identifier: BSD-3-Clause
// Order between the application's synchronous copies and ours.
#pragma once

#include "memory/pointer.hpp"

namespace beeline::memory {

/// To be called before Beeline reads or writes device memory, `memory` of kind kDevice. The
/// driver's synchronous copies and fills may return before they are done (device to device, fills,
/// small ones from pageable memory; CUDA driver API, "API synchronization behavior"), and our
/// streams do not wait for the default stream. So the first call for an allocation sets
/// CU_POINTER_ATTRIBUTE_SYNC_MEMOPS on it and lets copies that are under way finish: waits for the
/// context's default stream, at most pml_beeline_default_stream_wait. Later calls cost one look-up;
/// but for memory that the driver refuses the attribute for (VMM, pools) they wait for that stream
/// as well, which costs a question to the driver when it is idle.
void settle(const Pointer& memory) noexcept;

}  // namespace beeline::memory
