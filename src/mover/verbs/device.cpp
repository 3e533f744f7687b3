// SPDX-License-Identifier: BSD-3-Clause
// Opening devices and describing their ports.
#include "mover/verbs/device.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/log.hpp"
#include "mover/verbs/api.hpp"

namespace beeline::mover::verbs {
namespace {

/// The list that ibv_get_device_list() gives, for its life.
class DeviceList {
 public:
    explicit DeviceList(const Api& api) noexcept
        : api_(api), list_(api.get_device_list(&count_)), error_(errno) {}
    ~DeviceList() {
        if (list_ != nullptr) {
            api_.free_device_list(list_);
        }
    }
    DeviceList(const DeviceList&) = delete;
    DeviceList& operator=(const DeviceList&) = delete;
    int size() const noexcept { return list_ != nullptr ? count_ : 0; }
    int error() const noexcept { return error_; }
    ibv_device* operator[](int index) const noexcept { return list_[index]; }

 private:
    const Api& api_;
    int count_ = 0;
    ibv_device** list_;
    int error_;
};

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

/// Signalling rate of one lane, Mbit/s, by ibv_port_attr::active_speed.
unsigned lane_speed(unsigned code) noexcept {
    switch (code) {
        case 1:
            return 2500;  // SDR
        case 2:
            return 5000;  // DDR
        case 4:
        case 8:
            return 10000;  // QDR, FDR-10
        case 16:
            return 14000;  // FDR
        case 32:
            return 25000;  // EDR
        case 64:
            return 50000;  // HDR
        case 128:
            return 100000;  // NDR
        default:
            return 0;
    }
}

unsigned lanes(unsigned code) noexcept {
    switch (code) {
        case 2:
            return 4;
        case 4:
            return 8;
        case 8:
            return 12;
        case 16:
            return 2;
        default:
            return 1;
    }
}

/// From the codes, or, for speeds that have none there, from the kernel's "400 Gb/sec (4X NDR)".
unsigned speed_of(const ibv_port_attr& attributes, const std::string& port_folder) {
    const unsigned speed = lane_speed(attributes.active_speed) * lanes(attributes.active_width);
    if (speed != 0) {
        return speed;
    }
    const double gigabits = std::strtod(first_line(port_folder + "/rate").c_str(), nullptr);
    return gigabits > 0 && gigabits < 1e6 ? static_cast<unsigned>(gigabits * 1000) : 0;
}

LinkLayer layer_of(GidType type) noexcept {
    switch (type) {
        case GidType::kRoceV1:
            return LinkLayer::kRoceV1;
        case GidType::kRoceV2:
            return LinkLayer::kRoceV2;
        case GidType::kInfiniBand:
            break;
    }
    return LinkLayer::kInfiniBand;
}

GidType type_of(std::uint32_t type) noexcept {
    switch (type) {
        case IBV_GID_TYPE_ROCE_V1:
            return GidType::kRoceV1;
        case IBV_GID_TYPE_ROCE_V2:
            return GidType::kRoceV2;
        default:
            return GidType::kInfiniBand;
    }
}

DeviceLimits limits_of(const ibv_device_attr& attributes) noexcept {
    DeviceLimits limits;
    limits.max_mr_size = attributes.max_mr_size;
    limits.max_mr = attributes.max_mr;
    limits.max_qp = attributes.max_qp;
    limits.max_qp_wr = attributes.max_qp_wr;
    limits.max_sge = attributes.max_sge;
    limits.max_cqe = attributes.max_cqe;
    limits.max_srq_wr = attributes.max_srq_wr;
    limits.max_srq_sge = attributes.max_srq_sge;
    limits.max_qp_rd_atom = attributes.max_qp_rd_atom;
    limits.max_qp_init_rd_atom = attributes.max_qp_init_rd_atom;
    return limits;
}

/// A software device has no place of its own: that of the network card below it.
topo::PciPlace place_of_device(const std::string& sysfs, const std::string& folder) {
    topo::PciPlace place = topo::place_of_folder(folder + "/device");
    if (place.path.empty()) {
        const std::string parent = first_line(folder + "/parent");
        if (!parent.empty()) {
            place = topo::place_of_folder(sysfs + "/class/net/" + parent + "/device");
        }
    }
    return place;
}

std::string port_folder(const std::string& device_folder, unsigned number) {
    return device_folder + "/ports/" + std::to_string(number);
}

}  // namespace

const char* to_string(LinkLayer layer) noexcept {
    switch (layer) {
        case LinkLayer::kInfiniBand:
            return "InfiniBand";
        case LinkLayer::kRoceV1:
            return "RoCE v1";
        case LinkLayer::kRoceV2:
            return "RoCE v2";
    }
    return "unknown";
}

bool is_wished(std::string_view list, std::string_view name, unsigned number) noexcept {
    if (list.empty()) {
        return true;
    }
    const bool all_but = list.front() == '^';
    list.remove_prefix(all_but ? 1 : 0);
    bool listed = false;
    while (!list.empty()) {
        const std::string_view item = list.substr(0, list.find(','));
        list.remove_prefix(std::min(list.size(), item.size() + 1));
        const std::size_t colon = item.find(':');
        unsigned wanted = number;
        if (colon != std::string_view::npos) {
            wanted = 0;
            std::from_chars(item.data() + colon + 1, item.data() + item.size(), wanted);
        }
        listed = listed || (item.substr(0, colon) == name && wanted == number);
    }
    return listed != all_but;
}

Status Devices::open(const Api& api, const DeviceWish& wish, const std::string& sysfs) {
    api_ = &api;
    wish_ = wish;
    sysfs_ = sysfs;
    const DeviceList list(api);
    for (int i = 0; i < list.size(); ++i) {
        // What is left (iWARP, and cards with transports of their own) has no queue pairs of the
        // kind that we make.
        if (list[i]->node_type == IBV_NODE_CA && list[i]->transport_type == IBV_TRANSPORT_IB) {
            open_device(list[i]);
        }
    }
    if (ports_.empty()) {
        log(LogLevel::kInfo, "no GPUDirect RDMA between nodes: %d devices, no usable port%s%s",
            list.size(), list.error() != 0 && list.size() == 0 ? ": " : "",
            list.error() != 0 && list.size() == 0 ? std::strerror(list.error()) : "");
        return Status::kNotFound;
    }
    return Status::kOk;
}

Status Devices::open_device(ibv_device* found) {
    Device device;
    device.name = api_->get_device_name(found);
    device.folder = sysfs_ + "/class/infiniband/" + device.name;
    // A device none of whose ports is wished is not opened: it may belong to something else.
    bool wished = false;
    for (unsigned number = 1; number <= 4; ++number) {
        wished = wished || is_wished(wish_.devices, device.name, number);
    }
    if (!wished) {
        return Status::kNotFound;
    }
    device.context = api_->open_device(found);
    ibv_device_attr attributes{};
    const char* step = "ibv_open_device";
    if (device.context != nullptr) {
        step = "ibv_alloc_pd";
        device.pd = api_->alloc_pd(device.context);
    }
    if (device.pd != nullptr) {
        step = "ibv_query_device";
        const int error = api_->query_device(device.context, &attributes);
        errno = error > 0 ? error : errno;
        step = error == 0 ? nullptr : step;
    }
    if (step != nullptr) {
        log_once(LogLevel::kWarning, "verbs.open", "%s of %s failed: %s; the device is not used",
                 step, device.name.c_str(), std::strerror(errno));
        close_device(device);
        return Status::kIo;
    }
    const int flags = fcntl(device.context->async_fd, F_GETFL);
    if (flags == -1 || fcntl(device.context->async_fd, F_SETFL, flags | O_NONBLOCK) == -1) {
        device.dead = true;  // reading events could block: there are none then
    }
    device.limits = limits_of(attributes);
    device.place = place_of_device(sysfs_, device.folder);
    devices_.push_back(std::move(device));
    const std::size_t before = ports_.size();
    add_ports(static_cast<unsigned>(devices_.size() - 1), attributes.phys_port_cnt);
    if (ports_.size() == before) {
        close_device(devices_.back());
        devices_.pop_back();
        return Status::kNotFound;
    }
    return Status::kOk;
}

void Devices::add_ports(unsigned device, unsigned count) {
    const Device& of = devices_[device];
    for (unsigned number = 1; number <= count && ports_.size() < kMaxRails; ++number) {
        if (!is_wished(wish_.devices, of.name, number)) {
            continue;
        }
        auto port = std::make_unique<Port>();
        port->api = api_;
        port->context = of.context;
        port->pd = of.pd;
        port->rail = static_cast<unsigned>(ports_.size());
        port->device = device;
        port->number = static_cast<std::uint8_t>(number);
        port->limits = of.limits;
        port->place = of.place;
        port->name = of.name + ":" + std::to_string(number);
        const Status status = describe(*port);
        if (status != Status::kOk) {
            log(LogLevel::kInfo, "%s has no usable address: not used", port->name.c_str());
            continue;
        }
        log(LogLevel::kInfo, "rail %u: %s, %s, address %d (%s), MTU %u, %u Mbit/s, %s", port->rail,
            port->name.c_str(), to_string(port->layer), port->gid_index, to_text(port->gid).data(),
            port->mtu, port->speed, port->up ? "up" : "down");
        ports_.push_back(std::move(port));
    }
}

std::vector<GidRow> Devices::rows_of(const Port& port, int rows) const {
    if (api_->query_gid_ex == nullptr) {
        return read_gid_rows(port_folder(devices_[port.device].folder, port.number));
    }
    std::vector<GidRow> found;
    for (int index = 0; index < rows; ++index) {
        ibv_gid_entry entry{};
        if (api_->query_gid_ex(port.context, port.number, static_cast<std::uint32_t>(index), &entry,
                               0) != 0) {
            continue;  // the row is not in use
        }
        GidRow row;
        row.index = index;
        std::memcpy(row.gid.data(), entry.gid.raw, row.gid.size());
        row.type = type_of(entry.gid_type);
        found.push_back(row);
    }
    return found;
}

Status Devices::describe(Port& port) noexcept {
    ibv_port_attr attributes{};
    if (api_->query_port(port.context, port.number, &attributes) != 0) {
        return Status::kIo;
    }
    port.up = attributes.state == IBV_PORT_ACTIVE;
    port.lid = attributes.lid;
    port.mtu_code = static_cast<std::uint8_t>(attributes.active_mtu);
    port.mtu = 128U << attributes.active_mtu;
    port.speed = speed_of(attributes, port_folder(devices_[port.device].folder, port.number));
    const std::vector<GidRow> rows = rows_of(port, attributes.gid_tbl_len);
    const Result<GidRow> row = choose_gid(rows, wish_.gid);
    if (!row) {
        if (!rows.empty()) {
            log_once(
                LogLevel::kWarning, "verbs.gid",
                "none of the %zu addresses of %s is as pml_beeline_rdma_gid_index, _rdma_subnet "
                "and _rdma_address ask; the port is not used",
                rows.size(), port.name.c_str());
        }
        return row.status();
    }
    port.gid_index = row.value().index;
    port.gid = row.value().gid;
    port.layer = attributes.link_layer == IBV_LINK_LAYER_ETHERNET ? layer_of(row.value().type)
                                                                  : LinkLayer::kInfiniBand;
    return Status::kOk;
}

Status Devices::refresh(Port& port) noexcept {
    const Status status = describe(port);
    port.up = port.up && status == Status::kOk;
    return status;
}

void Devices::close_device(Device& device) noexcept {
    if (device.pd != nullptr && api_->dealloc_pd(device.pd) != 0) {
        log(LogLevel::kInfo, "%s: ibv_dealloc_pd failed: something is registered yet",
            device.name.c_str());
    }
    if (device.context != nullptr) {
        api_->close_device(device.context);
    }
    device.pd = nullptr;
    device.context = nullptr;
}

void Devices::close() noexcept {
    ports_.clear();
    for (Device& device : devices_) {
        close_device(device);
    }
    devices_.clear();
}

}  // namespace beeline::mover::verbs
