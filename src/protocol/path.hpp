// SPDX-License-Identifier: BSD-3-Clause
// The ways a message can go, and why it went that way: what reports, counters and benchmarks show.
#pragma once

#include <cstddef>
#include <cstdint>

namespace beeline::protocol {

/// How the bytes travelled. Numbers are on the wire (FIN) and in MPI_T names: append only.
enum class Path : std::uint8_t {
    kNone,
    kSelf,
    kShm,
    kUcx,
    kCudaIpc,
    kStaged,
    kCudaVmm,      ///< mapped by the descriptors of cuMemCreate memory
    kCudaPool,     ///< mapped through the descriptor of a memory pool
    kCudaBounce,   ///< through a buffer on the sender's device
    kCudaIpcPut,   ///< written by the sender, who maps the receiver's memory
    kRdma,         ///< by the network card, from memory to memory
    kCudaIpcPush,  ///< packed by a kernel of the sender's into the receiver's mapped memory
};
inline constexpr std::size_t kPaths = 12;

/// Why a path was taken, or why a better one was not. Numbers are on the wire (NACK): append only.
enum class Reason : std::uint8_t {
    kNone,
    kSmall,             ///< fits an eager message
    kHostMemory,        ///< both sides are host memory
    kDirect,            ///< one side maps the other's device memory
    kSameProcess,       ///< sender and receiver are one process
    kOtherNode,         ///< no CUDA IPC between nodes
    kNoSharedMemory,    ///< same node, but its shared memory cannot be reached (containers, other
                        ///< user)
    kIpcOff,            ///< pml_beeline_cuda_ipc is off
    kNotExportable,     ///< managed, VMM or pool memory that no handle can be made for
    kExportFailed,      ///< the driver made no handle
    kOpenFailed,        ///< the receiver could not map the memory
    kCopyFailed,        ///< the copy between mapped memories failed
    kReceiverHost,      ///< the receive buffer is host memory
    kReceiverLayout,    ///< the receive buffer is not one run of bytes
    kReceiverDevice,    ///< a host message meets a device receive buffer
    kSenderLayout,      ///< the send buffer is not one run of bytes
    kRefused,           ///< the pair of processes has found that this kind of handle does not work
    kBounced,           ///< not exportable: through a buffer on the device
    kAsked,             ///< pml_beeline_protocol asks for it
    kOtherProcess,      ///< sender and receiver are two processes
    kSharedMemory,      ///< the two share memory, which is faster
    kTooLarge,          ///< larger than the protocol's limit
    kSenderHost,        ///< host data at the sender
    kSenderDevice,      ///< device data at the sender
    kNotOffered,        ///< the sender does not offer it
    kSenderCannotOpen,  ///< the sender could not map the receiver's memory
    kRdmaOff,           ///< pml_beeline_rdma is off
    kNoRdmaDevice,      ///< no RDMA device that can be used, here or at the peer
    kNotRegistered,     ///< memory that the RDMA devices do not take
    kRdmaFailed,        ///< the connection by RDMA failed, or could not be made
    kSenderContiguous,  ///< the send buffer is one run of bytes, which a copy moves
};
inline constexpr std::size_t kReasons = 31;

/// Lower-case words, as in "cuda_ipc"; never null.
const char* to_string(Path path) noexcept;
/// A phrase, as in "no CUDA IPC between nodes"; never null.
const char* to_string(Reason reason) noexcept;

/// True for the reasons that mean "not the best path there is": what a report lists as a fallback.
bool is_fallback(Reason reason) noexcept;

}  // namespace beeline::protocol
