// SPDX-License-Identifier: BSD-3-Clause
// Runs the cases, each in a forked process with a time limit, and prints one line for each.
#include "tests/conformance/suite.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace conformance {
namespace {

constexpr int kSkipped = 77;
constexpr unsigned kCaseSeconds = 60;

bool failed_so_far = false;

struct Counts {
    int passed = 0;
    int failed = 0;
    int differed = 0;
    int skipped = 0;
};

/// What the driver says of itself, learnt in a forked process.
struct Identity {
    int devices = 0;
    int version = 0;
    CUresult init = CUDA_ERROR_UNKNOWN;
    char name[128] = "";
};

Identity identify() {
    Identity found;
    int ends[2];
    if (pipe(ends) != 0) {
        return found;
    }
    const pid_t child = fork();
    if (child == 0) {
        Identity own;
        own.init = cu.cuInit(0);
        if (own.init == CUDA_SUCCESS) {
            static_cast<void>(cu.cuDeviceGetCount(&own.devices));
            static_cast<void>(cu.cuDriverGetVersion(&own.version));
            static_cast<void>(cu.cuDeviceGetName(own.name, sizeof own.name - 1, 0));
        }
        const ssize_t written = write(ends[1], &own, sizeof own);
        _exit(written == static_cast<ssize_t>(sizeof own) ? 0 : 1);
    }
    close(ends[1]);
    Identity read_back;
    if (read(ends[0], &read_back, sizeof read_back) == static_cast<ssize_t>(sizeof read_back)) {
        found = read_back;
    }
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return found;
}

void report(const Case& test, int status, bool real, Counts& counts) {
    const char* verdict = "ok     ";
    char why[64] = "";
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        ++counts.passed;
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == kSkipped) {
        verdict = "skip   ";
        ++counts.skipped;
    } else if (real && test.source == Source::kBelieved) {
        verdict = "DIFFERS";
        ++counts.differed;
    } else {
        verdict = "FAIL   ";
        ++counts.failed;
    }
    if (WIFSIGNALED(status)) {
        std::snprintf(why, sizeof why, " (%s)", strsignal(WTERMSIG(status)));
    }
    std::printf("%s %s%s\n", verdict, test.name, why);
    std::fflush(stdout);
}

void run_group(std::span<const Case> cases, const char* filter, bool real, Counts& counts) {
    for (const Case& test : cases) {
        if (filter != nullptr && std::strstr(test.name, filter) == nullptr) {
            continue;
        }
        std::fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            alarm(kCaseSeconds);
            test.run();
            std::fflush(stdout);
            _exit(status_so_far());
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child) {
            std::printf("FAIL    %s (no process)\n", test.name);
            ++counts.failed;
            continue;
        }
        report(test, status, real, counts);
    }
}

}  // namespace

void fail(const char* file, int line, const char* format, ...) {
    failed_so_far = true;
    std::va_list arguments;
    va_start(arguments, format);
    std::printf("        %s:%d: ",
                std::strrchr(file, '/') != nullptr ? std::strrchr(file, '/') + 1 : file, line);
    std::vprintf(format, arguments);
    std::printf("\n");
    va_end(arguments);
}

void give_up() {
    std::fflush(stdout);
    _exit(1);
}

void skip(const char* reason) {
    std::printf("        %s\n", reason);
    std::fflush(stdout);
    _exit(failed_so_far ? 1 : kSkipped);
}

void skip_missing(const char* name) {
    std::printf("        this driver has no %s\n", name);
    std::fflush(stdout);
    _exit(failed_so_far ? 1 : kSkipped);
}

int status_so_far() {
    return failed_so_far ? 1 : 0;
}

const char* name_of(CUresult result) {
    const char* name = nullptr;
    if (cu.cuGetErrorName.function != nullptr &&
        cu.cuGetErrorName.function(result, &name) == CUDA_SUCCESS && name != nullptr) {
        return name;
    }
    return "unnamed result";
}

bool check_result(const char* file, int line, const char* call, CUresult got, CUresult wanted) {
    if (got == wanted) {
        return true;
    }
    fail(file, line, "%s gave %d %s, not %d %s", call, static_cast<int>(got), name_of(got),
         static_cast<int>(wanted), name_of(wanted));
    return false;
}

bool check_among(const char* file, int line, const char* call, CUresult got,
                 std::initializer_list<CUresult> wanted) {
    for (const CUresult one : wanted) {
        if (got == one) {
            return true;
        }
    }
    fail(file, line, "%s gave %d %s", call, static_cast<int>(got), name_of(got));
    return false;
}

}  // namespace conformance

int main(int argc, char** argv) {
    using namespace conformance;
    const char* filter = argc > 1 ? argv[1] : nullptr;
    const char* message = load_driver();
    if (message != nullptr) {
        std::printf("no CUDA driver: %s\n", message);
        return kSkipped;
    }
    const Identity driver = identify();
    if (driver.devices == 0) {
        std::printf("no CUDA device: cuInit gave %d %s\n", static_cast<int>(driver.init),
                    name_of(driver.init));
        return kSkipped;
    }
    const bool real = std::strstr(driver.name, "Software CUDA device") == nullptr;
    std::printf("%d device(s), first: %s, driver API %d\n", driver.devices, driver.name,
                driver.version);
    Counts counts;
    for (const std::span<const Case> group :
         {pointer_cases(), ipc_cases(), context_cases(), stream_cases(), copy_cases(), host_cases(),
          managed_cases(), virtual_cases(), pool_cases(), error_cases(), peer_cases()}) {
        run_group(group, filter, real, counts);
    }
    std::printf("%d passed, %d failed, %d skipped", counts.passed, counts.failed, counts.skipped);
    if (real) {
        std::printf(", %d differ from what was believed of a real driver", counts.differed);
    }
    std::printf("\n");
    return counts.failed == 0 && counts.passed > 0 ? 0 : 1;
}
