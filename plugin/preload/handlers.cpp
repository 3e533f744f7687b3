// SPDX-License-Identifier: BSD-3-Clause
// MPI_Pack, MPI_Unpack, their external forms and MPI_Sendrecv_replace on host copies of device
// buffers. Calls without device memory go to Open MPI unchanged.
#include "plugin/preload/handlers.hpp"

#include <algorithm>
#include <memory>

#include <dlfcn.h>

#include "memory/copy.hpp"
#include "plugin/guard.hpp"
#include "plugin/preload/calls.hpp"
#include "plugin/staging.hpp"

namespace beeline::plugin {
namespace {

/// Arguments that Open MPI itself will refuse are left to it, with its own error handling.
bool checkable(int count, MPI_Datatype type) noexcept {
    return count > 0 && type != nullptr && type != MPI_DATATYPE_NULL &&
           ompi_datatype_is_committed(type);
}

Buffer data_buffer(const void* data, int count, MPI_Datatype type) noexcept {
    Buffer buffer;
    if (checkable(count, type)) {
        buffer.amount = Amount::kOne;
        buffer.address = const_cast<void*>(data);
        buffer.count = static_cast<std::size_t>(count);
        buffer.type = type;
    }
    return buffer;
}

/// Packed data is plain bytes: `size` of them, `used` already taken.
Buffer packed_buffer(const void* packed, MPI_Aint used, MPI_Aint size, MPI_Aint wanted) noexcept {
    Buffer buffer;
    if (packed != nullptr && used >= 0 && used < size && wanted > 0) {
        buffer.amount = Amount::kOne;
        buffer.address = static_cast<std::byte*>(const_cast<void*>(packed)) + used;
        buffer.count = static_cast<std::size_t>(std::min(size - used, wanted));
        buffer.type = MPI_BYTE;
    }
    return buffer;
}

/// A failure of ours, through the communicator's error handler as MPI wants it.
int fail(Status status, MPI_Comm comm) noexcept {
    const int code = status == Status::kNoMemory ? MPI_ERR_NO_MEM : MPI_ERR_OTHER;
    MPI_Comm_call_errhandler(comm, code);
    return code;
}

/// Packs into, or unpacks from, host copies. `call(data, packed, position)` is the MPI call on
/// whichever address to use, with `position` counted from that address.
template <class Position, class Call>
int on_copies(const char* name, const Buffer& data, const Buffer& packed, bool packing,
              const void* original_data, const void* original_packed, Position* position,
              MPI_Comm comm, Call&& call) {
    HostCopy data_copy;
    HostCopy packed_copy;
    Status status = Status::kOk;
    if (on_device(data)) {
        // Unpacking may end early, so the old contents are brought along.
        status = data_copy.prepare(name, data, packing ? Buffer{} : data);
    }
    if (status == Status::kOk && on_device(packed)) {
        status = packed_copy.prepare(name, packed, Buffer{});
    }
    if (status == Status::kOk && data_copy.used()) {
        status = data_copy.fetch();
    }
    if (status == Status::kOk && packed_copy.used() && !packing) {
        status = packed_copy.fetch();
    }
    if (status != Status::kOk) {
        return fail(status, comm);
    }
    const Position before = *position;
    Position local = packed_copy.used() ? 0 : before;
    const int outcome =
        call(data_copy.used() ? data_copy.address() : const_cast<void*>(original_data),
             packed_copy.used() ? packed_copy.address() : const_cast<void*>(original_packed),
             packed_copy.used() ? static_cast<Position>(packed.count) : Position{-1}, &local);
    if (outcome != MPI_SUCCESS) {
        return outcome;
    }
    if (packed_copy.used() && packing) {
        status =
            memory::copy(packed.address, packed_copy.address(), static_cast<std::size_t>(local));
    }
    if (status == Status::kOk && data_copy.used() && !packing) {
        status = data_copy.deliver();
    }
    *position = packed_copy.used() ? before + local : local;
    return status == Status::kOk ? MPI_SUCCESS : fail(status, comm);
}

MPI_Aint packed_size(int count, MPI_Datatype type, MPI_Comm comm) noexcept {
    int size = 0;
    return checkable(count, type) && PMPI_Pack_size(count, type, comm, &size) == MPI_SUCCESS ? size
                                                                                             : 0;
}

MPI_Aint external_size(const char* representation, int count, MPI_Datatype type) noexcept {
    MPI_Aint size = 0;
    return checkable(count, type) &&
                   PMPI_Pack_external_size(representation, count, type, &size) == MPI_SUCCESS
               ? size
               : 0;
}

int pack(const void* data, int count, MPI_Datatype type, void* packed, int size, int* position,
         MPI_Comm comm) {
    const Buffer from = data_buffer(data, count, type);
    const Buffer to = packed_buffer(packed, *position, size, packed_size(count, type, comm));
    if (!on_device(from) && !on_device(to)) {
        return PMPI_Pack(data, count, type, packed, size, position, comm);
    }
    return on_copies("MPI_Pack", from, to, true, data, packed, position, comm,
                     [&](void* in, void* out, int room, int* at) {
                         return PMPI_Pack(in, count, type, out, room < 0 ? size : room, at, comm);
                     });
}

int unpack(const void* packed, int size, int* position, void* data, int count, MPI_Datatype type,
           MPI_Comm comm) {
    const Buffer to = data_buffer(data, count, type);
    const Buffer from = packed_buffer(packed, *position, size, packed_size(count, type, comm));
    if (!on_device(from) && !on_device(to)) {
        return PMPI_Unpack(packed, size, position, data, count, type, comm);
    }
    return on_copies("MPI_Unpack", to, from, false, data, packed, position, comm,
                     [&](void* out, void* in, int room, int* at) {
                         return PMPI_Unpack(in, room < 0 ? size : room, at, out, count, type, comm);
                     });
}

int pack_external(const char* representation, const void* data, int count, MPI_Datatype type,
                  void* packed, MPI_Aint size, MPI_Aint* position) {
    const Buffer from = data_buffer(data, count, type);
    const Buffer to =
        packed_buffer(packed, *position, size, external_size(representation, count, type));
    if (!on_device(from) && !on_device(to)) {
        return PMPI_Pack_external(representation, data, count, type, packed, size, position);
    }
    return on_copies("MPI_Pack_external", from, to, true, data, packed, position, MPI_COMM_WORLD,
                     [&](void* in, void* out, MPI_Aint room, MPI_Aint* at) {
                         return PMPI_Pack_external(representation, in, count, type, out,
                                                   room < 0 ? size : room, at);
                     });
}

int unpack_external(const char* representation, const void* packed, MPI_Aint size,
                    MPI_Aint* position, void* data, int count, MPI_Datatype type) {
    const Buffer to = data_buffer(data, count, type);
    const Buffer from =
        packed_buffer(packed, *position, size, external_size(representation, count, type));
    if (!on_device(from) && !on_device(to)) {
        return PMPI_Unpack_external(representation, packed, size, position, data, count, type);
    }
    return on_copies("MPI_Unpack_external", to, from, false, data, packed, position, MPI_COMM_WORLD,
                     [&](void* out, void* in, MPI_Aint room, MPI_Aint* at) {
                         return PMPI_Unpack_external(representation, in, room < 0 ? size : room, at,
                                                     out, count, type);
                     });
}

int sendrecv_replace(void* data, int count, MPI_Datatype type, int to, int send_tag, int from,
                     int receive_tag, MPI_Comm comm, MPI_Status* status) {
    const Buffer buffer = data_buffer(data, count, type);
    if (!on_device(buffer)) {
        return PMPI_Sendrecv_replace(data, count, type, to, send_tag, from, receive_tag, comm,
                                     status);
    }
    HostCopy copy;
    Status outcome = copy.prepare("MPI_Sendrecv_replace", buffer, buffer);
    if (outcome == Status::kOk) {
        outcome = copy.fetch();
    }
    if (outcome != Status::kOk) {
        return fail(outcome, comm);
    }
    const int code = PMPI_Sendrecv_replace(copy.address(), count, type, to, send_tag, from,
                                           receive_tag, comm, status);
    if (code != MPI_SUCCESS) {
        return code;
    }
    outcome = copy.deliver();
    return outcome == Status::kOk ? MPI_SUCCESS : fail(outcome, comm);
}

constexpr PreloadHandlers kHandlers = {guarded<&pack>, guarded<&unpack>, guarded<&pack_external>,
                                       guarded<&unpack_external>, guarded<&sendrecv_replace>};

void set_handlers(const PreloadHandlers* handlers) noexcept {
    if (void* slot = dlsym(RTLD_DEFAULT, kPreloadSymbol); slot != nullptr) {
        static_cast<PreloadSlot*>(slot)->store(handlers, std::memory_order_release);
    }
}

}  // namespace

void attach_handlers() noexcept {
    set_handlers(&kHandlers);
}

void detach_handlers() noexcept {
    set_handlers(nullptr);
}

}  // namespace beeline::plugin
