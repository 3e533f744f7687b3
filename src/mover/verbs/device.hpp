// SPDX-License-Identifier: BSD-3-Clause
// RDMA devices and their ports, as found on this machine and opened for this process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "mover/verbs/gid.hpp"
#include "topo/rails.hpp"

struct ibv_async_event;
struct ibv_context;
struct ibv_device;
struct ibv_pd;

namespace beeline::mover::verbs {

struct Api;

/// Rails of one process.
inline constexpr unsigned kMaxRails = 16;

enum class LinkLayer : std::uint8_t { kInfiniBand, kRoceV1, kRoceV2 };
const char* to_string(LinkLayer layer) noexcept;

/// What a device allows, from ibv_query_device.
struct DeviceLimits {
    std::uint64_t max_mr_size = 0;  ///< bytes
    int max_mr = 0;
    int max_qp = 0;
    int max_qp_wr = 0;
    int max_sge = 0;
    int max_cqe = 0;
    int max_srq_wr = 0;
    int max_srq_sge = 0;
    int max_qp_rd_atom = 0;       ///< reads a queue pair answers at a time
    int max_qp_init_rd_atom = 0;  ///< reads a queue pair asks for at a time
};

/// A usable port: one rail. Lives as long as the Devices it belongs to; ports of one device share
/// context and protection domain.
struct Port {
    const Api* api = nullptr;
    ibv_context* context = nullptr;
    ibv_pd* pd = nullptr;
    unsigned rail = 0;    ///< its place in Devices::ports(), a bit of rail sets
    unsigned device = 0;  ///< equal for the ports that share a protection domain
    std::uint8_t number = 1;
    bool up = false;  ///< as of the last event or query
    LinkLayer layer = LinkLayer::kInfiniBand;
    int gid_index = 0;
    Gid gid{};                  ///< in network order
    std::uint16_t lid = 0;      ///< InfiniBand only
    unsigned mtu = 0;           ///< active, bytes
    unsigned speed = 0;         ///< active speed times width, Mbit/s, before encoding overhead
    std::uint8_t mtu_code = 0;  ///< the same MTU as ibv_mtu
    DeviceLimits limits;
    topo::PciPlace place;  ///< where the device sits
    std::string name;      ///< "mlx5_0:1"
};

/// What the user wants of the devices: pml_beeline_rdma_* as plain values.
struct DeviceWish {
    std::string devices;  ///< "mlx5_0,rxe0:1"; "^mlx5_2" for all but these; empty: all
    GidWish gid;
};

/// The kind of an asynchronous event, by what has to be done.
enum class EventKind : std::uint8_t {
    kPortUp,
    kPortDown,
    kGidChange,     ///< addresses of the port changed (the port's GID may be gone)
    kPairFatal,     ///< `element` (an ibv_qp*) is in error
    kQueueFatal,    ///< `element` (an ibv_cq* or ibv_srq*) is in error
    kLimitReached,  ///< `element` (an ibv_srq*) has few receives left
    kLastReceive,   ///< `element` (an ibv_qp* in error) takes no receive from its shared queue any
                    ///< more
    kDeviceFatal,   ///< the device is gone
    kOther,         ///< nothing to do
};

/// One asynchronous event, already acknowledged.
struct Event {
    EventKind kind = EventKind::kOther;
    Port* port = nullptr;     ///< kPortUp, kPortDown, kGidChange: that port; else null
    unsigned device = 0;      ///< of the device it came from
    void* element = nullptr;  ///< what it is about, where it is about one
    const char* text = "";    ///< libibverbs' words
};

/// Whether `name` with port `number` is in the user's list (see DeviceWish::devices).
bool is_wished(std::string_view list, std::string_view name, unsigned number) noexcept;

/// The devices this process has opened. One caller at a time.
class Devices {
 public:
    Devices() = default;
    ~Devices() { close(); }
    Devices(const Devices&) = delete;
    Devices& operator=(const Devices&) = delete;

    /// Opens every device that has a wished port with a usable address, active or not (those that
    /// are down may come up). kNotFound, logged at info level, when there is none. What cannot be
    /// opened is left out with one warning. `sysfs` is "/sys" but in tests.
    Status open(const Api& api, const DeviceWish& wish, const std::string& sysfs = "/sys");
    /// Closes all; no object made of them may exist any more.
    void close() noexcept;

    /// At most kMaxRails; addresses stay valid until close().
    std::vector<std::unique_ptr<Port>>& ports() noexcept { return ports_; }
    const std::vector<std::unique_ptr<Port>>& ports() const noexcept { return ports_; }

    /// The next asynchronous event of any device, logged (warning for errors and for ports going
    /// down, info for the rest); false when there is none now. Updates Port::up. One system call a
    /// device: not for every progress call.
    bool next_event(Event& event) noexcept;
    /// Asks for the port's state, address, MTU and speed again, after kPortUp or kGidChange.
    Status refresh(Port& port) noexcept;

 private:
    struct Device {
        ibv_context* context = nullptr;
        ibv_pd* pd = nullptr;
        std::string name;
        std::string folder;  // in sysfs
        topo::PciPlace place;
        DeviceLimits limits;
        bool dead = false;
    };
    Status open_device(ibv_device* found);
    void add_ports(unsigned device, unsigned count);
    Status describe(Port& port) noexcept;
    std::vector<GidRow> rows_of(const Port& port, int rows) const;
    void sort_out(const ibv_async_event& raw, unsigned device, Event& event) noexcept;
    void close_device(Device& device) noexcept;

    const Api* api_ = nullptr;
    std::string sysfs_;
    DeviceWish wish_;
    std::vector<Device> devices_;
    std::vector<std::unique_ptr<Port>> ports_;
};

}  // namespace beeline::mover::verbs
