// SPDX-License-Identifier: BSD-3-Clause
// Formats the rows for people and for programs.
#include "report.hpp"

#include <mpi.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

namespace beeline::bench {
namespace {

bool shows_latency(Operation operation) {
    return operation == Operation::kLatency || is_collective(operation);
}

bool shows_bandwidth(Operation operation) {
    return operation != Operation::kLatency;
}

const char* word(Validity validity) {
    switch (validity) {
        case Validity::kNotChecked:
            return "-";
        case Validity::kRight:
            return "yes";
        case Validity::kWrong:
            return "NO";
    }
    return "?";
}

/// Processor, cores and MPI library of this machine.
std::string machine() {
    std::string processor = "unknown processor";
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        const auto colon = line.find(": ");
        if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
            processor = line.substr(colon + 2);
            break;
        }
    }
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(library, &length);
    const std::string text(library, static_cast<std::size_t>(length));
    return processor + ", " + std::to_string(std::thread::hardware_concurrency()) + " cores, " +
           text.substr(0, text.find(','));
}

nlohmann::json make_row(const Row& row, const std::string& name, double value, const char* unit) {
    nlohmann::json object = {
        {"name", name}, {"bytes", row.bytes}, {"value", value}, {"unit", unit}, {"path", row.path}};
    if (row.validity != Validity::kNotChecked) {
        object["valid"] = row.validity == Validity::kRight;
    }
    if (!row.algorithm.empty()) {
        object["algorithm"] = row.algorithm;
    }
    for (std::size_t index = 0; unit == std::string("us") && index < row.batches.size(); ++index) {
        const Row::Batch& batch = row.batches[index];
        nlohmann::json one = {{"us", batch.microseconds}};
        if (batch.copied > 0) {
            one["copied"] = batch.copied;
        }
        object["batches"].push_back(one);
    }
    return object;
}

}  // namespace

std::string title(const Options& options, int ranks) {
    return std::string("beeline-bench ") + to_string(options.operation) + " " + options.sides() +
           ", " + std::to_string(ranks) + " ranks" +
           (options.threads > 1 ? ", " + std::to_string(options.threads) + " threads each" : "");
}

void print_header(const Options& options, int ranks) {
    std::printf("# %s\n# %-10s", title(options, ranks).c_str(), "Size");
    if (shows_latency(options.operation)) {
        std::printf("  %14s", "Latency (us)");
    }
    if (shows_bandwidth(options.operation)) {
        std::printf("  %17s",
                    is_collective(options.operation) ? "Bus b/w (MB/s)" : "Bandwidth (MB/s)");
    }
    std::printf("  %-20s  %s\n", "Path", "Valid");
    std::fflush(stdout);
}

void print_row(const Options& options, const Row& row) {
    std::printf("%-12zu", row.bytes);
    if (shows_latency(options.operation)) {
        std::printf("  %14.2f", row.microseconds);
    }
    if (shows_bandwidth(options.operation)) {
        std::printf("  %17.2f", row.bandwidth);
    }
    std::printf("  %-20s  %s", row.path.c_str(), word(row.validity));
    if (!row.algorithm.empty()) {
        std::printf("  by %s", row.algorithm.c_str());
    }
    if (!row.batches.empty() && row.batches.front().copied > 0) {
        std::printf("  beside copies of %.0f MB/s", row.batches[row.batches.size() / 2].copied);
    }
    std::printf("\n");
    std::fflush(stdout);
}

void write_json(const Options& options, int ranks, const std::vector<Row>& rows) {
    const std::string name = std::string(to_string(options.operation)) + " " + options.sides();
    nlohmann::json list = nlohmann::json::array();
    for (const Row& row : rows) {
        if (shows_latency(options.operation)) {
            list.push_back(make_row(row, name, row.microseconds, "us"));
        }
        if (shows_bandwidth(options.operation)) {
            const char* suffix = is_collective(options.operation) ? " busbw" : "";
            list.push_back(make_row(row, name + suffix, row.bandwidth, "MB/s"));
        }
    }
    const nlohmann::json document = {
        {"title", title(options, ranks)}, {"machine", machine()}, {"rows", list}};
    std::ofstream file(options.json);
    file << document.dump(2) << '\n';
    file.close();
    if (!file) {
        throw std::runtime_error("cannot write " + options.json);
    }
}

}  // namespace beeline::bench
