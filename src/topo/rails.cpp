// SPDX-License-Identifier: BSD-3-Clause
// Distances from PCIe paths, and the assignment of cards to GPUs.
#include "topo/rails.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <tuple>
#include <utility>

namespace beeline::topo {
namespace {

constexpr std::string_view kRoot = "pci";  // "pci0000:00": a root complex's bus

/// The path's parts from the root bus on: root bus, port of the processor, bridges, device.
std::vector<std::string_view> hops_of(std::string_view path) {
    std::vector<std::string_view> hops;
    while (!path.empty()) {
        const std::size_t slash = path.find('/');
        const std::string_view part = path.substr(0, slash);
        if (!hops.empty() || (part.starts_with(kRoot) && part.find(':') != part.npos)) {
            hops.push_back(part);
        }
        path.remove_prefix(slash == path.npos ? path.size() : slash + 1);
    }
    return hops;
}

/// "0000:01:00.1" as "0000:01:00": functions of one device are one board.
std::string_view without_function(std::string_view address) noexcept {
    return address.substr(0, address.rfind('.'));
}

bool is_same_hop(const std::vector<std::string_view>& one,
                 const std::vector<std::string_view>& other, std::size_t at) noexcept {
    const bool last = at + 1 == one.size() && at + 1 == other.size();
    return last ? without_function(one[at]) == without_function(other[at]) : one[at] == other[at];
}

std::string read_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

/// What one more GPU would put on a card, in GPUs for each Gbit/s.
double load_of(unsigned gpus, const Nic& nic) noexcept {
    return (gpus + 1.0) / (nic.speed != 0 ? nic.speed : 1.0);
}

/// The search for an assignment that puts each GPU on one of its nearest cards, the load spread
/// evenly: GPUs are placed one after the other, and one placed earlier moves to another of its
/// nearest cards where that evens out the load.
class Balance {
 public:
    Balance(std::span<const PciPlace> gpus, std::span<const Nic> nics) : nics_(nics) {
        load_.assign(nics.size(), 0);
        chosen_.assign(gpus.size(), nics.size());
        nearest_.resize(gpus.size());
        for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
            Distance best = Distance::kUnknown;
            for (const Nic& nic : nics) {
                best = nic.up ? std::min(best, distance_between(gpus[gpu], nic.place)) : best;
            }
            for (unsigned nic = 0; nic < nics.size(); ++nic) {
                if (nics[nic].up && distance_between(gpus[gpu], nics[nic].place) == best) {
                    nearest_[gpu].push_back(nic);
                }
            }
        }
    }

    /// The card of each GPU; nics.size() where there is none.
    const std::vector<std::size_t>& run() {
        for (std::size_t gpu = 0; gpu < chosen_.size(); ++gpu) {
            if (!nearest_[gpu].empty()) {
                const unsigned nic = *std::min_element(
                    nearest_[gpu].begin(), nearest_[gpu].end(),
                    [&](unsigned one, unsigned other) { return load(one) < load(other); });
                chosen_[gpu] = nic;
                ++load_[nic];
            }
        }
        while (improve()) {
        }
        return chosen_;
    }

 private:
    double load(unsigned nic) const noexcept { return load_of(load_[nic], nics_[nic]); }

    /// Moves one GPU, along a chain of moves, from a card to one where it weighs less; false when
    /// there is no such chain. Each success makes the highest loads lower, so the search ends.
    bool improve() {
        for (unsigned from = 0; from < nics_.size(); ++from) {
            if (load_[from] == 0) {
                continue;
            }
            const double now = load_of(load_[from] - 1, nics_[from]);
            std::vector<bool> seen(nics_.size(), false);
            seen[from] = true;
            if (relieve(from, now, seen)) {
                --load_[from];
                return true;
            }
        }
        return false;
    }

    /// Takes a GPU off `from` and puts it on another card: one that stays below `limit`, or one
    /// that is relieved in turn.
    bool relieve(unsigned from, double limit, std::vector<bool>& seen) {
        for (std::size_t gpu = 0; gpu < chosen_.size(); ++gpu) {
            if (chosen_[gpu] != from) {
                continue;
            }
            for (const unsigned to : nearest_[gpu]) {
                if (seen[to]) {
                    continue;
                }
                if (load(to) < limit) {
                    chosen_[gpu] = to;
                    ++load_[to];
                    return true;
                }
                seen[to] = true;
                if (relieve(to, limit, seen)) {
                    chosen_[gpu] = to;  // what left `to` made room for it
                    return true;
                }
            }
        }
        return false;
    }

