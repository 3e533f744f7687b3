// SPDX-License-Identifier: BSD-3-Clause
// The parameters pml_beeline_rdma_* as what devices and registration take.
#pragma once

#include "config/config.hpp"
#include "mover/verbs/device.hpp"
#include "mover/verbs/ordering.hpp"
#include "mover/verbs/regions.hpp"

namespace beeline::mover::verbs {

/// Logs an error and leaves out what cannot be understood (rdma_subnet).
DeviceWish device_wish(const config::Params& params);
topo::Distance farthest_port(const config::Params& params) noexcept;
RegionLimits region_limits(const config::Params& params) noexcept;

/// flush_needed(), or what the user has set instead of it.
Flush flush_wanted(const config::Params& params, const WriteOrdering& device,
                   Reader reader) noexcept;

}  // namespace beeline::mover::verbs
