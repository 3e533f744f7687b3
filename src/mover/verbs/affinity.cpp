// SPDX-License-Identifier: BSD-3-Clause
// Ports by their distance from a GPU.
#include "mover/verbs/affinity.hpp"

#include <algorithm>
#include <tuple>

#include "base/log.hpp"

namespace beeline::mover::verbs {
namespace {

unsigned attribute_of(const cuda::Driver& driver, CUdevice device,
                      CUdevice_attribute attribute) noexcept {
    int value = 0;
    return driver.cuDeviceGetAttribute != nullptr &&
                   driver.cuDeviceGetAttribute(&value, attribute, device) == CUDA_SUCCESS &&
                   value > 0
               ? static_cast<unsigned>(value)
               : 0;
}

/// The place of each port in the order of use, by assignment; empty when it says nothing.
std::vector<unsigned> assigned(const std::vector<topo::Nic>& nics, const GpuPlace& gpu) {
    if (gpu.place.path.empty()) {
        return {};
    }
    std::vector<topo::PciPlace> gpus = gpu.among;
    auto mine = std::find_if(gpus.begin(), gpus.end(), [&](const topo::PciPlace& place) {
        return place.path == gpu.place.path;
    });
    if (mine == gpus.end()) {
        mine = gpus.insert(gpus.end(), gpu.place);
    }
    return topo::assign_rails(gpus, nics)[static_cast<std::size_t>(mine - gpus.begin())].rails;
}

}  // namespace

GpuPlace place_of_gpu(const cuda::Driver& driver, const std::string& sysfs) {
    CUdevice device = 0;
    if (driver.cuCtxGetDevice == nullptr || driver.cuCtxGetDevice(&device) != CUDA_SUCCESS) {
        device = 0;
    }
    GpuPlace gpu;
    const unsigned bus = attribute_of(driver, device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
    gpu.place =
        topo::place_of_pci(attribute_of(driver, device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID), bus,
                           attribute_of(driver, device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID), sysfs);
    gpu.number = bus;
    gpu.among = topo::gpus_of_machine(sysfs);
    return gpu;
}

std::vector<const Port*> rails_near(const Devices& devices, const GpuPlace& gpu, std::size_t most,
                                    topo::Distance farthest) {
    const auto& ports = devices.ports();
    std::vector<topo::Nic> nics;
    nics.reserve(ports.size());
    for (const auto& port : ports) {
        nics.push_back({port->place, port->speed, port->up});
    }
    const std::vector<unsigned> first = assigned(nics, gpu);
    // down, place in the assignment, distance, turn
    std::vector<std::tuple<bool, std::size_t, topo::Distance, std::size_t, const Port*>> order;
    for (unsigned index = 0; index < ports.size(); ++index) {
        const topo::Distance distance = topo::distance_between(gpu.place, ports[index]->place);
        if (distance > farthest && distance != topo::Distance::kUnknown) {
            log(LogLevel::kInfo, "%s is not used: too far from the GPU (%s)",
                ports[index]->name.c_str(), to_string(distance));
            continue;
        }
        const auto place = std::find(first.begin(), first.end(), index) - first.begin();
        // Where nothing is known of places, GPUs take turns.
        const std::size_t turn =
            gpu.place.path.empty()
                ? (index + ports.size() - gpu.number % ports.size()) % ports.size()
                : index;
        order.emplace_back(!ports[index]->up, static_cast<std::size_t>(place), distance, turn,
                           ports[index].get());
    }
    std::sort(order.begin(), order.end());
    std::vector<const Port*> rails;
    for (std::size_t i = 0; i < std::min(most, order.size()); ++i) {
        rails.push_back(std::get<4>(order[i]));
    }
    return rails;
}

}  // namespace beeline::mover::verbs
