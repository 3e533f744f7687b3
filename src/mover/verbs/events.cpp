// SPDX-License-Identifier: BSD-3-Clause
// Asynchronous events of devices.
#include "base/log.hpp"
#include "mover/verbs/api.hpp"
#include "mover/verbs/device.hpp"

namespace beeline::mover::verbs {

bool Devices::next_event(Event& event) noexcept {
    for (unsigned device = 0; device < devices_.size(); ++device) {
        ibv_async_event raw{};
        if (devices_[device].dead || api_->get_async_event(devices_[device].context, &raw) != 0) {
            continue;
        }
        sort_out(raw, device, event);
        // Before a queue pair can be destroyed its events must be acknowledged; nobody else reads
        // them, so this is not too early.
        api_->ack_async_event(&raw);
        return true;
    }
    return false;
}

void Devices::sort_out(const ibv_async_event& raw, unsigned device, Event& event) noexcept {
    event = {};
    event.device = device;
    event.text = api_->event_type_str(raw.event_type);
    LogLevel level = LogLevel::kWarning;
    int number = 0;
    switch (raw.event_type) {
        case IBV_EVENT_PORT_ACTIVE:
        case IBV_EVENT_CLIENT_REREGISTER:
            event.kind = EventKind::kPortUp;
            number = raw.element.port_num;
            level = LogLevel::kInfo;
            break;
        case IBV_EVENT_PORT_ERR:
            event.kind = EventKind::kPortDown;
            number = raw.element.port_num;
            break;
        case IBV_EVENT_GID_CHANGE:
        case IBV_EVENT_LID_CHANGE:
            event.kind = EventKind::kGidChange;
            number = raw.element.port_num;
            level = LogLevel::kInfo;
            break;
        case IBV_EVENT_QP_FATAL:
        case IBV_EVENT_QP_REQ_ERR:
        case IBV_EVENT_QP_ACCESS_ERR:
            event.kind = EventKind::kPairFatal;
            event.element = raw.element.qp;
            break;
        case IBV_EVENT_CQ_ERR:
            event.kind = EventKind::kQueueFatal;
            event.element = raw.element.cq;
            break;
        case IBV_EVENT_SRQ_ERR:
            event.kind = EventKind::kQueueFatal;
            event.element = raw.element.srq;
            break;
        case IBV_EVENT_SRQ_LIMIT_REACHED:
            event.kind = EventKind::kLimitReached;
            event.element = raw.element.srq;
            level = LogLevel::kDebug;
            break;
        case IBV_EVENT_QP_LAST_WQE_REACHED:
            event.kind = EventKind::kLastReceive;
            event.element = raw.element.qp;
            level = LogLevel::kInfo;
            break;
        case IBV_EVENT_DEVICE_FATAL:
            event.kind = EventKind::kDeviceFatal;
            break;
        default:
            level = LogLevel::kInfo;
            break;
    }
    for (const auto& port : ports_) {
        if (port->device != device) {
            continue;
        }
        if (event.kind == EventKind::kDeviceFatal) {
            port->up = false;
        } else if (number != 0 && port->number == number) {
            event.port = port.get();
            port->up = event.kind == EventKind::kPortUp ||
                       (port->up && event.kind != EventKind::kPortDown);
        }
    }
    log(level, "%s: %s",
        event.port != nullptr ? event.port->name.c_str() : devices_[device].name.c_str(),
        event.text);
}

}  // namespace beeline::mover::verbs
