// SPDX-License-Identifier: BSD-3-Clause
// Stream memory operations: waits for and writes of a word in memory.
#include <sched.h>
#include <time.h>

#include <atomic>

#include "softcuda/driver/access.hpp"
#include "softcuda/driver/arena.hpp"
#include "softcuda/driver/capture.hpp"
#include "softcuda/driver/copy.hpp"

namespace softcuda {
namespace {

template <class Word>
bool satisfied(Word seen, Word wanted, unsigned condition) {
    switch (condition) {
        case CU_STREAM_WAIT_VALUE_GEQ:
            return static_cast<std::make_signed_t<Word>>(seen - wanted) >= 0;
        case CU_STREAM_WAIT_VALUE_EQ:
            return seen == wanted;
        case CU_STREAM_WAIT_VALUE_AND:
            return (seen & wanted) != 0;
        default:
            return ~(seen | wanted) != 0;  // CU_STREAM_WAIT_VALUE_NOR
    }
}

/** Any thread or process may write the word by any means, so it can only be looked at again. */
template <class Word>
void wait_for_word(Word* word, Word wanted, unsigned condition) {
    const std::atomic_ref<Word> value(*word);
    for (unsigned tries = 0; !satisfied(value.load(std::memory_order_acquire), wanted, condition);
         ++tries) {
        if (tries < 64) {
            sched_yield();
        } else {
            const timespec pause{0, 20000};
            nanosleep(&pause, nullptr);
        }
    }
}

/** Checks the arguments both kinds share; *stream is nullptr when nothing remains to be done. */
CUresult prepare(CUstream handle, CUdeviceptr address, uint64_t size, bool write,
                 CUstream_st** stream) {
    CUresult result = CUDA_SUCCESS;
    *stream = resolve_stream(handle, &result);
    if (*stream == nullptr) {
        return result;
    }
    const Access access = check_access(*current_context(), address, size, write);
    if (access.result == CUDA_ERROR_ILLEGAL_ADDRESS) {
        *stream = nullptr;
        return fault_context(*current_context(), Wait::kNever);
    }
    if (access.result != CUDA_SUCCESS || access.place == MemoryPlace::kPageable ||
        address % size != 0) {
        *stream = nullptr;
        return CUDA_ERROR_INVALID_VALUE;
    }
    bool captured = false;
    result = capture_instead(**stream, &captured);
    if (result != CUDA_SUCCESS || captured) {
        *stream = nullptr;
    }
    return result;
}

template <class Word>
CUresult wait_value(CUstream handle, CUdeviceptr address, Word wanted, unsigned flags) {
    const unsigned condition = flags & ~unsigned{CU_STREAM_WAIT_VALUE_FLUSH};
    if (condition > CU_STREAM_WAIT_VALUE_NOR) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUstream_st* stream = nullptr;
    const CUresult result = prepare(handle, address, sizeof(Word), false, &stream);
    if (stream != nullptr) {
        auto* word = reinterpret_cast<Word*>(alias(address));
        enqueue(*stream, [word, wanted, condition] { wait_for_word(word, wanted, condition); });
    }
    return result;
}

template <class Word>
CUresult write_value(CUstream handle, CUdeviceptr address, Word value, unsigned flags) {
    if (flags > CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUstream_st* stream = nullptr;
    const CUresult result = prepare(handle, address, sizeof(Word), true, &stream);
    if (stream != nullptr) {
        auto* word = reinterpret_cast<Word*>(alias(address));
        const auto write = [word, value] {
            std::atomic_ref<Word>(*word).store(value, std::memory_order_release);
        };
        enqueue(*stream, write);
    }
    return result;
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                             unsigned int flags) {
    return call(Entry::kStreamWaitValue32, Needs::kContext,
                [&] { return wait_value<uint32_t>(stream, addr, value, flags); });
}

CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                             unsigned int flags) {
    return call(Entry::kStreamWaitValue64, Needs::kContext,
                [&] { return wait_value<uint64_t>(stream, addr, value, flags); });
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                              unsigned int flags) {
    return call(Entry::kStreamWriteValue32, Needs::kContext,
                [&] { return write_value<uint32_t>(stream, addr, value, flags); });
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                              unsigned int flags) {
    return call(Entry::kStreamWriteValue64, Needs::kContext,
                [&] { return write_value<uint64_t>(stream, addr, value, flags); });
}
