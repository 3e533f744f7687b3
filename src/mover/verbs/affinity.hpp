// SPDX-License-Identifier: BSD-3-Clause
// Which ports a process uses: those near its GPU, dealt out over the GPUs of the machine.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cuda/driver.hpp"
#include "mover/verbs/device.hpp"
#include "topo/rails.hpp"

namespace beeline::mover::verbs {

/// A GPU of this process, and all of its machine.
struct GpuPlace {
    topo::PciPlace place;               ///< path empty: unknown, as for a software device
    unsigned number = 0;                ///< where the place is unknown: tells GPUs apart
    std::vector<topo::PciPlace> among;  ///< of the machine, visible to this process or not
};

/// The place of the device that is current in this thread, else of device 0; what cannot be found
/// out stays unknown. A few driver calls and a walk over sysfs: once a process.
GpuPlace place_of_gpu(const cuda::Driver& driver, const std::string& sysfs = "/sys");

/// At most `most` ports, in the order in which they should carry messages: those that
/// topo::assign_rails() gives the GPU, then other ports that are up, nearest first, then those that
/// are down. Processes with different GPUs of one machine start with different ports where there
/// are enough. Ports farther than `farthest` from the GPU are left out, and logged at info level;
/// those of unknown distance are not.
std::vector<const Port*> rails_near(const Devices& devices, const GpuPlace& gpu, std::size_t most,
                                    topo::Distance farthest = topo::Distance::kSystem);

}  // namespace beeline::mover::verbs
