// SPDX-License-Identifier: BSD-3-Clause
// Copies between a part of a request's data, with or without gaps, and contiguous memory.
#include "engine/engine.hpp"
#include "memory/copy.hpp"

namespace beeline::engine {

using memory::AsyncCopy;

/// Starts copying `bytes` of the data, from `offset` of what is packed on, to memory at `out`.
/// `packing` is of data with gaps: whether kernels reach that memory.
Result<AsyncCopy> Engine::copy_out(const Request& request, std::size_t offset, std::size_t bytes,
                                   void* out, const memory::Pointer& to, memory::Packing packing,
                                   memory::WhenLost when_lost) {
    if (request.data_ != nullptr) {
        return AsyncCopy::start(out, to, request.data_ + offset, request.where_, bytes, when_lost);
    }
    return AsyncCopy::pack(*request.buffer_.layout, request.buffer_.count, request.buffer_.address,
                           request.where_, offset, out, bytes, packing, when_lost);
}

/// The other way round: from memory at `in` to that part of the data.
Result<AsyncCopy> Engine::copy_in(const Request& request, std::size_t offset, std::size_t bytes,
                                  const void* in, const memory::Pointer& from,
                                  memory::Packing packing, memory::WhenLost when_lost) {
    if (request.data_ != nullptr) {
        return AsyncCopy::start(request.data_ + offset, request.where_, in, from, bytes, when_lost);
    }
    return AsyncCopy::unpack(*request.buffer_.layout, request.buffer_.count,
                             request.buffer_.address, request.where_, offset, in, bytes, packing,
                             when_lost);
}

}  // namespace beeline::engine
