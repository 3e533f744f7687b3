// SPDX-License-Identifier: BSD-3-Clause
// Whole numbers drawn evenly: RapidCheck's own ranges start narrow and widen as a property's cases
// go on.
#pragma once

#include <rapidcheck.h>

namespace beeline::test {

/// Draws from [low, high) with equal chances in every case; shrinks towards `low`.
template <class T>
rc::Gen<T> uniform(T low, T high) {
    return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(low, high));
}

}  // namespace beeline::test
