// SPDX-License-Identifier: BSD-3-Clause
// What travels between ranks: fixed-width, little-endian, versioned message headers.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace beeline::wire {

static_assert(
    std::endian::native == std::endian::little,
    "headers are copied as they lie in memory; a big-endian machine needs a swapping codec");

/// Raised with every change of a layout or a meaning below; ranks of one job must agree on it.
inline constexpr std::uint8_t kVersion = 7;

/// Limits that a decoder enforces on what peers claim.
inline constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{1} << 56;
inline constexpr std::uint32_t kMaxChunkBytes = 16u << 20;
inline constexpr std::uint32_t kMaxDepth = 64;
inline constexpr std::size_t kMaxOffers = 4;
inline constexpr std::size_t kMaxRails = 4;
inline constexpr std::size_t kMaxPairs = 5;

enum class MessageType : std::uint8_t {
    kNone = 0,  ///< never sent; what peek() says of bytes that are no message
    kEager = 1,
    kRts = 2,
    kCts = 3,
    kData = 4,
    kDataAck = 5,
    kFin = 6,
    kAck = 7,
    kNack = 8,
    kFreed = 9,
    kWant = 10,
    kDescriptors = 11,
    kPut = 12,
    kPutDone = 13,
    kRdmaConnect = 14,
    kRdmaRails = 15,
    kRdmaPut = 16,
    kRdmaFailed = 17,
};

/// Bits of Common::flags. Bits that are not named here are ignored.
inline constexpr std::uint16_t kSync = 1;  ///< EAGER, RTS: answer with ACK when matched
inline constexpr std::uint16_t kMore =
    2;  ///< EAGER: the data is the start of it; the rest follows as fragments
inline constexpr std::uint16_t kFragment =
    4;  ///< DATA: more of the EAGER whose sender_request this names; follows the header

/// EAGER without data: the sender could not read the message, which takes its turn all the same.
inline constexpr std::uint16_t kUnreadable = 8;
/// DATA: the chunk lies in slot `slot` of the sender's bounce buffer on the device.
inline constexpr std::uint16_t kOnDevice = 16;
/// DATA: the data lies in block `slot` of the sender's shared memory, and follows what came before
/// it.
inline constexpr std::uint16_t kInBlock = 32;

/// Ways to move a message.
enum class OfferType : std::uint8_t {
    kNone = 0,
    kIpc = 1,     ///< legacy CUDA IPC: the handle is in the offer
    kStaged = 2,  ///< chunks through host memory
    kRdma = 3,    ///< registered memory: the sender can write it out, the receiver can read it
    kVmm = 4,     ///< cuMemCreate memory: descriptors of its parts are fetched with WANT
    kPool = 5,    ///< memory of an exportable pool, whose descriptor is fetched with WANT
    kBounce = 6,  ///< chunks through a buffer on the sender's device, which is mapped as by kIpc
    kUcx = 7,     ///< in a CTS only: host memory, as UCX carries it best
    kPut = 8,     ///< the sender maps what the receiver names in a PUT, and writes there
    kShm = 9,     ///< host memory, in blocks of the sender's shared memory
    kPush = 10,   ///< as kPut, of data with gaps, which the sender packs there
};

/// True for the offers that an IpcOffer describes.
constexpr bool is_device_offer(OfferType type) noexcept {
    return type == OfferType::kIpc || type == OfferType::kVmm || type == OfferType::kPool ||
           type == OfferType::kBounce;
}

/// Most parts (cuMemMap) that a kVmm range may have.
inline constexpr std::uint64_t kMaxParts = 512;

/// The start of every message.
struct Common {
    MessageType type = MessageType::kNone;
    std::uint8_t version = kVersion;
    std::uint16_t flags = 0;
    std::uint32_t context = 0;  ///< id of the communicator
};

