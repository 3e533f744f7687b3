// SPDX-License-Identifier: BSD-3-Clause
// How far GPUs and network cards are from each other on the PCIe bus, and which card serves which
// GPU.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace beeline::topo {

/// Where a device sits. Both from sysfs.
struct PciPlace {
    std::string path;  ///< "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0"; empty: unknown
    int numa = -1;     ///< NUMA node; -1: unknown, or the only one
};

/// What lies between two devices, nearest first.
enum class Distance : std::uint8_t {
    kSwitch,      ///< one PCIe switch, or the same board
    kSwitches,    ///< several switches, below one port of the processor
    kHostBridge,  ///< the processor's root complex
    kNode,        ///< two root complexes of one NUMA node
    kSystem,      ///< the link between processors
    kUnknown,     ///< one of them has no known place
};
const char* to_string(Distance distance) noexcept;

Distance distance_between(const PciPlace& one, const PciPlace& other) noexcept;

/// A port of a network card.
struct Nic {
    PciPlace place;
    unsigned speed = 0;  ///< Mbit/s
    bool up = true;
};

/// The rails of one GPU, indices into the cards: the first is its own, the others follow for
/// striping.
struct GpuRails {
    std::vector<unsigned> rails;
    Distance distance = Distance::kUnknown;  ///< to the first
};

/// Assigns cards to GPUs: each GPU gets one of the nearest, so that no card serves many more GPUs
/// than its speed's share while a card as near serves fewer; then the other cards at the same
/// distance or within kSwitches. Ports that are down are not used. Empty rails where no card is up.
/// Deterministic: all processes of a machine that see the same devices find the same.
std::vector<GpuRails> assign_rails(std::span<const PciPlace> gpus, std::span<const Nic> nics);

/// The place of a PCI function by its address; an empty path where the kernel knows none.
PciPlace place_of_pci(unsigned domain, unsigned bus, unsigned device,
                      const std::string& sysfs = "/sys");
/// The place of a device by its folder in a class, as "/sys/class/infiniband/mlx5_0/device".
PciPlace place_of_folder(const std::string& folder);
/// All NVIDIA GPUs of the machine in order of their addresses, visible to this process or not.
std::vector<PciPlace> gpus_of_machine(const std::string& sysfs = "/sys");

}  // namespace beeline::topo
