// SPDX-License-Identifier: BSD-3-Clause
// Filling and checking a message's memory.
#include "tests/world/message_memory.hpp"

#include <algorithm>
#include <span>

namespace beeline::world {
namespace {

constexpr std::size_t kElement = 24;  // bytes of data in an element of the layout with gaps

}  // namespace

Bytes content(std::size_t bytes, unsigned number) {
    Bytes data(bytes);
    unsigned state = number * 2654435761U + 12345;
    for (unsigned char& byte : data) {
        state = state * 1664525U + 1013904223U;
        byte = static_cast<unsigned char>(state >> 24);
    }
    return data;
}

MessageMemory::MessageMemory(const cuda::Driver* driver, memory::Kind kind, std::size_t bytes,
                             std::size_t skew, bool gaps, bool kernels)
    : bytes_(bytes), gaps_(gaps && bytes != 0) {
    std::size_t span = bytes;
    if (gaps_) {
        layout_.blocks = {{16, 8}, {0, 4}, {28, 12}};
        layout_.size = kElement;
        layout_.extent = 44;
        if (kernels) {
            datatype::index(layout_);
        }
        count_ = (bytes + kElement - 1) / kElement;
        bytes_ = count_ * kElement;
        span = count_ * 44;
    }
    if (driver == nullptr) {
        host_.assign(span + 1, 0xA5);
    } else {
        buffer_ = std::make_unique<Buffer>(*driver, kind, span, skew);
    }
    before_ = read();
}

unsigned char* MessageMemory::address() const {
    return buffer_ != nullptr ? static_cast<unsigned char*>(buffer_->data())
                              : const_cast<unsigned char*>(host_.data());
}

Bytes MessageMemory::read() const {
    return buffer_ != nullptr ? buffer_->read() : host_;
}

void MessageMemory::write(const Bytes& bytes) {
    if (buffer_ != nullptr) {
        buffer_->write(bytes);
    } else {
        std::copy(bytes.begin(), bytes.end(), host_.begin());
    }
    before_ = bytes;
}

engine::Buffer MessageMemory::all() const {
    engine::Buffer buffer;
    buffer.address = address();
    buffer.bytes = bytes_;
    if (gaps_) {
        buffer.count = count_;
        buffer.layout = &layout_;
    }
    return buffer;
}

void MessageMemory::fill(const Bytes& data) {
    Bytes bytes = before_;
    if (gaps_) {
        datatype::unpack(layout_, count_, bytes.data(), 0, std::as_bytes(std::span(data)));
    } else {
        std::copy(data.begin(), data.end(), bytes.begin());
    }
    write(bytes);
}

bool MessageMemory::holds(const Bytes& data) const {
    Bytes expected = before_;
    if (gaps_) {
        datatype::unpack(layout_, count_, expected.data(), 0, std::as_bytes(std::span(data)));
    } else {
        std::copy(data.begin(), data.end(), expected.begin());
    }
    return read() == expected && (buffer_ == nullptr || buffer_->margins_untouched());
}

}  // namespace beeline::world