/// What matching needs. Request ids are opaque to everyone but the rank that gave them out.
struct Envelope {
    std::int32_t source = 0;  ///< rank of the sender in the communicator
    std::int32_t tag = 0;     ///< negative for the library's own traffic; never INT32_MIN
    std::uint32_t sequence = 0;
    std::uint32_t reserved = 0;
    std::uint64_t bytes = 0;  ///< of the whole message
    std::uint64_t sender_request = 0;
};

/// A whole message: its data follows the header.
struct Eager {
    static constexpr MessageType kType = MessageType::kEager;
    Common common{kType};
    Envelope envelope;
};

/// Device memory that the receiver can map and read itself.
struct IpcOffer {
    /// CUipcMemHandle of the allocation (kIpc) or of the bounce buffer (kBounce);
    /// CUmemPoolPtrExportData (kPool); unused (kVmm)
    std::array<std::byte, 64> handle{};
    std::uint64_t base = 0;    ///< address of what is mapped, in the sender
    std::uint64_t offset = 0;  ///< of the data from the base; data ends within the allocation
    std::uint64_t allocation_bytes = 0;
    std::uint64_t buffer_id = 0;  ///< names the allocation even where its address is used again
    std::uint64_t detail = 0;     ///< kVmm: parts; kPool: the sender's id of the pool; kBounce:
                                  ///< bytes of a slot
    std::array<std::byte, 16> device_uuid{};
};

/// Chunks through host memory, after a CTS.
struct StagedOffer {
    std::uint32_t chunk_bytes = 0;  ///< the most the sender puts in one chunk
};

/// Memory that the sender's RDMA devices can read, and the receiver's through them.
struct RdmaOffer {
    std::uint64_t address = 0;
    std::array<std::uint32_t, kMaxRails> keys{};  ///< remote keys, by rail of the sender
    std::uint8_t rails = 0;                       ///< bits: the rails that have a key
    std::uint8_t relays = 0;  ///< not 0: the sender can write it out even without any
    std::array<std::uint8_t, 6> reserved{};
};

/// kPut and kPush have no payload: the sender can write into memory that the receiver names. Nor
/// has kShm, as a CTS is all it needs. One thing the sender can do; only the member that `type`
/// names has a meaning.
struct Offer {
    OfferType type = OfferType::kNone;
    StagedOffer staged;
    IpcOffer ipc;
    RdmaOffer rdma;
};

/// A message whose data is fetched or asked for, with the ways to do that. Its encoding is the
/// envelope, a byte with the number of offers, and for each a type byte, a length byte and that
/// many bytes.
struct Rts {
    static constexpr MessageType kType = MessageType::kRts;
    Common common{kType};
    Envelope envelope;
    std::array<Offer, kMaxOffers> offers{};  ///< the sender's favourite first
    std::uint8_t offer_count = 0;
};

/// The receiver asks for the data by the offer it chose.
struct Cts {
    static constexpr MessageType kType = MessageType::kCts;
    Common common{kType};
    std::uint64_t sender_request = 0;
    std::uint64_t receiver_request = 0;
    std::uint64_t bytes = 0;        ///< wanted; less than the message when the receive truncates it
    std::uint32_t chunk_bytes = 0;  ///< of one DATA at most
    std::uint32_t depth = 0;        ///< DATA not yet acknowledged at most
    OfferType choice = OfferType::kNone;
    std::array<std::uint8_t, 7> reserved{};
};

/// One chunk of a message.
struct Data {
    static constexpr MessageType kType = MessageType::kData;
    Common common{kType};
    std::uint64_t receiver_request = 0;
    std::uint64_t offset = 0;  ///< of the chunk in the message
    std::uint32_t length = 0;  ///< of the chunk
    std::uint32_t slot =
        0;  ///< where the chunk lies in shared memory, when it does not follow the header
};

/// The chunk at `offset` has been taken; its place may be used again.
struct DataAck {
    static constexpr MessageType kType = MessageType::kDataAck;
    Common common{kType};
    std::uint64_t sender_request = 0;
    std::uint64_t offset = 0;
};

