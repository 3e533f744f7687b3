// SPDX-License-Identifier: BSD-3-Clause
// Device memory in the MPI calls that no component sees, for the preloaded library.
#pragma once

namespace beeline::plugin {

/// Offers the handlers to the preloaded library, if there is one in this process.
void attach_handlers() noexcept;

/// Withdraws them; the preloaded library then passes every call to Open MPI.
void detach_handlers() noexcept;

}  // namespace beeline::plugin
