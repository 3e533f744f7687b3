// SPDX-License-Identifier: BSD-3-Clause
// MPI's point-to-point calls as tables, so that tests can try each of them in the same way.
#pragma once

#include <mpi.h>

#include <array>

namespace beeline::test {

/// One message of `count` elements at `buffer`, as any call names it.
struct Operands {
    void* buffer;
    int count;
    MPI_Datatype type;
    int peer;
    int tag;
    MPI_Comm comm;
};

/// A way to send. Exactly one of `now` and `later` is set.
struct SendCall {
    const char* name;
    int (*now)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
    int (*later)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
    bool persistent = false;
    bool ready = false;        ///< the receive must be posted already
    bool buffered = false;     ///< needs an attached buffer
    bool synchronous = false;  ///< completes only once matched

    /// It returns without waiting for the receiver, whatever the size.
    constexpr bool local() const { return later != nullptr || buffered; }
};

inline int send_of_sendrecv(const void* buffer, int count, MPI_Datatype type, int peer, int tag,
                            MPI_Comm comm) {
    return MPI_Sendrecv(buffer, count, type, peer, tag, nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0,
                        comm, MPI_STATUS_IGNORE);
}

inline constexpr std::array<SendCall, 13> kSendCalls = {{
    {.name = "send", .now = MPI_Send, .later = nullptr},
    {.name = "isend", .now = nullptr, .later = MPI_Isend},
    {.name = "ssend", .now = MPI_Ssend, .later = nullptr, .synchronous = true},
    {.name = "issend", .now = nullptr, .later = MPI_Issend, .synchronous = true},
    {.name = "bsend", .now = MPI_Bsend, .later = nullptr, .buffered = true},
    {.name = "ibsend", .now = nullptr, .later = MPI_Ibsend, .buffered = true},
    {.name = "rsend", .now = MPI_Rsend, .later = nullptr, .ready = true},
    {.name = "irsend", .now = nullptr, .later = MPI_Irsend, .ready = true},
    {.name = "send_init", .now = nullptr, .later = MPI_Send_init, .persistent = true},
    {.name = "ssend_init",
     .now = nullptr,
     .later = MPI_Ssend_init,
     .persistent = true,
     .synchronous = true},
    {.name = "bsend_init",
     .now = nullptr,
     .later = MPI_Bsend_init,
     .persistent = true,
     .buffered = true},
    {.name = "rsend_init",
     .now = nullptr,
     .later = MPI_Rsend_init,
     .persistent = true,
     .ready = true},
    {.name = "sendrecv", .now = send_of_sendrecv, .later = nullptr},
}};

/// Sends, or starts to; `request` is left null by calls that are complete.
inline int start_send(const SendCall& call, const Operands& o, MPI_Request* request) {
    *request = MPI_REQUEST_NULL;
    if (call.now != nullptr) {
        return call.now(o.buffer, o.count, o.type, o.peer, o.tag, o.comm);
    }
    const int result = call.later(o.buffer, o.count, o.type, o.peer, o.tag, o.comm, request);
    return result == MPI_SUCCESS && call.persistent ? MPI_Start(request) : result;
}

/// A way to receive. Receives or starts to; what `status` says is final when `request` is null.
/// `seen` is what a probe before it said, with MPI_UNDEFINED as the source when there was none.
struct ReceiveCall {
    const char* name;
    int (*start)(const Operands&, MPI_Request*, MPI_Status* status, MPI_Status* seen);
    bool early;  ///< can be started before the message is sent
    bool persistent = false;
    bool wild = false;  ///< it takes from whoever sends, or any tag
};

inline constexpr std::array<ReceiveCall, 9> kReceiveCalls = {{
    {"recv",
     [](const Operands& o, MPI_Request*, MPI_Status* status, MPI_Status*) {
         return MPI_Recv(o.buffer, o.count, o.type, o.peer, o.tag, o.comm, status);
     },
     false},
    {"irecv",
     [](const Operands& o, MPI_Request* request, MPI_Status*, MPI_Status*) {
         return MPI_Irecv(o.buffer, o.count, o.type, o.peer, o.tag, o.comm, request);
     },
     true},
    {"recv_init",
     [](const Operands& o, MPI_Request* request, MPI_Status*, MPI_Status*) {
         MPI_Recv_init(o.buffer, o.count, o.type, o.peer, o.tag, o.comm, request);
         return MPI_Start(request);
     },
     true, true},
    {"irecv, any tag",
     [](const Operands& o, MPI_Request* request, MPI_Status*, MPI_Status*) {
         return MPI_Irecv(o.buffer, o.count, o.type, o.peer, MPI_ANY_TAG, o.comm, request);
     },
     true, false, true},
    {"sendrecv",
     [](const Operands& o, MPI_Request*, MPI_Status* status, MPI_Status*) {
         return MPI_Sendrecv(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, o.buffer, o.count, o.type,
                             o.peer, o.tag, o.comm, status);
     },
     false},
    {"probe",
     [](const Operands& o, MPI_Request*, MPI_Status* status, MPI_Status* seen) {
         MPI_Probe(o.peer, o.tag, o.comm, seen);
         return MPI_Recv(o.buffer, o.count, o.type, o.peer, o.tag, o.comm, status);
     },
     false},
    {"iprobe, any source",
     [](const Operands& o, MPI_Request*, MPI_Status* status, MPI_Status* seen) {
         for (int flag = 0; flag == 0;) {
             MPI_Iprobe(MPI_ANY_SOURCE, o.tag, o.comm, &flag, seen);
         }
         return MPI_Recv(o.buffer, o.count, o.type, seen->MPI_SOURCE, seen->MPI_TAG, o.comm,
                         status);
     },
     false, false, true},
    {"mprobe",
     [](const Operands& o, MPI_Request*, MPI_Status* status, MPI_Status* seen) {
         MPI_Message message = MPI_MESSAGE_NULL;
         MPI_Mprobe(o.peer, o.tag, o.comm, &message, seen);
         return MPI_Mrecv(o.buffer, o.count, o.type, &message, status);
     },
     false},
    {"improbe, any tag",
     [](const Operands& o, MPI_Request* request, MPI_Status*, MPI_Status* seen) {
         MPI_Message message = MPI_MESSAGE_NULL;
         for (int flag = 0; flag == 0;) {
             MPI_Improbe(o.peer, MPI_ANY_TAG, o.comm, &flag, &message, seen);
         }
         return MPI_Imrecv(o.buffer, o.count, o.type, &message, request);
     },
     false, false, true},
}};

/// Waits for what start_send() or ReceiveCall::start left, and frees it if it is persistent.
inline int finish(MPI_Request* request, MPI_Status* status) {
    int result = MPI_SUCCESS;
    if (*request != MPI_REQUEST_NULL) {
        result = MPI_Wait(request, status);
    }
    if (*request != MPI_REQUEST_NULL) {
        MPI_Request_free(request);
    }
    return result;
}

/// A status that no receive has written.
inline MPI_Status untouched() {
    MPI_Status status{};
    status.MPI_SOURCE = MPI_UNDEFINED;
    status.MPI_TAG = MPI_UNDEFINED;
    status.MPI_ERROR = MPI_SUCCESS;
    return status;
}

/// An error code's class.
inline int class_of(int code) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    return error_class;
}

}  // namespace beeline::test