/// The receiver has all it wants: the sender's buffer is free.
struct Fin {
    static constexpr MessageType kType = MessageType::kFin;
    Common common{kType};
    std::uint64_t sender_request = 0;
    std::uint8_t status = 0;  ///< 0: received; other values are the engine's
    std::uint8_t path = 0;    ///< the path taken, as the engine numbers them
    std::array<std::uint8_t, 6> reserved{};
};

/// A synchronous message has been matched.
struct Ack {
    static constexpr MessageType kType = MessageType::kAck;
    Common common{kType};
    std::uint64_t sender_request = 0;
};

/// An offer failed in use; the next one is to be tried.
struct Nack {
    static constexpr MessageType kType = MessageType::kNack;
    Common common{kType};
    std::uint64_t sender_request = 0;
    std::uint64_t receiver_request = 0;
    std::uint8_t reason = 0;  ///< as the engine numbers them
    OfferType offer = OfferType::kNone;
    std::array<std::uint8_t, 6> reserved{};
};

/// The exporter has freed an allocation: mappings of it are to be closed.
struct Freed {
    static constexpr MessageType kType = MessageType::kFreed;
    Common common{kType};
    std::uint64_t base = 0;
    std::uint64_t buffer_id = 0;
};

/// The receiver of an RTS asks for the descriptors behind a kVmm or kPool offer: they are to be
/// sent to the socket of this name.
struct Want {
    static constexpr MessageType kType = MessageType::kWant;
    Common common{kType};
    std::uint64_t sender_request = 0;
    std::uint64_t receiver_request = 0;
    std::array<std::byte, 16> socket{};
    OfferType offer = OfferType::kNone;
    std::array<std::uint8_t, 7> reserved{};
};

/// The descriptors that were wanted lie in the socket, or will not come.
struct Descriptors {
    static constexpr MessageType kType = MessageType::kDescriptors;
    Common common{kType};
    std::uint64_t receiver_request = 0;
    std::uint8_t status = 0;  ///< 0: sent
    std::array<std::uint8_t, 7> reserved{};
};

/// The receiver names the device memory that the sender is to write into; answered by PUT DONE or a
/// NACK. It says itself which offers failed before: a NACK of its own could arrive after it.
struct Put {
    struct Refusal {
        OfferType offer = OfferType::kNone;  ///< kNone: nothing failed
        std::uint8_t reason = 0;             ///< as the engine numbers them
    };
    static constexpr MessageType kType = MessageType::kPut;
    Common common{kType};
    std::uint64_t sender_request = 0;
    std::uint64_t receiver_request = 0;
    std::uint64_t bytes = 0;  ///< wanted; less than the message when the receive truncates it
    std::array<Refusal, 2> refused{};
    std::array<std::uint8_t, 4> reserved{};
    IpcOffer into;  ///< the receiver's memory
};

/// All that a PUT asked for has been written.
struct PutDone {
    static constexpr MessageType kType = MessageType::kPutDone;
    Common common{kType};
    std::uint64_t receiver_request = 0;
};

/// One rail's end of a connection: what the other end connects its queue pairs to.
struct RailEnd {
    std::array<std::byte, 16> gid{};
    std::uint32_t sequence = 0;  ///< of the first packet that each sends; 24 bits
    std::uint16_t lid = 0;
    std::uint16_t credits = 0;  ///< messages that may come without word from here; 0: none
    std::uint8_t mtu = 0;       ///< as verbs numbers them: 1 (256 bytes) to 5 (4096)
    std::array<std::uint8_t, 3> reserved{};
    /// The first is for messages. 0: there are no more; all 0: this rail is not used
    std::array<std::uint32_t, kMaxPairs> queue_pairs{};
};

