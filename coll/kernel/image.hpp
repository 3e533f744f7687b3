// SPDX-License-Identifier: BSD-3-Clause
// The GPU kernels as an image for cuModuleLoadData, part of the library's read-only data.
#pragma once

namespace beeline::coll::kernel {

/// PTX text, ended by a zero byte.
const char* reduce_image() noexcept;

/// A kernel that is in images made from these sources only: its absence means that the image, or
/// the software device's twins, come from another version.
const char* source_kernel_name() noexcept;

}  // namespace beeline::coll::kernel
