// SPDX-License-Identifier: BSD-3-Clause
// Memory of every kind for tests, and the driver that gives it.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <vector>

#include "cuda/driver.hpp"
#include "memory/pointer.hpp"

namespace beeline::world {

/// Loads the driver named by BEELINE_TEST_CUDA, by default the software device built here with its
/// kernel twins, and initialises it. Null with a test failure when that does not work.
const cuda::Driver* load_driver();

/// A function that the software device offers beyond the driver API; null on a real one.
void* software_entry(const char* name);

/// Makes a device's primary context current in this thread; devices are given out round robin by
/// `rank`.
void use_device(const cuda::Driver& driver, int rank);

/// Destroys everything in the primary context of use_device's device, as cudaDeviceReset does.
void reset_device(const cuda::Driver& driver, int rank);

/// Memory of one kind with a poisoned margin on both sides, at a chosen misalignment. Needs a
/// current context.
class Buffer {
 public:
    Buffer(const cuda::Driver& driver, memory::Kind kind, std::size_t bytes, std::size_t skew);
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer();

    void* data() { return static_cast<unsigned char*>(base_) + offset_; }
    void write(const std::vector<unsigned char>& bytes);
    std::vector<unsigned char> read() const;
    bool margins_untouched() const;

 private:
    std::vector<unsigned char> read_all() const;

    const cuda::Driver& driver_;
    memory::Kind kind_;
    void* base_ = nullptr;
    std::size_t bytes_;
    std::size_t offset_;
    std::size_t size_;
};

}  // namespace beeline::world
