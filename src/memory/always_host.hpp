// SPDX-License-Identifier: BSD-3-Clause
// Memory that can be no device's, so that the driver need not be asked about it.
#pragma once

namespace beeline::memory {

/// True when `pointer` leads into the calling thread's stack, the main program's data, or the heap
/// below the program break: places the kernel gave to this process for good, into which no driver
/// can put device or managed memory while they are what they are. Unlike a remembered verdict it
/// cannot become wrong when memory is freed and its address used again. False says nothing: large
/// allocations, other threads' heaps and stacks and the data of libraries are mapped where device
/// memory could be tomorrow.
bool always_host(const void* pointer) noexcept;

}  // namespace beeline::memory
