// SPDX-License-Identifier: BSD-3-Clause
// The ledger: softcuda_* functions and the report SOFTCUDA_LEDGER asks for.
#include "softcuda/driver/ledger.hpp"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace softcuda {

constinit Ledger ledger{};

namespace {

constexpr const char* kNames[] = {
#define SOFTCUDA_ENTRY(name, since) "cu" #name,
#include "softcuda/driver/entries.def"
#undef SOFTCUDA_ENTRY
};

using Counts = std::atomic<uint64_t>[kEntryCount];

uint64_t total(const Counts& counts) noexcept {
    uint64_t sum = 0;
    for (const std::atomic<uint64_t>& count : counts) {
        sum += count.load(std::memory_order_relaxed);
    }
    return sum;
}

/** Of the entry called `name`, or of all. */
uint64_t count_of(const Counts& counts, const char* name) noexcept {
    if (name == nullptr) {
        return total(counts);
    }
    const int index = entry_by_name(name);
    return index < 0 ? 0 : counts[index].load(std::memory_order_relaxed);
}

void write_counts(std::FILE* file, const char* title, const Counts& counts) {
    const char* separator = "";
    std::fprintf(file, "  \"%s\": {", title);
    for (int i = 0; i < kEntryCount; ++i) {
        const uint64_t count = counts[i].load(std::memory_order_relaxed);
        if (count != 0) {
            std::fprintf(file, "%s\n    \"%s\": %" PRIu64, separator, kNames[i], count);
            separator = ",";
        }
    }
    std::fprintf(file, "},\n");
}

void write_leaks(std::FILE* file) {
    const struct {
        const char* name;
        const std::atomic<int64_t>& value;
    } leaks[] = {{"device_allocations", ledger.device_allocations},
                 {"host_allocations", ledger.host_allocations},
                 {"managed_allocations", ledger.managed_allocations},
                 {"registrations", ledger.registrations},
                 {"ipc_handles", ledger.ipc_handles},
                 {"streams", ledger.streams},
                 {"events", ledger.events},
                 {"modules", ledger.modules},
                 {"contexts", ledger.contexts}};
    const char* separator = "";
    std::fprintf(file, "  \"leaks\": {");
    for (const auto& leak : leaks) {
        std::fprintf(file, "%s\"%s\": %" PRId64, separator, leak.name, leak.value.load());
        separator = ", ";
    }
    std::fprintf(file, "},\n");
}

/** Runs when the library is unloaded, so also in processes that made no call. */
__attribute__((destructor)) void write_report() {
    const char* prefix = std::getenv("SOFTCUDA_LEDGER");
    if (prefix == nullptr || *prefix == '\0') {
        return;
    }
    char path[4096];
    if (std::snprintf(path, sizeof path, "%s.%d.json", prefix, static_cast<int>(getpid())) >=
        static_cast<int>(sizeof path)) {
        return;
    }
    std::FILE* file = std::fopen(path, "we");
    if (file == nullptr) {
        std::fprintf(stderr, "SoftCUDA: cannot write the ledger %s: %s\n", path,
                     std::strerror(errno));
        return;
    }
    std::fprintf(file, "{\n  \"pid\": %d,\n  \"total\": %" PRIu64 ",\n", static_cast<int>(getpid()),
                 total(ledger.calls));
    write_counts(file, "calls", ledger.calls);
    write_counts(file, "errors", ledger.errors);
    write_leaks(file);
    std::fprintf(file, "  \"contexts_created\": %" PRIu64 ",\n  \"violations\": %" PRIu64 "\n}\n",
                 ledger.contexts_created.load(), ledger.violations.load());
    std::fclose(file);
}

}  // namespace

const char* entry_name(Entry entry) noexcept {
    return kNames[static_cast<int>(entry)];
}

int entry_by_name(const char* name) noexcept {
    for (int i = 0; i < kEntryCount; ++i) {
        if (std::strcmp(kNames[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

void ledger_reset() noexcept {
    for (std::atomic<uint64_t>& count : ledger.calls) {
        count.store(0, std::memory_order_relaxed);
    }
    for (std::atomic<uint64_t>& count : ledger.errors) {
        count.store(0, std::memory_order_relaxed);
    }
}

}  // namespace softcuda

using softcuda::ledger;

unsigned long long softcuda_calls(const char* name) {
    return softcuda::count_of(ledger.calls, name);
}

unsigned long long softcuda_errors(const char* name) {
    return softcuda::count_of(ledger.errors, name);
}

void softcuda_calls_reset(void) {
    softcuda::ledger_reset();
}

int softcuda_open_ipc_handles(void) {
    return static_cast<int>(ledger.ipc_handles.load());
}

unsigned long long softcuda_live_allocations(void) {
    return static_cast<unsigned long long>(ledger.device_allocations.load() +
                                           ledger.host_allocations.load() +
                                           ledger.managed_allocations.load());
}

unsigned long long softcuda_violations(void) {
    return ledger.violations.load();
}
