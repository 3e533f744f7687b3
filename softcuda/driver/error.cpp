// SPDX-License-Identifier: BSD-3-Clause
// Names and explanations of result codes.
#include <cctype>
#include <cstdlib>
#include <cstring>

#include "softcuda/driver/driver.hpp"
#include "softcuda/driver/ledger.hpp"

namespace softcuda {
namespace {

struct ErrorText {
    CUresult code;
    const char* name;
    const char* text;
};

constexpr ErrorText kErrors[] = {
#define SOFTCUDA_ERROR(name, text) {CUDA_##name, "CUDA_" #name, text},
#include "softcuda/driver/errors.def"
#undef SOFTCUDA_ERROR
};

const ErrorText* find(CUresult code) noexcept {
    for (const ErrorText& error : kErrors) {
        if (error.code == code) {
            return &error;
        }
    }
    return nullptr;
}

}  // namespace

int error_by_text(const char* text) noexcept {
    if (std::isdigit(static_cast<unsigned char>(*text)) != 0) {
        char* end = nullptr;
        const long code = std::strtol(text, &end, 10);
        return *end == '\0' && code >= 0 && code <= 999 ? static_cast<int>(code) : -1;
    }
    for (const ErrorText& error : kErrors) {
        if (std::strcmp(error.name, text) == 0) {
            return error.code;
        }
    }
    return -1;
}

}  // namespace softcuda

using namespace softcuda;

CUresult cuGetErrorName(CUresult error, const char** pStr) {
    return call(Entry::kGetErrorName, Needs::kNothing, [&] {
        if (pStr == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const ErrorText* found = find(error);
        *pStr = found != nullptr ? found->name : nullptr;
        return found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

CUresult cuGetErrorString(CUresult error, const char** pStr) {
    return call(Entry::kGetErrorString, Needs::kNothing, [&] {
        if (pStr == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const ErrorText* found = find(error);
        *pStr = found != nullptr ? found->text : nullptr;
        return found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}
