// SPDX-License-Identifier: BSD-3-Clause
// The memory of one message of a test: any kind, in a row or with gaps, at any alignment.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "datatype/layout.hpp"
#include "engine/request.hpp"
#include "tests/world/device_memory.hpp"

namespace beeline::world {

using Bytes = std::vector<unsigned char>;

/// The bytes of message number `number`.
Bytes content(std::size_t bytes, unsigned number);

/// Room for `bytes` of data; more when a layout's elements do not end there.
class MessageMemory {
 public:
    /// `kernels`: the layout is indexed, so that a device packs by a launch rather than by copies.
    MessageMemory(const cuda::Driver* driver, memory::Kind kind, std::size_t bytes,
                  std::size_t skew, bool gaps, bool kernels = false);

    /// As a receive buffer: everything there is.
    engine::Buffer all() const;
    /// As a send buffer of the data that was filled in.
    void fill(const Bytes& data);
    /// True when the first bytes are `data` and everything else is as it was.
    bool holds(const Bytes& data) const;

 private:
    datatype::Layout layout_;
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;
    bool gaps_;
    Bytes host_;  // without a driver
    std::unique_ptr<Buffer> buffer_;
    Bytes before_;
    unsigned char* address() const;
    Bytes read() const;
    void write(const Bytes& bytes);
};

}  // namespace beeline::world
