// SPDX-License-Identifier: BSD-3-Clause
// beeline-info: is this Open MPI CUDA-aware, with which GPUs and parameters; and which way a
// message takes and why.
#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "host.hpp"
#include "protocol/explain.hpp"
#include "settings.hpp"

namespace beeline::info {
namespace {

using nlohmann::json;

/// Exit codes: something is missing; the call makes no sense.
constexpr int kMissing = 1;
constexpr int kBadCall = 2;

struct Options {
    Given given;
    bool as_json = false;
    // explain
    std::string bytes = "1M";
    std::string from = "device";
    std::string to = "device";
    bool same_node = false;
    bool other_node = false;
    bool same_process = false;
    bool no_shared_memory = false;
    bool sender_cannot_map = false;
    bool receiver_cannot_map = false;
    bool gaps = false;
};

/// "8192", "8K", "4M", "1G".
bool parse_bytes(const std::string& text, std::size_t& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
    const std::size_t place = suffix.empty() ? 0 : std::string("KMG").find(suffix) + 1;
    if (error != std::errc{} || (!suffix.empty() && (suffix.size() != 1 || place == 0)) ||
        value > (std::size_t{1} << 50 >> (10 * place))) {
        return false;
    }
    value <<= 10 * place;
    return true;
}

void print_problems(const std::vector<std::string>& problems) {
    for (const std::string& each : problems) {
        std::fprintf(stderr, "beeline-info: %s\n", each.c_str());
    }
}

json params_as_json(const config::Params& params, const Settings& settings) {
    json list = json::array();
    for (const config::Row& row : config::rows()) {
        char value[64];
        const auto set = settings.find(name_of(row));
        list.push_back({{"name", name_of(row)},
                        {"value", config::print(params, row, value)},
                        {"unit", row.unit},
                        {"default", row.initial},
                        {"source", set != settings.end() ? set->second.source : "default"},
                        {"text", row.text}});
    }
    return list;
}

void print_params(const json& list) {
    for (const json& row : list) {
        const std::string value =
            row["value"].get<std::string>() + " " + row["unit"].get<std::string>();
        std::printf("  %-40s %-18s %s\n", row["name"].get<std::string>().c_str(), value.c_str(),
                    row["source"].get<std::string>().c_str());
    }
}

struct Situation {
    Mpi mpi;
    Settings settings;
    config::Params params;
    std::vector<std::string> problems;
};

Situation look(const Options& options) {
    Situation here;
    here.mpi = find_mpi();
    here.settings = read_settings(
        options.given, here.mpi.config_folder + "/openmpi-mca-params.conf", here.problems);
    here.params = to_params(here.settings, here.problems);
    return here;
}

int overview(const Options& options) {
    Situation here = look(options);
    const Verdict verdict = judge(here.mpi, here.settings);
    std::string no_device;
    const std::vector<Device> devices = find_devices(no_device);
    const bool aware = verdict.why_not.empty() && !devices.empty();
    const json params = params_as_json(here.params, here.settings);
    if (options.as_json) {
        json gpus = json::array();
        for (const Device& each : devices) {
            gpus.push_back({{"name", each.name},
                            {"uuid", each.uuid},
                            {"pci", each.pci},
                            {"bytes", each.bytes}});
        }
        const json all = {{"cuda_aware", aware && here.problems.empty()},
                          {"mpi", here.mpi.version},
                          {"component", verdict.component},
                          {"why_not", !verdict.why_not.empty() ? verdict.why_not : no_device},
                          {"remedy", verdict.remedy},
                          {"gpus", gpus},
                          {"params", params},
                          {"problems", here.problems}};
        std::printf("%s\n", all.dump(2).c_str());
        return aware && here.problems.empty() ? 0 : kMissing;
    }
    if (aware) {
        std::printf("CUDA-aware: yes\n");
    } else {
        std::printf("CUDA-aware: no: %s\n",
                    !verdict.why_not.empty() ? verdict.why_not.c_str() : no_device.c_str());
        if (!verdict.remedy.empty()) {
            std::printf("  remedy: %s\n", verdict.remedy.c_str());
        }
    }
    std::printf("MPI: %s\n", here.mpi.version.empty() ? "none" : here.mpi.version.c_str());
    if (verdict.loaded) {
        std::printf("Component: %s\n", verdict.component.c_str());
    }
    std::printf("GPUs: %zu%s%s\n", devices.size(), devices.empty() ? ", " : "",
                devices.empty() ? no_device.c_str() : "");
    for (std::size_t i = 0; i < devices.size(); ++i) {
        std::printf("  %zu: %s, %llu MiB, PCI %s, UUID %s\n", i, devices[i].name.c_str(),
                    devices[i].bytes >> 20, devices[i].pci.c_str(), devices[i].uuid.c_str());
    }
    std::printf("Parameters:\n");
    print_params(params);
    std::fflush(stdout);
    print_problems(here.problems);
    return aware && here.problems.empty() ? 0 : kMissing;
}

int list_params(const Options& options) {
    Situation here = look(options);
    const json params = params_as_json(here.params, here.settings);
    if (options.as_json) {
        std::printf("%s\n", params.dump(2).c_str());
    } else {
        for (const json& row : params) {
            const std::string unit = row["unit"].get<std::string>();
            std::printf(
                "%s = %s%s%s  (%s; default %s)\n    %s\n", row["name"].get<std::string>().c_str(),
                row["value"].get<std::string>().c_str(), unit.empty() ? "" : " ", unit.c_str(),
                row["source"].get<std::string>().c_str(), row["default"].get<std::string>().c_str(),
                row["text"].get<std::string>().c_str());
        }
    }
    std::fflush(stdout);
    print_problems(here.problems);
    return here.problems.empty() ? 0 : kMissing;
}

void set_side(protocol::Side& side, const std::string& kind, bool cannot_map, bool gaps) {
    side.on_device = kind != "host" && kind != "pinned";
    side.pinned = kind == "pinned";
    side.exports = kind == "device" ? protocol::Reason::kDirect : protocol::Reason::kNotExportable;
    side.contiguous = !gaps;
    side.maps = cannot_map ? protocol::Reason::kOpenFailed : protocol::Reason::kDirect;
}

/// Whether the kernel knows a network card with RDMA.
bool has_rdma_device() {
    std::error_code error;
    const std::filesystem::directory_iterator found("/sys/class/infiniband", error);
    return !error && found != std::filesystem::directory_iterator{};
}

int explain(const Options& options) {
    protocol::Situation message;
    if (!parse_bytes(options.bytes, message.bytes)) {
        std::fprintf(stderr, "beeline-info: --bytes %s: expected a size such as 8192, 8K or 4M\n",
                     options.bytes.c_str());
        return kBadCall;
    }
    Situation here = look(options);
    if (!here.problems.empty()) {
        print_problems(here.problems);
        return kMissing;
    }
    message.same_process = options.same_process;
    message.same_node = !options.other_node;
    message.shared_memory = message.same_node && !options.no_shared_memory &&
                            !options.same_process && here.params.pml_shm;
    message.ipc_enabled = here.params.pml_cuda_ipc;
    set_side(message.sender, options.from, options.sender_cannot_map, options.gaps);
    set_side(message.receiver, options.to, options.receiver_cannot_map, false);
    if (options.from == "vmm" && here.params.pml_cuda_descriptors) {
        message.sender.exports = protocol::Reason::kDirect;
    }
    if (message.sender.on_device && here.params.pml_cuda_bounce) {
        message.bounce = message.receiver.maps;
    }
    if (options.sender_cannot_map) {
        message.sender.maps = protocol::Reason::kSenderCannotOpen;
    }
    message.rdma = !here.params.pml_rdma ? protocol::Reason::kRdmaOff
                   : has_rdma_device()   ? protocol::Reason::kDirect
                                         : protocol::Reason::kNoRdmaDevice;
    for (protocol::Side* side : {&message.sender, &message.receiver}) {
        const protocol::Reason host = side == &message.sender ? protocol::Reason::kSenderHost
                                                              : protocol::Reason::kReceiverHost;
        if (!side->on_device && message.bytes < here.params.pml_rdma_host_limit) {
            side->registers = host;
        }
    }
    const protocol::Costs costs = protocol::costs_of(here.params);
    const protocol::Limits limits = protocol::limits_of(here.params);
    const protocol::Preference preference = protocol::preference_of(here.params);
    const protocol::Protocol& chosen = protocol::choose(message, limits, costs, preference);
    if (options.as_json) {
        json list = json::array();
        for (const auto& each : protocol::candidates(message, limits, costs)) {
            json entry = {{"protocol", each.protocol->name},
                          {"needs", each.protocol->needs},
                          {"possible", each.obstacle == protocol::Reason::kNone},
                          {"chosen", each.protocol == &chosen}};
            if (each.obstacle == protocol::Reason::kNone) {
                entry["microseconds"] = each.microseconds;
            } else {
                entry["why_not"] = protocol::to_string(each.obstacle);
            }
            list.push_back(entry);
        }
        std::printf("%s\n", json{{"bytes", message.bytes}, {"candidates", list}}.dump(2).c_str());
        return 0;
    }
    std::printf("%zu bytes, %s to %s, %s\n", message.bytes, options.from.c_str(),
                options.to.c_str(),
                options.same_process ? "same process"
                : options.other_node ? "another node"
                                     : "same node");
    std::printf("%s", protocol::explain(message, limits, costs, preference).c_str());
    std::printf("%s needs: %s.\n", chosen.name, chosen.needs);
    std::printf(
        "Limits in force: eager %zu, fragments %zu, rendezvous_shm %zu, ucx_eager %zu, "
        "device_eager %zu, device_ucx_eager %zu bytes.\n",
        limits.eager, limits.fragments, limits.rendezvous_shm, limits.ucx_eager,
        limits.device_eager, limits.device_ucx);
    return 0;
}

int run(int argc, char** argv) {
    Options options;
    CLI::App app(
        "Is Open MPI CUDA-aware here, and if not why; the GPUs; Beeline's parameters with their "
        "sources. Exit code 0: device buffers work; 1: something is missing, as printed.",
        "beeline-info");
    const auto common = [&](CLI::App* where) {
        where->add_option("--tune", options.given.tune, "As mpirun would be given it")
            ->type_name("FILE");
        where->add_option("--mca", options.given.params, "As mpirun would be given it")
            ->type_name("NAME VALUE");
        where->add_flag("--json", options.as_json, "Print JSON");
    };
    common(&app);
    app.require_subcommand(0, 1);
    CLI::App* params = app.add_subcommand("params", "All parameters, what they are and where set");
    common(params);
    CLI::App* way = app.add_subcommand(
        "explain",
        "Which way a message takes: all candidates, their estimates, what is in the way");
    common(way);
    const auto kinds = CLI::IsMember({"host", "pinned", "device", "managed", "vmm", "pool"});
    way->add_option("-b,--bytes", options.bytes, "Size, as in 8192, 8K, 4M")->capture_default_str();
    way->add_option(
           "--from", options.from,
           "Memory of the sender; vmm: mapped by descriptors; pool: device memory that cannot "
           "be exported")
        ->check(kinds)
        ->capture_default_str();
    way->add_option("--to", options.to, "Memory of the receiver")
        ->check(kinds)
        ->capture_default_str();
    CLI::Option* node =
        way->add_flag("--same-node", options.same_node, "Both on one node (the default)");
    way->add_flag("--other-node", options.other_node, "On two nodes")->excludes(node);
    way->add_flag("--same-process", options.same_process, "A message of a process to itself")
        ->excludes("--other-node");
    way->add_flag("--no-shared-memory", options.no_shared_memory,
                  "One node, but no shared memory, as between containers");
    way->add_flag("--sender-cannot-map", options.sender_cannot_map,
                  "The sender cannot open the receiver's memory");
    way->add_flag("--receiver-cannot-map", options.receiver_cannot_map,
                  "The receiver cannot open the sender's memory, as when its GPU is hidden");
    way->add_flag("--gaps", options.gaps, "The send buffer is not one run of bytes");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        const int code = app.exit(error);
        return code == 0 ? 0 : kBadCall;
    }
    return *way ? explain(options) : *params ? list_params(options) : overview(options);
}

}  // namespace
}  // namespace beeline::info

int main(int argc, char** argv) {
    try {
        return beeline::info::run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "beeline-info: %s\n", error.what());
        return 2;
    }
}
