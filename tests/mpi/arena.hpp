// SPDX-License-Identifier: BSD-3-Clause
// Memory of one kind for many messages at once, compared as a whole with what it should hold.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "program.hpp"
#include "tools/beeline-bench/pattern.hpp"
#include "tools/gpu/gpu.hpp"

namespace beeline::test {

/// One block of one kind of memory, given out piece by piece, with an image of what it should hold.
class Arena {
 public:
    Arena(gpu::Gpu* gpu, gpu::Kind kind) : gpu_(gpu), kind_(kind) {}

    /// Room for an element range; the result is the offset of its address (not of its first byte).
    std::size_t take(const Data& data, Choices& choices) {
        const Shape& shape = shapes()[static_cast<std::size_t>(data.shape)];
        constexpr std::size_t kGap = 64;
        const std::size_t before = kGap + static_cast<std::size_t>(choices.below(64));
        const std::size_t offset = used_ + before;
        used_ = offset + data.count * shape.extent + kGap;
        return offset;
    }
    /// All pieces are taken: fills everything with bytes that no message has. `fresh`: in new
    /// memory.
    void fill(std::uint64_t seed, bool fresh) {
        if (buffer_ == nullptr || fresh || buffer_->size() < used_) {
            buffer_.reset();
            buffer_ = std::make_unique<gpu::Buffer>(gpu_, kind_, used_ + used_ / 4);
        }
        image_.resize(used_);
        bench::fill_pattern(image_, seed);
    }
    void upload() { buffer_->write(0, image_.data(), image_.size()); }
    void reset() { used_ = 0; }

    /// Writes `bytes` of the stream of `seed` where `data` at `offset` says.
    void put(const Data& data, std::size_t offset, std::uint64_t seed, std::size_t bytes) {
        stream_.resize(bytes);
        bench::fill_pattern(stream_, seed);
        const Shape& shape = shapes()[static_cast<std::size_t>(data.shape)];
        if (data.shape == 0) {
            std::copy(stream_.begin(), stream_.end(), at(offset));
            return;
        }
        std::size_t done = 0;
        for (std::size_t element = 0; done < bytes; ++element) {
            for (const Shape::Run& run : shape.runs) {
                const std::size_t part = std::min(run.bytes, bytes - done);
                std::copy_n(stream_.begin() + static_cast<std::ptrdiff_t>(done), part,
                            at(offset + element * shape.extent) + run.start);
                done += part;
            }
        }
    }
    /// Takes the bytes that `data` covers as they are: their contents are undefined.
    void accept(const Data& data, std::size_t offset) {
        const Shape& shape = shapes()[static_cast<std::size_t>(data.shape)];
        for (std::size_t element = 0; element < data.count; ++element) {
            for (const Shape::Run& run : shape.runs) {
                const std::ptrdiff_t start =
                    static_cast<std::ptrdiff_t>(offset + element * shape.extent) + run.start;
                std::copy_n(seen_.begin() + start, run.bytes, image_.begin() + start);
            }
        }
    }
    /// A number for the first `bytes` bytes of the stream that `data` at `offset` held at
    /// download().
    std::uint64_t digest(const Data& data, std::size_t offset, std::size_t bytes) const {
        const Shape& shape = shapes()[static_cast<std::size_t>(data.shape)];
        std::uint64_t sum = bytes;
        std::size_t done = 0;
        for (std::size_t element = 0; done < bytes; ++element) {
            for (const Shape::Run& run : shape.runs) {
                const std::ptrdiff_t start =
                    static_cast<std::ptrdiff_t>(offset + element * shape.extent) + run.start;
                for (std::size_t i = 0; i < run.bytes && done < bytes; ++i, ++done) {
                    sum = sum * 31 + seen_[static_cast<std::size_t>(start) + i];
                }
            }
        }
        return bench::mix(sum);
    }
    void download() {
        seen_.resize(image_.size());
        buffer_->read(0, seen_.data(), seen_.size());
    }
    bool intact() const { return seen_ == image_; }
    std::size_t first_difference() const {
        std::size_t i = 0;
        while (i < image_.size() && seen_[i] == image_[i]) {
            ++i;
        }
        return i;
    }
    void* address(std::size_t offset) const { return buffer_->at(offset); }
    gpu::Kind kind() const { return kind_; }

 private:
    std::vector<unsigned char>::iterator at(std::size_t offset) {
        return image_.begin() + static_cast<std::ptrdiff_t>(offset);
    }

    gpu::Gpu* gpu_;
    gpu::Kind kind_;
    std::unique_ptr<gpu::Buffer> buffer_;
    std::vector<unsigned char> image_;
    std::vector<unsigned char> seen_;
    std::vector<unsigned char> stream_;
    std::size_t used_ = 0;
};

}  // namespace beeline::test
