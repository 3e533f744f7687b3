// SPDX-License-Identifier: BSD-3-Clause
// The frame of the conformance suite: every case runs in a process of its own that has not touched
// the driver yet, so cases may crash, fork, or leave a context broken without harming each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/conformance/driver.hpp"

namespace conformance {

/// Where a case's expectation comes from.
enum class Source {
    kDocumented,  ///< the driver API's manual or header says so
    kBelieved,    ///< seen in the field or taken for known; a real driver may prove it wrong
};

struct Case {
    const char* name;
    void (*run)();
    Source source = Source::kDocumented;
};

std::span<const Case> pointer_cases();
std::span<const Case> ipc_cases();
std::span<const Case> context_cases();
std::span<const Case> stream_cases();
std::span<const Case> copy_cases();
std::span<const Case> host_cases();
std::span<const Case> managed_cases();
std::span<const Case> virtual_cases();
std::span<const Case> pool_cases();
std::span<const Case> error_cases();
std::span<const Case> peer_cases();

/// Notes a failed check and lets the case go on.
void fail(const char* file, int line, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
/// Ends the process of the case as failed.
[[noreturn]] void give_up();
/// Ends the process of the case as skipped, saying why.
[[noreturn]] void skip(const char* reason);
/// Exit status of the running case so far: 0, or 1 after a failed check.
int status_so_far();

/// Name of a result, for messages.
const char* name_of(CUresult result);
/// Notes a failure unless `got` is `wanted`. Returns whether it is.
bool check_result(const char* file, int line, const char* call, CUresult got, CUresult wanted);
/// The same for a choice of acceptable results.
bool check_among(const char* file, int line, const char* call, CUresult got,
                 std::initializer_list<CUresult> wanted);

/// The call succeeds, or the case ends here.
#define MUST(call)                                                                           \
    do {                                                                                     \
        if (!::conformance::check_result(__FILE__, __LINE__, #call, (call), CUDA_SUCCESS)) { \
            ::conformance::give_up();                                                        \
        }                                                                                    \
    } while (false)
/// The call gives this result.
#define EXPECT_RESULT(call, wanted) \
    static_cast<void>(::conformance::check_result(__FILE__, __LINE__, #call, (call), (wanted)))
/// The call gives one of these results.
#define EXPECT_AMONG(call, ...) \
    static_cast<void>(::conformance::check_among(__FILE__, __LINE__, #call, (call), {__VA_ARGS__}))
/// The condition holds.
#define EXPECT(condition)                                                      \
    do {                                                                       \
        if (!(condition)) {                                                    \
            ::conformance::fail(__FILE__, __LINE__, "not so: %s", #condition); \
        }                                                                      \
    } while (false)

}  // namespace conformance
