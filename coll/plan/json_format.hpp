// SPDX-License-Identifier: BSD-3-Clause
// What writing and reading JSON documents share.
#pragma once

namespace beeline::coll::plan {

inline constexpr const char* kFormat = "beeline-schedule";
inline constexpr int kVersion = 1;
inline constexpr const char* kRepeat = "repeat";  ///< the op that is a loop of ops

}  // namespace beeline::coll::plan
