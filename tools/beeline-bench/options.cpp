// SPDX-License-Identifier: BSD-3-Clause
// The command line, in the vocabulary of the OSU micro-benchmarks.
#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <vector>

namespace beeline::bench {
namespace {

constexpr std::array kOperations = {
    Operation::kLatency,  Operation::kBw,     Operation::kBibw,      Operation::kAllreduce,
    Operation::kBcast,    Operation::kReduce, Operation::kAllgather, Operation::kReduceScatter,
    Operation::kAlltoall, Operation::kGather, Operation::kScatter,   Operation::kBarrier};

const char* describe(Operation operation) noexcept {
    switch (operation) {
        case Operation::kLatency:
            return "Half the round trip of one message between two ranks";
        case Operation::kBw:
            return "A window of messages from rank 0 to rank 1";
        case Operation::kBibw:
            return "A window of messages both ways at once";
        case Operation::kAllreduce:
            return "MPI_Allreduce, sum of floats";
        case Operation::kBcast:
            return "MPI_Bcast from rank 0";
        case Operation::kReduce:
            return "MPI_Reduce to rank 0, sum of floats";
        case Operation::kAllgather:
            return "MPI_Allgather; the size is what each rank gives";
        case Operation::kReduceScatter:
            return "MPI_Reduce_scatter_block, sum of floats; the size is what each rank gets";
        case Operation::kAlltoall:
            return "MPI_Alltoall; the size is what each rank sends to each";
        case Operation::kGather:
            return "MPI_Gather to rank 0; the size is what each rank gives";
        case Operation::kScatter:
            return "MPI_Scatter from rank 0; the size is what each rank gets";
        case Operation::kBarrier:
            return "MPI_Barrier";
    }
    return "";
}

/// MPI counts are ints, and the tests count bytes.
constexpr std::size_t kLargest = 1 << 30;

/// "8192", "8K", "4M", "1G".
std::size_t parse_bytes(std::string_view text) {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
    const std::size_t place = suffix.empty() ? 0 : std::string_view("KMG").find(suffix) + 1;
    const bool known = suffix.empty() || (suffix.size() == 1 && place > 0);
    if (error == std::errc{} && known && value <= (kLargest >> (10 * place))) {
        return value << (10 * place);
    }
    throw CLI::ValidationError(
        "sizes", "'" + std::string(text) + "' is not a size such as 8192, 8K or 4M, up to 1G");
}

/// OSU's forms: "MAX", "MIN:", "MIN:MAX".
void parse_range(const std::string& text, Options& options) {
    const auto colon = text.find(':');
    if (colon == std::string::npos) {
        options.max_bytes = parse_bytes(text);
    } else {
        options.min_bytes = parse_bytes(std::string_view(text).substr(0, colon));
        if (colon + 1 < text.size()) {
            options.max_bytes = parse_bytes(std::string_view(text).substr(colon + 1));
        }
    }
    if (options.min_bytes > options.max_bytes) {
        throw CLI::ValidationError("-m", "the smallest size in '" + text +
                                             "' is above the largest, " +
                                             std::to_string(options.max_bytes));
    }
}

gpu::Kind parse_side(const std::string& letter) {
    if (letter == "H") {
        return gpu::Kind::kHost;
    }
    return letter == "D" ? gpu::Kind::kDevice : gpu::Kind::kManaged;
}

char letter(gpu::Kind kind) noexcept {
    switch (kind) {
        case gpu::Kind::kHost:
            return 'H';
        case gpu::Kind::kDevice:
            return 'D';
        case gpu::Kind::kManaged:
            return 'M';
        case gpu::Kind::kPinned:
        case gpu::Kind::kRegistered:
        case gpu::Kind::kPool:
        case gpu::Kind::kVmm:
            break;  // not offered by parse_side()
    }
    return '?';
}

void set_defaults(Options& options) noexcept {
    switch (options.operation) {
        case Operation::kLatency:
        case Operation::kBw:
        case Operation::kBibw:
            return;
        case Operation::kAllreduce:
        case Operation::kReduce:
        case Operation::kReduceScatter:
            options.min_bytes = sizeof(float);
            options.max_bytes = 1 << 20;
            return;
        case Operation::kBcast:
        case Operation::kAllgather:
        case Operation::kAlltoall:
        case Operation::kGather:
        case Operation::kScatter:
            options.max_bytes = 1 << 20;
            return;
        case Operation::kBarrier:
            options.min_bytes = options.max_bytes = 0;
            return;
    }
}

/// The text given to each option of the subcommands; one subcommand is used, so one set serves all.
struct Text {
    std::string memory = "host";
    std::string range;
    std::vector<std::string> list;
    std::vector<std::string> sides;
};

void add_options(CLI::App& app, Options& options, Text& text) {
    app.add_option("-d,--device", text.memory, "Memory of both sides: cuda, managed or host")
        ->check(CLI::IsMember({"cuda", "managed", "host"}));
    app.add_option("sides", text.sides,
                   "Memory by side: D (device), H (host), M (managed); one letter stands for both")
        ->expected(1, 2)
        ->check(CLI::IsMember({"D", "H", "M"}));
    app.add_option("-m,--message-size", text.range, "Sizes: MAX, MIN: or MIN:MAX, with K, M, G");
    app.add_option("--sizes", text.list, "Exactly these sizes, separated by commas")
        ->delimiter(',')
        ->excludes("-m");
    app.add_option("-i,--iterations", options.iterations,
                   "Iterations for each size (default: as many as fit --milliseconds)")
        ->check(CLI::Range(1, 100000000));
    app.add_option("--milliseconds", options.milliseconds,
                   "About how long the clock runs for each size without -i (default: 150)")
        ->check(CLI::Range(1, 100000));
    app.add_option("-x,--warmup", options.warmup, "Iterations before the clock starts")
        ->check(CLI::Range(0, 100000000));
    app.add_option("-W,--window-size", options.window, "Messages in flight in bw and bibw")
        ->check(CLI::Range(1, 4096));
    app.add_option("-t,--threads", options.threads,
                   "Threads of each rank in latency, bw and bibw, each pair with its own messages "
                   "(MPI_THREAD_MULTIPLE)")
        ->check(CLI::Range(1, 64));
    app.add_option("--algorithms", options.algorithms,
                   "Time a collective by each of these values of coll_beeline_NAME_algorithm, in "
                   "turns in one job")
        ->delimiter(',');
    app.add_flag("--copies", options.copies,
                 "Beside each batch of a collective of device memory, time a copy of the buffer by "
                 "all ranks at once: what the memory allows");
    app.add_flag("!--no-validate", options.validate, "Do not check what arrives");
    app.add_option("--json", options.json, "Write the rows to this file as well");
}

void finish(const Text& text, Options& options) {
    set_defaults(options);
    const gpu::Kind both = text.memory == "cuda"      ? gpu::Kind::kDevice
                           : text.memory == "managed" ? gpu::Kind::kManaged
                                                      : gpu::Kind::kHost;
    options.kinds = {both, both};
    if (!text.sides.empty()) {
        options.kinds = {parse_side(text.sides.front()), parse_side(text.sides.back())};
    }
    if (!text.range.empty()) {
        parse_range(text.range, options);
    }
    for (const std::string& size : text.list) {
        options.sizes.push_back(parse_bytes(size));
    }
    if (!options.sizes.empty()) {
        std::sort(options.sizes.begin(), options.sizes.end());
        options.min_bytes = options.sizes.front();
        options.max_bytes = options.sizes.back();
    }
}

}  // namespace

const char* to_string(Operation operation) noexcept {
    switch (operation) {
        case Operation::kLatency:
            return "latency";
        case Operation::kBw:
            return "bw";
        case Operation::kBibw:
            return "bibw";
        case Operation::kAllreduce:
            return "allreduce";
        case Operation::kBcast:
            return "bcast";
        case Operation::kReduce:
            return "reduce";
        case Operation::kAllgather:
            return "allgather";
        case Operation::kReduceScatter:
            return "reduce_scatter";
        case Operation::kAlltoall:
            return "alltoall";
        case Operation::kGather:
            return "gather";
        case Operation::kScatter:
            return "scatter";
        case Operation::kBarrier:
            return "barrier";
    }
    return "unknown";
}

bool is_collective(Operation operation) noexcept {
    return operation != Operation::kLatency && operation != Operation::kBw &&
           operation != Operation::kBibw;
}

bool wants_threads(int argc, char** argv) noexcept {
    return std::any_of(argv, argv + argc, [](std::string_view word) {
        return word.starts_with("-t") || word.starts_with("--threads");
    });
}

std::string Options::sides() const {
    return {letter(kinds[0]), ' ', letter(kinds[1])};
}

std::optional<Options> parse(int argc, char** argv, bool speaks, int& exit_code) {
    Options options;
    Text text;
    CLI::App app("Latency, bandwidth and collectives of MPI on host, CUDA and managed memory",
                 "beeline-bench");
    app.require_subcommand(1);
    for (const Operation operation : kOperations) {
        CLI::App* sub = app.add_subcommand(to_string(operation), describe(operation));
        add_options(*sub, options, text);
    }
    try {
        app.parse(argc, argv);
        for (const Operation operation : kOperations) {
            if (app.got_subcommand(to_string(operation))) {
                options.operation = operation;
            }
        }
        finish(text, options);
    } catch (const CLI::ParseError& error) {
        exit_code = error.get_exit_code();
        if (speaks && exit_code == 0) {
            app.exit(error);
        } else if (speaks) {
            std::fprintf(stderr, "beeline-bench: %s\n", error.what());
        }
        return std::nullopt;
    }
    return options;
}

}  // namespace beeline::bench