    std::span<const Nic> nics_;
    std::vector<unsigned> load_;
    std::vector<std::size_t> chosen_;
    std::vector<std::vector<unsigned>> nearest_;
};

}  // namespace

const char* to_string(Distance distance) noexcept {
    switch (distance) {
        case Distance::kSwitch:
            return "one switch";
        case Distance::kSwitches:
            return "several switches";
        case Distance::kHostBridge:
            return "host bridge";
        case Distance::kNode:
            return "NUMA node";
        case Distance::kSystem:
            return "other socket";
        case Distance::kUnknown:
            return "unknown";
    }
    return "unknown";
}

Distance distance_between(const PciPlace& one, const PciPlace& other) noexcept {
    const std::vector<std::string_view> a = hops_of(one.path);
    const std::vector<std::string_view> b = hops_of(other.path);
    if (a.empty() || b.empty()) {
        // A virtual machine often tells the node, but nothing of the buses.
        if (one.numa < 0 || other.numa < 0) {
            return Distance::kUnknown;
        }
        return one.numa == other.numa ? Distance::kNode : Distance::kSystem;
    }
    std::size_t common = 0;
    while (common < a.size() && common < b.size() && is_same_hop(a, b, common)) {
        ++common;
    }
    if (common == 0) {
        const bool apart = one.numa >= 0 && other.numa >= 0 && one.numa != other.numa;
        return apart ? Distance::kSystem : Distance::kNode;
    }
    if (common == 1) {
        return Distance::kHostBridge;
    }
    // Below a common bridge: a switch is an upstream bridge with a downstream bridge for each
    // device, so two devices of one switch have at most those and themselves apart.
    const std::size_t apart = std::max(a.size(), b.size()) - common;
    return apart <= 2 ? Distance::kSwitch : Distance::kSwitches;
}

std::vector<GpuRails> assign_rails(std::span<const PciPlace> gpus, std::span<const Nic> nics) {
    std::vector<GpuRails> result(gpus.size());
    const std::vector<std::size_t> first = Balance(gpus, nics).run();
    for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
        if (first[gpu] == nics.size()) {
            continue;
        }
        GpuRails& mine = result[gpu];
        mine.distance = distance_between(gpus[gpu], nics[first[gpu]].place);
        mine.rails.push_back(static_cast<unsigned>(first[gpu]));
        // The others, nearest and fastest first.
        std::vector<std::tuple<Distance, unsigned, unsigned>> others;
        for (unsigned nic = 0; nic < nics.size(); ++nic) {
            const Distance distance = distance_between(gpus[gpu], nics[nic].place);
            if (nic != first[gpu] && nics[nic].up &&
                distance <= std::max(mine.distance, Distance::kSwitches)) {
                others.emplace_back(distance, UINT32_MAX - nics[nic].speed, nic);
            }
        }
        std::sort(others.begin(), others.end());
        for (const auto& [distance, slowness, nic] : others) {
            mine.rails.push_back(nic);
        }
    }
    return result;
}

PciPlace place_of_folder(const std::string& folder) {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(folder, error);
    PciPlace place;
    if (error || hops_of(real.string()).empty()) {
        return place;
    }
    place.path = real.string();
    const std::string numa = read_line(place.path + "/numa_node");
    place.numa = numa.empty() ? -1 : std::atoi(numa.c_str());
    return place;
}

PciPlace place_of_pci(unsigned domain, unsigned bus, unsigned device, const std::string& sysfs) {
    char address[32];
    std::snprintf(address, sizeof address, "%04x:%02x:%02x.0", domain, bus, device);
    return place_of_folder(sysfs + "/bus/pci/devices/" + address);
}

std::vector<PciPlace> gpus_of_machine(const std::string& sysfs) {
    std::vector<std::pair<std::string, PciPlace>> found;
    std::error_code error;
    for (const auto& device :
         std::filesystem::directory_iterator(sysfs + "/bus/pci/devices", error)) {
        const std::string folder = device.path().string();
        const std::string kind = read_line(folder + "/class");
        const bool is_display = kind.starts_with("0x0300") || kind.starts_with("0x0302");
        if (is_display && read_line(folder + "/vendor") == "0x10de") {
            found.emplace_back(device.path().filename().string(), place_of_folder(folder));
        }
    }
    std::sort(found.begin(), found.end(),
              [](const auto& one, const auto& other) { return one.first < other.first; });
    std::vector<PciPlace> places;
    places.reserve(found.size());
    for (auto& [address, place] : found) {
        places.push_back(std::move(place));
    }
    return places;
}

}  // namespace beeline::topo