/// One end of a connection by RDMA. Sent when a process wants one, and again once it knows the
/// other's end; so two that start at the same time make one connection.
struct RdmaConnect {
    static constexpr MessageType kType = MessageType::kRdmaConnect;
    Common common{kType};
    std::uint64_t from = 0;   ///< the sender's name, see Engine::name_of
    std::uint32_t epoch = 0;  ///< of the sender's end; another one is another connection
    std::uint32_t peer_epoch =
        0;                    ///< the receiver's end that this one is connected to; 0: none yet
    std::uint8_t status = 0;  ///< not 0: there is no RDMA here, as the engine numbers reasons
    std::array<std::uint8_t, 3> reserved{};
    std::uint32_t message_bytes = 0;  ///< largest message that may come
    std::uint64_t test_address = 0;   ///< where the other end writes its test pattern
    std::array<std::uint32_t, kMaxRails> test_keys{};
    std::array<RailEnd, kMaxRails> ends{};
};

/// What an end has found of the rails of a connection.
struct RdmaRails {
    static constexpr MessageType kType = MessageType::kRdmaRails;
    Common common{kType};
    std::uint64_t from = 0;
    std::uint32_t epoch = 0;       ///< of the sender's end
    std::uint32_t peer_epoch = 0;  ///< of the receiver's end
    std::uint8_t tested = 0;       ///< bits: the test pattern has come by these
    std::uint8_t broken = 0;       ///< bits: these have failed, and are closed here
    std::uint8_t closed = 0;       ///< bits: these are closed here because nobody used them
    std::array<std::uint8_t, 5> reserved{};
};

/// The receiver names the registered memory that the sender is to write into. The last write on
/// each rail tells the receiver `immediate`.
struct RdmaPut {
    static constexpr MessageType kType = MessageType::kRdmaPut;
    Common common{kType};
    std::uint64_t sender_request = 0;
    std::uint64_t receiver_request = 0;
    std::uint64_t bytes = 0;  ///< wanted; less than the message when the receive truncates it
    std::uint64_t address = 0;
    std::array<std::uint32_t, kMaxRails> keys{};  ///< remote keys, by rail
    std::uint32_t immediate = 0;
    std::uint8_t rails = 0;  ///< bits: the rails to be used, all of them
    std::array<std::uint8_t, 3> reserved{};
};

/// The sender could not write what an RDMA PUT asked for, and writes no more of it: to be answered
/// by another request, or by FIN if it has come after all.
struct RdmaFailed {
    static constexpr MessageType kType = MessageType::kRdmaFailed;
    Common common{kType};
    std::uint64_t from = 0;  ///< as in RdmaConnect
    std::uint64_t sender_request = 0;
    std::uint64_t receiver_request = 0;
    std::uint32_t immediate = 0;  ///< of the RDMA PUT
    std::uint8_t reason = 0;      ///< as the engine numbers them
    std::array<std::uint8_t, 3> reserved{};
};

/// Bytes of one IPC offer and one staged offer as encoded, without type and length.
inline constexpr std::size_t kIpcOfferBytes = 120;
inline constexpr std::size_t kStagedOfferBytes = 4;
inline constexpr std::size_t kRdmaOfferBytes = 32;
/// The most an encoded RTS takes.
inline constexpr std::size_t kMaxRtsBytes = 40 + 1 + kMaxOffers * (2 + kIpcOfferBytes);

// The layouts are the protocol: a compiler that disagrees must not build this.
static_assert(sizeof(Common) == 8 && offsetof(Common, flags) == 2 &&
              offsetof(Common, context) == 4);
static_assert(sizeof(Envelope) == 32 && offsetof(Envelope, sequence) == 8 &&
              offsetof(Envelope, bytes) == 16 && offsetof(Envelope, sender_request) == 24);
static_assert(sizeof(Eager) == 40 && offsetof(Eager, envelope) == 8);
static_assert(sizeof(IpcOffer) == kIpcOfferBytes && offsetof(IpcOffer, base) == 64 &&
              offsetof(IpcOffer, offset) == 72 && offsetof(IpcOffer, allocation_bytes) == 80 &&
              offsetof(IpcOffer, buffer_id) == 88 && offsetof(IpcOffer, detail) == 96 &&
              offsetof(IpcOffer, device_uuid) == 104);
