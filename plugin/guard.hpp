// SPDX-License-Identifier: BSD-3-Clause
// The one template through which every function handed to Open MPI runs: no exception leaves.
#pragma once

#include <new>
#include <type_traits>

#include "plugin/compat/ompi.hpp"

namespace beeline::plugin {
namespace detail {

template <class R>
R failure(int code) noexcept {
    if constexpr (std::is_pointer_v<R>) {
        return nullptr;
    } else if constexpr (!std::is_void_v<R>) {
        return static_cast<R>(code);
    }
}

template <class Signature, Signature Body>
struct Guard;

template <class R, class... A, R (*Body)(A...)>
struct Guard<R (*)(A...), Body> {
    static R call(A... arguments) noexcept {
        try {
            return Body(arguments...);
        } catch (const std::bad_alloc&) {
            return failure<R>(OMPI_ERR_OUT_OF_RESOURCE);
        } catch (...) {
            return failure<R>(OMPI_ERROR);
        }
    }
};

}  // namespace detail

/// The pointer to hand out for `Body`, with the same parameters. A failure inside becomes
/// OMPI_ERR_OUT_OF_RESOURCE (no memory) or OMPI_ERROR, or null where a pointer is returned.
template <auto Body>
inline constexpr auto guarded = &detail::Guard<decltype(Body), Body>::call;

}  // namespace beeline::plugin
