// SPDX-License-Identifier: BSD-3-Clause
// The decision for one message in words: every candidate, its estimate or what is in its way.
#pragma once

#include <span>
#include <string>

#include "protocol/select.hpp"

namespace beeline::protocol {

/// A table of all protocols, one a line, the chosen one marked with '>'.
std::string explain(const Situation& situation, const Limits& limits, const Costs& costs,
                    Preference preference);

/// "ipc_get 12.6 us, ipc_put 12.9 us, staged 20.1 us": the possible ones of a stage, for a line of
/// trace. Cut to fit; returns `out`.
const char* list_offers(const Situation& situation, const Costs& costs,
                        std::span<char> out) noexcept;

}  // namespace beeline::protocol
