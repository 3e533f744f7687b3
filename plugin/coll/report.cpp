// SPDX-License-Identifier: BSD-3-Clause
// The counters, their MPI_T variables and their table.
#include "plugin/coll/report.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>

#include "coll/select/fused.hpp"
#include "coll/select/schedule_files.hpp"

namespace beeline::plugin::coll {
namespace {

constexpr auto kEntries = static_cast<std::size_t>(Entry::kCount);
constexpr auto kWays = static_cast<std::size_t>(Way::kCount);

constexpr const char* kNames[] = {
#define BEELINE_ENTRY(name, family, form) #name,
#include "plugin/coll/entries.def"
#undef BEELINE_ENTRY
};
static_assert(std::size(kNames) == kEntries);

constexpr const char* kWayNames[] = {"passed", "staged", "scheduled"};
static_assert(std::size(kWayNames) == kWays);

using Counter = std::atomic<unsigned long long>;
static_assert(sizeof(Counter) == sizeof(unsigned long long));  // MPI_T reads it as one

constinit Counter counts[kEntries][kWays] = {};
constinit Counter sums[kWays] = {};

/// A locked addition costs as much as a call that is passed on.
void count_one(Counter& counter) noexcept {
    if (opal_using_threads()) {
        counter.fetch_add(1, std::memory_order_relaxed);
    } else {
        counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
}

/// By place in the table of algorithms, the fused ones after the others, then those of files.
constexpr std::size_t kMostAlgorithms = 64;
constinit Counter by_algorithm[kMostAlgorithms] = {};

const beeline::coll::plan::Algorithm* algorithm_at(std::size_t index) noexcept {
    const auto schedules = beeline::coll::plan::algorithms();
    const auto fused = beeline::coll::select::fused_algorithms();
    if (index < schedules.size()) {
        return schedules[index];
    }
    index -= schedules.size();
    if (index < fused.size()) {
        return fused[index];
    }
    index -= fused.size();
    const auto& loaded = beeline::coll::select::tuning().loaded;
    return index < loaded.size() ? loaded[index] : nullptr;
}

/// Each algorithm's place, by its address: filled when the counters are registered, before any
/// collective.
struct Place {
    const beeline::coll::plan::Algorithm* algorithm = nullptr;
    std::size_t index = 0;
};
constexpr std::size_t kPlaces = 2 * kMostAlgorithms;
constinit Place places[kPlaces] = {};

/// The algorithm's entry, or the empty one where it belongs.
Place& place_of(const beeline::coll::plan::Algorithm* algorithm) noexcept {
    std::size_t at = reinterpret_cast<std::uintptr_t>(algorithm) / alignof(std::max_align_t);
    while (places[at % kPlaces].algorithm != nullptr &&
           places[at % kPlaces].algorithm != algorithm) {
        ++at;
    }
    return places[at % kPlaces];
}

void register_counter(const mca_base_component_t* owner, const char* name, const char* help,
                      Counter& counter) noexcept {
    mca_base_component_pvar_register(
        owner, name, help, OPAL_INFO_LVL_4, MPI_T_PVAR_CLASS_COUNTER,
        MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, nullptr, MCA_BASE_VAR_BIND_NO_OBJECT,
        static_cast<mca_base_pvar_flag_t>(MCA_BASE_PVAR_FLAG_READONLY |
                                          MCA_BASE_PVAR_FLAG_CONTINUOUS),
        nullptr, nullptr, nullptr, &counter);
}

/// Those from place `first` on.
void register_algorithms(const mca_base_component_t* owner, std::size_t first) noexcept {
    for (std::size_t index = first; index < kMostAlgorithms && algorithm_at(index) != nullptr;
         ++index) {
        const beeline::coll::plan::Algorithm& algorithm = *algorithm_at(index);
        place_of(&algorithm) = {&algorithm, index};
        const char* collective = beeline::coll::plan::to_string(algorithm.collective);
        char name[80];
        char help[160];
        std::snprintf(name, sizeof name, "%s_%s", collective, algorithm.name);
        std::snprintf(help, sizeof help, "Calls of %s and its kin served by the schedule %s",
                      collective, algorithm.name);
        register_counter(owner, name, help, by_algorithm[index]);
    }
}

}  // namespace

const char* to_string(Entry entry) noexcept {
    return kNames[static_cast<std::size_t>(entry)];
}

void count_call(Entry entry, Way way) noexcept {
    const auto column = static_cast<std::size_t>(way);
    count_one(counts[static_cast<std::size_t>(entry)][column]);
    count_one(sums[column]);
}

void count_schedule(Entry entry, const beeline::coll::plan::Algorithm& algorithm) noexcept {
    count_call(entry, Way::kScheduled);
    count_one(by_algorithm[place_of(&algorithm).index]);
}

void register_counters(const mca_base_component_t* owner) noexcept {
    for (std::size_t way = 0; way < kWays; ++way) {
        char name[64];
        char help[128];
        std::snprintf(name, sizeof name, "calls_%s", kWayNames[way]);
        std::snprintf(help, sizeof help, "Collective calls served by coll/beeline this way: %s",
                      kWayNames[way]);
        register_counter(owner, name, help, sums[way]);
    }
    register_algorithms(owner, 0);
}

void register_loaded_counters(const mca_base_component_t* owner) noexcept {
    register_algorithms(owner, beeline::coll::plan::algorithms().size() +
                                   beeline::coll::select::fused_algorithms().size());
}

void print_report() noexcept {
    const unsigned rank = OPAL_PROC_MY_NAME.vpid;
    std::fprintf(stderr, "coll/beeline rank %u: %-28s %10s %10s %10s\n", rank, "call", kWayNames[0],
                 kWayNames[1], kWayNames[2]);
    for (std::size_t entry = 0; entry < kEntries; ++entry) {
        unsigned long long row[kWays];
        unsigned long long all = 0;
        for (std::size_t way = 0; way < kWays; ++way) {
            row[way] = counts[entry][way].load(std::memory_order_relaxed);
            all += row[way];
        }
        if (all != 0) {
            std::fprintf(stderr, "coll/beeline rank %u: %-28s %10llu %10llu %10llu\n", rank,
                         kNames[entry], row[0], row[1], row[2]);
        }
    }
    for (std::size_t index = 0; index < kMostAlgorithms && algorithm_at(index) != nullptr;
         ++index) {
        const beeline::coll::plan::Algorithm& algorithm = *algorithm_at(index);
        const unsigned long long calls = by_algorithm[index].load(std::memory_order_relaxed);
        if (calls != 0) {
            std::fprintf(stderr, "coll/beeline rank %u: %s by %s: %llu\n", rank,
                         beeline::coll::plan::to_string(algorithm.collective), algorithm.name,
                         calls);
        }
    }
}

}  // namespace beeline::plugin::coll
