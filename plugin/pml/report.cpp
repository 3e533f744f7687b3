// SPDX-License-Identifier: BSD-3-Clause
// Messages and bytes by path, as MPI_T variables and as the table at MPI_Finalize.
#include <cinttypes>
#include <cstdio>
#include <iterator>
#include <string>

#include "plugin/pml/module.hpp"

namespace beeline::plugin::pml {
namespace {

const engine::Counters& counters() noexcept {
    return engine().counters();
}

template <std::uint64_t (*Read)(std::size_t)>
int read(const mca_base_pvar_t* variable, void* value, void*) noexcept {
    const auto index = reinterpret_cast<std::size_t>(variable->ctx);
    if (running == nullptr) {  // a tool asks before MPI_Init or after MPI_Finalize
        *static_cast<unsigned long long*>(value) = 0;
        return OMPI_SUCCESS;
    }
    const engine::Engine::Guard guard(engine());
    *static_cast<unsigned long long*>(value) = Read(index);
    return OMPI_SUCCESS;
}

std::uint64_t messages(std::size_t path) {
    return counters().messages[path];
}
std::uint64_t bytes(std::size_t path) {
    return counters().bytes[path];
}

std::string uuid_text(const mover::cuda_ipc::DeviceUuid& uuid) {
    std::string text;
    char part[4];
    for (const std::byte byte : uuid) {
        std::snprintf(part, sizeof part, "%02x", std::to_integer<unsigned>(byte));
        text += part;
    }
    return text;
}

const char* error_name(CUresult error) {
    const cuda::Driver* driver = cuda::Driver::find();
    return driver != nullptr ? driver->name_of(error) : "driver gone";
}

/// One figure of the caches.
struct Gauge {
    const char* name;
    const char* help;
    bool counter;
    std::uint64_t (*read)();
};

constexpr Gauge kGauges[] = {
    {"imports_open", "allocations of other processes mapped now", false,
     [] { return std::uint64_t{engine().imports().open_handles()}; }},
    {"imports_bytes", "bytes of other processes' device memory mapped now", false,
     [] { return engine().imports().mapped_bytes(); }},
    {"imports_opened", "mappings made", true, [] { return engine().imports().misses(); }},
    {"imports_found", "mappings used again", true, [] { return engine().imports().hits(); }},
    {"imports_evicted", "mappings closed for lack of room", true,
     [] { return engine().imports().evicted(); }},
    {"imports_freed", "mappings closed because their memory was freed", true,
     [] { return engine().imports().told(); }},
    {"exports_known", "own allocations and ranges that others may have mapped", false,
     [] { return std::uint64_t{engine().exports().entries()}; }},
    {"exports_freed", "of those, found to be freed", true,
     [] { return engine().exports().freed(); }},
};

std::uint64_t gauge(std::size_t index) {
    return kGauges[index].read();
}

template <std::uint64_t (*Read)(std::size_t)>
void register_counter(const char* what, std::size_t path) noexcept {
    const char* name_of_path = protocol::to_string(static_cast<protocol::Path>(path));
    char name[64];
    char help[128];
    std::snprintf(name, sizeof name, "%s_%s", what, name_of_path);
    std::snprintf(help, sizeof help, "%s sent by the path %s", what, name_of_path);
    mca_base_component_pvar_register(
        self(), name, help, OPAL_INFO_LVL_4, MPI_T_PVAR_CLASS_COUNTER,
        MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, nullptr, MCA_BASE_VAR_BIND_NO_OBJECT,
        static_cast<mca_base_pvar_flag_t>(MCA_BASE_PVAR_FLAG_READONLY |
                                          MCA_BASE_PVAR_FLAG_CONTINUOUS),
        read<Read>, nullptr, nullptr, reinterpret_cast<void*>(path));
}

}  // namespace

void register_counters() {
    for (std::size_t path = 1; path < protocol::kPaths; ++path) {
        register_counter<messages>("messages", path);
        register_counter<bytes>("bytes", path);
    }
    for (std::size_t index = 0; index < std::size(kGauges); ++index) {
        mca_base_component_pvar_register(
            self(), kGauges[index].name, kGauges[index].help, OPAL_INFO_LVL_4,
            kGauges[index].counter ? MPI_T_PVAR_CLASS_COUNTER : MPI_T_PVAR_CLASS_LEVEL,
            MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, nullptr, MCA_BASE_VAR_BIND_NO_OBJECT,
            static_cast<mca_base_pvar_flag_t>(MCA_BASE_PVAR_FLAG_READONLY |
                                              MCA_BASE_PVAR_FLAG_CONTINUOUS),
            read<gauge>, nullptr, nullptr, reinterpret_cast<void*>(index));
    }
}

namespace {

void print_mappings(unsigned rank) {
    const mover::cuda_ipc::ImportCache& imports = engine().imports();
    if (imports.hits() + imports.misses() != 0) {
        std::fprintf(stderr,
                     "pml/beeline rank %u: mapped from others: %zu open (%" PRIu64
                     " bytes), %" PRIu64 " opened, %" PRIu64 " found open, %" PRIu64
                     " closed for room, %" PRIu64 " closed because freed\n",
                     rank, imports.open_handles(), imports.mapped_bytes(), imports.misses(),
                     imports.hits(), imports.evicted(), imports.told());
    }
    const mover::cuda_ipc::ExportCache& exports = engine().exports();
    if (exports.hits() + exports.misses() != 0) {
        std::fprintf(stderr,
                     "pml/beeline rank %u: exported: %zu known, %" PRIu64 " made, %" PRIu64
                     " found, %" PRIu64 " freed\n",
                     rank, exports.entries(), exports.misses(), exports.hits(), exports.freed());
    }
    for (const auto& verdict : engine().verdicts().all()) {
        if (verdict.failures != 0) {
            const auto& peer = *reinterpret_cast<const engine::Peer*>(verdict.pair.peer);
            std::fprintf(stderr,
                         "pml/beeline rank %u: memory of process %" PRId64
                         " on GPU %s by %s to GPU %d: %s, %s: %s\n",
                         rank, peer.address.shm.pid, uuid_text(verdict.pair.from).c_str(),
                         mover::cuda_ipc::to_string(verdict.pair.kind), verdict.pair.to,
                         verdict.refused ? "does not work" : "has failed", verdict.step,
                         error_name(verdict.reason));
        }
    }
}

void print_rdma(unsigned rank) {
    const engine::RdmaCounters counted = engine().rdma_counters();
    for (std::size_t rail = 0; rail < counted.rail_count; ++rail) {
        std::fprintf(stderr,
                     "pml/beeline rank %u: rail %s: %" PRIu64 " parts of messages, %" PRIu64
                     " bytes written, %" PRIu64 " bytes read, %" PRIu64 " small messages\n",
                     rank, counted.rails[rail].name, counted.rails[rail].shares,
                     counted.rails[rail].written, counted.rails[rail].read,
                     counted.rails[rail].messages);
    }
    if (counted.rail_count != 0) {
        std::fprintf(
            stderr,
            "pml/beeline rank %u: RDMA: %" PRIu64 " connections of %zu bytes each, %" PRIu64
            " rails broken, %" PRIu64 " messages moved again, %" PRIu64
            " registrations made, %" PRIu64 " found, %" PRIu64 " flushes\n",
            rank, counted.connections, counted.connection_bytes, counted.broken, counted.retries,
            counted.registrations, counted.registered_again, counted.flushes);
    }
}

}  // namespace

void print_report() {
    const engine::Counters& counted = counters();
    const unsigned rank = OPAL_PROC_MY_NAME.vpid;
    std::fprintf(stderr, "pml/beeline rank %u: %-10s %12s %18s\n", rank, "path", "messages",
                 "bytes");
    for (std::size_t path = 1; path < protocol::kPaths; ++path) {
        if (counted.messages[path] != 0) {
            std::fprintf(stderr, "pml/beeline rank %u: %-10s %12" PRIu64 " %18" PRIu64 "\n", rank,
                         protocol::to_string(static_cast<protocol::Path>(path)),
                         counted.messages[path], counted.bytes[path]);
        }
    }
    for (std::size_t reason = 0; reason < protocol::kReasons; ++reason) {
        if (counted.fallbacks[reason] != 0) {
            std::fprintf(stderr,
                         "pml/beeline rank %u: %" PRIu64 " messages not on the best path: %s\n",
                         rank, counted.fallbacks[reason],
                         protocol::to_string(static_cast<protocol::Reason>(reason)));
        }
    }
    print_mappings(rank);
    print_rdma(rank);
}

}  // namespace beeline::plugin::pml
