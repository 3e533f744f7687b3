// SPDX-License-Identifier: BSD-3-Clause
// The packing kernels as the driver takes them.
#pragma once

namespace beeline::memory::kernel {

/// PTX text of gather_runs, scatter_runs and the kernel that source_kernel_name() names.
const char* runs_image() noexcept;
/// The kernel that is there when an image, or the software device's twins, were made from the
/// sources of this build.
const char* source_kernel_name() noexcept;

}  // namespace beeline::memory::kernel
