// SPDX-License-Identifier: BSD-3-Clause
// Reads and checks SoftCUDA's environment variables.
#include "softcuda/driver/config.hpp"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "softcuda/driver/ledger.hpp"

namespace softcuda {
namespace {

void refuse(Config& config, const char* name, const char* value, const char* allowed) {
    std::fprintf(stderr, "SoftCUDA: %s=%s is not valid: %s\n", name, value, allowed);
    config.valid = false;
}

void read_number(Config& config, const char* name, double low, double high, const char* allowed,
                 double* out) {
    const char* text = std::getenv(name);
    if (text == nullptr || *text == '\0') {
        return;
    }
    char* end = nullptr;
    errno = 0;
    const double value = std::strtod(text, &end);
    if (errno != 0 || *end != '\0' || !(value >= low && value <= high)) {
        refuse(config, name, text, allowed);
        return;
    }
    *out = value;
}

bool flag(const char* name) {
    const char* text = std::getenv(name);
    return text != nullptr && *text != '\0' && std::strcmp(text, "0") != 0;
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    size_t start = 0;
    while (start <= text.size()) {
        const size_t end = std::min(text.find(separator, start), text.size());
        if (end > start) {
            parts.push_back(text.substr(start, end - start));
        }
        start = end + 1;
    }
    return parts;
}

bool parse_fault(const std::string& text, Fault* fault) {
    const std::vector<std::string> part = split(text, ':');
    if (part.size() != 3) {
        return false;
    }
    const int entry = entry_by_name(part[0].c_str());
    char* end = nullptr;
    const uint64_t nth = std::strtoull(part[1].c_str(), &end, 10);
    const bool onwards = *end == '+' && end[1] == '\0';
    if (entry < 0 || nth == 0 || (*end != '\0' && !onwards)) {
        return false;
    }
    const int code = error_by_text(part[2].c_str());
    if (code <= 0) {
        return false;
    }
    *fault = {static_cast<Entry>(entry), nth, onwards, static_cast<CUresult>(code)};
    return true;
}

void read_faults(Config& config) {
    const char* text = std::getenv("SOFTCUDA_FAULT");
    if (text == nullptr) {
        return;
    }
    for (const std::string& rule : split(text, ',')) {
        Fault fault{};
        if (parse_fault(rule, &fault)) {
            config.faults.push_back(fault);
        } else {
            refuse(config, "SOFTCUDA_FAULT", rule.c_str(),
                   "NAME:NTH:CODE is expected, such as cuMemAlloc:3:CUDA_ERROR_OUT_OF_MEMORY or "
                   "cuIpcOpenMemHandle:1+:208");
        }
    }
}

/** "0>1,2>0": GPU 0 may access the memory of GPU 1, and so on. */
bool read_pairs(Config& config, const char* text) {
    for (const std::string& pair : split(text, ',')) {
        int from = -1;
        int to = -1;
        int used = 0;
        if (std::sscanf(pair.c_str(), "%d>%d%n", &from, &to, &used) != 2 ||
            static_cast<size_t>(used) != pair.size() || from < 0 || from >= kMaxDevices || to < 0 ||
            to >= kMaxDevices || from == to) {
            return false;
        }
        config.peers[from] = static_cast<uint16_t>(config.peers[from] | 1U << to);
    }
    return true;
}

void read_topology(Config& config) {
    const char* text = std::getenv("SOFTCUDA_TOPOLOGY");
    if (text == nullptr || *text == '\0' || std::strcmp(text, "nvlink") == 0) {
        config.topology = Topology::kNvlink;
    } else if (std::strcmp(text, "pcie") == 0) {
        config.topology = Topology::kPcie;
    } else if (std::strcmp(text, "none") == 0) {
        config.topology = Topology::kNone;
    } else if (read_pairs(config, text)) {
        config.topology = Topology::kPairs;
    } else {
        refuse(config, "SOFTCUDA_TOPOLOGY", text,
               "one of nvlink, pcie, none, or pairs such as 0>1,1>0");
    }
}

void read_ipc(Config& config) {
    const char* text = std::getenv("SOFTCUDA_IPC");
    const struct {
        const char* name;
        bool* set;
    } known[] = {{"visible", &config.ipc_visible_only},
                 {"base", &config.ipc_base_only},
                 {"hollow", &config.ipc_hollow},
                 {"leak", &config.ipc_leaks}};
    for (const std::string& word : split(text != nullptr ? text : "", ',')) {
        bool found = false;
        for (const auto& one : known) {
            if (word == one.name) {
                *one.set = found = true;
            }
        }
        if (!found) {
            refuse(config, "SOFTCUDA_IPC", word.c_str(),
                   "visible, base, hollow and leak are known");
        }
    }
}

Config read_config() {
    Config config;
    double devices = config.devices;
    double memory = static_cast<double>(config.memory);
    double sparse = static_cast<double>(config.sparse);
    read_number(config, "SOFTCUDA_DEVICES", 0, kMaxDevices, "0 to 16", &devices);
    read_number(config, "SOFTCUDA_MEMORY", 1 << 21, 1e13, "bytes, 2 MiB to 10 TB", &memory);
    read_number(config, "SOFTCUDA_SPARSE", 4096, 1e13, "bytes, 4096 to 10 TB", &sparse);
    read_number(config, "SOFTCUDA_GBPS", 0, 1e6, "GB/s, 0 (no limit) or more",
                &config.gigabytes_per_second);
    read_number(config, "SOFTCUDA_LATENCY_US", 0, 1e7, "microseconds, 0 to 10 s",
                &config.latency_us);
    read_number(config, "SOFTCUDA_DELAY", 0, 1e7, "microseconds, 0 to 10 s", &config.delay_us);
    if (devices != std::floor(devices)) {
        refuse(config, "SOFTCUDA_DEVICES", std::getenv("SOFTCUDA_DEVICES"), "0 to 16");
    }
    config.devices = static_cast<int>(devices);
    config.memory = static_cast<uint64_t>(memory);
    config.sparse = static_cast<uint64_t>(sparse);
    read_topology(config);
    read_ipc(config);
    const char* async = std::getenv("SOFTCUDA_ASYNC");
    config.always_async = async != nullptr && std::strcmp(async, "always") == 0;
    if (async != nullptr && *async != '\0' && !config.always_async) {
        refuse(config, "SOFTCUDA_ASYNC", async, "only \"always\" is known");
    }
    config.host_access = flag("SOFTCUDA_HOST_ACCESS");
    config.dma_buf = flag("SOFTCUDA_DMA_BUF");
    config.gpudirect = config.host_access || config.dma_buf || flag("SOFTCUDA_GPUDIRECT");
    config.log = flag("SOFTCUDA_LOG");
    config.quiet = flag("SOFTCUDA_QUIET");
    if (const char* node = std::getenv("SOFTCUDA_NODE")) {
        config.node = node;
    }
    if (const char* kernels = std::getenv("SOFTCUDA_KERNELS")) {
        config.kernels = split(kernels, ':');
    }
    read_faults(config);
    return config;
}

}  // namespace

const Config& config() {
    static const Config& instance = *new Config(read_config());
    return instance;
}

CUresult injected_fault(Entry entry, uint64_t count) noexcept {
    for (const Fault& fault : config().faults) {
        if (fault.entry == entry && (count == fault.nth || (fault.onwards && count > fault.nth))) {
            return fault.code;
        }
    }
    return CUDA_SUCCESS;
}

}  // namespace softcuda