static_assert(sizeof(StagedOffer) == kStagedOfferBytes);
static_assert(sizeof(Cts) == 48 && offsetof(Cts, receiver_request) == 16 &&
              offsetof(Cts, bytes) == 24 && offsetof(Cts, chunk_bytes) == 32 &&
              offsetof(Cts, depth) == 36 && offsetof(Cts, choice) == 40);
static_assert(sizeof(Data) == 32 && offsetof(Data, offset) == 16 && offsetof(Data, length) == 24 &&
              offsetof(Data, slot) == 28);
static_assert(sizeof(DataAck) == 24 && offsetof(DataAck, offset) == 16);
static_assert(sizeof(Fin) == 24 && offsetof(Fin, status) == 16 && offsetof(Fin, path) == 17);
static_assert(sizeof(Ack) == 16 && offsetof(Ack, sender_request) == 8);
static_assert(sizeof(Nack) == 32 && offsetof(Nack, receiver_request) == 16 &&
              offsetof(Nack, reason) == 24 && offsetof(Nack, offer) == 25);
static_assert(sizeof(Freed) == 24 && offsetof(Freed, buffer_id) == 16);
static_assert(sizeof(Want) == 48 && offsetof(Want, receiver_request) == 16 &&
              offsetof(Want, socket) == 24 && offsetof(Want, offer) == 40);
static_assert(sizeof(Descriptors) == 24 && offsetof(Descriptors, status) == 16);
static_assert(sizeof(Put) == 160 && offsetof(Put, bytes) == 24 && offsetof(Put, into) == 40);
static_assert(sizeof(RdmaOffer) == kRdmaOfferBytes && offsetof(RdmaOffer, keys) == 8 &&
              offsetof(RdmaOffer, rails) == 24);
static_assert(sizeof(RailEnd) == 48 && offsetof(RailEnd, lid) == 20 &&
              offsetof(RailEnd, mtu) == 24 && offsetof(RailEnd, queue_pairs) == 28);
static_assert(sizeof(RdmaConnect) == 248 && offsetof(RdmaConnect, message_bytes) == 28 &&
              offsetof(RdmaConnect, epoch) == 16 && offsetof(RdmaConnect, status) == 24 &&
              offsetof(RdmaConnect, test_address) == 32 && offsetof(RdmaConnect, ends) == 56);
static_assert(sizeof(RdmaRails) == 32 && offsetof(RdmaRails, tested) == 24);
static_assert(sizeof(RdmaPut) == 64 && offsetof(RdmaPut, address) == 32 &&
              offsetof(RdmaPut, keys) == 40 && offsetof(RdmaPut, immediate) == 56 &&
              offsetof(RdmaPut, rails) == 60);
static_assert(sizeof(RdmaFailed) == 40 && offsetof(RdmaFailed, immediate) == 32);
static_assert(sizeof(PutDone) == 16 && offsetof(PutDone, receiver_request) == 8);

/// A message that is one fixed struct: every kind but RTS.
template <class X>
concept FixedMessage =
    std::is_trivially_copyable_v<X> && std::has_unique_object_representations_v<X> && requires {
    X::kType;
} && !std::is_same_v<X, Rts>;

static_assert(FixedMessage<Eager> && FixedMessage<Cts> && FixedMessage<Data> &&
              FixedMessage<DataAck> && FixedMessage<Fin> && FixedMessage<Ack> &&
              FixedMessage<Nack> && FixedMessage<Freed> && FixedMessage<Want> &&
              FixedMessage<Descriptors> && FixedMessage<Put> && FixedMessage<PutDone> &&
              FixedMessage<RdmaConnect> && FixedMessage<RdmaRails> && FixedMessage<RdmaPut> &&
              FixedMessage<RdmaFailed>);

}  // namespace beeline::wire
