// SPDX-License-Identifier: BSD-3-Clause
// MPI datatypes as Beeline's plain descriptions.
#pragma once

#include <cstddef>

#include "datatype/layout.hpp"
#include "plugin/compat/ompi.hpp"

namespace beeline::plugin {

/// The layout of one element. Made once for each datatype and kept with a reference on it, so that
/// the pointer stays good for as long as the caller, too, holds the datatype. Layouts of datatypes
/// that nobody else holds any more are dropped when many have gathered. Throws std::bad_alloc.
/// Thread-safe.
const datatype::Layout* layout_of(ompi_datatype_t* type);

/// True when `count` elements are one gapless run of bytes, which then starts `offset` bytes from
/// the buffer's address. Needs no layout.
inline bool is_contiguous(const ompi_datatype_t* type, std::size_t count,
                          std::ptrdiff_t& offset) noexcept {
    offset = type->super.true_lb;
    const bool gapless =
        type->super.true_ub - type->super.true_lb == static_cast<std::ptrdiff_t>(type->super.size);
    return (type->super.flags & OPAL_DATATYPE_FLAG_CONTIGUOUS) != 0 && gapless &&
           (count <= 1 ||
            type->super.ub - type->super.lb == type->super.true_ub - type->super.true_lb);
}

inline std::ptrdiff_t extent_of(const ompi_datatype_t* type) noexcept {
    return type->super.ub - type->super.lb;
}

/// Gives back every kept datatype. Call before Open MPI's datatypes go away.
void release_layouts() noexcept;

}  // namespace beeline::plugin
