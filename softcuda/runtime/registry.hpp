// SPDX-License-Identifier: BSD-3-Clause
// The kernels that a program compiled by nvcc registers as it is loaded.
#pragma once

#include <cuda.h>

namespace softcuda::runtime {

struct Image;   ///< one fat binary of the program
struct Kernel;  ///< one kernel of a fat binary; what a cudaKernel_t of this runtime points to

/// Remembers a fat binary until the process ends. `wrapper` is the record that nvcc emits. Returns
/// null when it is not one.
Image* add_image(const void* wrapper);

/// Forgets the kernels of `image`.
void remove_image(Image* image);

/// Remembers that the host function `stub` stands for the kernel `name` of `image`.
void add_kernel(Image* image, const void* stub, const char* name);

/// The kernel registered for `stub`, or null.
Kernel* find_kernel(const void* stub);

/// Loads the kernel for the current context on first use. Errors are the driver's of loading the
/// module and finding the function.
CUresult resolve(Kernel* kernel, CUfunction* function);

/// Whether `kernel` is one that this runtime handed out.
bool known(const Kernel* kernel);

}  // namespace softcuda::runtime
