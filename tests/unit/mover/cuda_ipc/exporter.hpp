// SPDX-License-Identifier: BSD-3-Clause
// A second process that allocates device memory and exports it, for tests of importing.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace beeline::test {

/// What the other process tells of an allocation.
struct Exported {
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
    std::uint64_t buffer_id = 0;
    CUipcMemHandle handle{};
};

/// Starts the process. Before this one initialises CUDA: a driver does not survive fork().
void start_exporter();
void stop_exporter();

/// Device memory of the other process, each byte `value`.
Exported export_memory(std::uint64_t bytes, unsigned char value);
/// Frees it there. What is allocated next may get its address.
void free_exported(const Exported& memory);

}  // namespace beeline::test
