// SPDX-License-Identifier: BSD-3-Clause
// The parameter table as MCA variables.
#pragma once

#include "base/result.hpp"
#include "config/config.hpp"
#include "plugin/compat/ompi.hpp"

namespace beeline::plugin {

/// Registers every row of config::rows() that belongs to `component` ("pml", "coll") as an MCA
/// variable of `owner`, with its default, range and unit in the help text, then reads the values
/// the user gave into config::params(). kInvalid when one was refused; its name, value and allowed
/// range were then logged, and the process must not start (see stop_refused). Never called from two
/// threads.
Status register_params(const char* component, const mca_base_component_t* owner) noexcept;

/// The row of that name, or null.
const config::Row* find_row(const char* component, const char* name) noexcept;

/// Where the address of the text is that Open MPI holds as the row's value now: tools may have
/// written it since it was registered. The address is null when it was never registered.
const char* const* place_of_text(const config::Row& row) noexcept;

/// Ends the job because a parameter was refused: a component that merely failed to open would be
/// left out in silence.
[[noreturn]] void stop_refused(const char* component) noexcept;

}  // namespace beeline::plugin
