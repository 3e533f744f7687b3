// SPDX-License-Identifier: BSD-3-Clause
// The one message of variable length: RTS with its offers.
#include "wire/codec.hpp"

namespace beeline::wire {
namespace {

constexpr std::size_t kFixedBytes = sizeof(Common) + sizeof(Envelope);

/// Appends to a span, remembering whether all fitted.
class Writer {
 public:
    explicit Writer(std::span<std::byte> out) noexcept : rest_(out), room_(out.size()) {}
    template <class T>
    void put(const T& value) noexcept {
        static_assert(std::has_unique_object_representations_v<T>);
        if (rest_.size() < sizeof value) {
            fits_ = false;
            return;
        }
        std::memcpy(rest_.data(), &value, sizeof value);
        rest_ = rest_.subspan(sizeof value);
    }
    std::size_t written() const noexcept { return fits_ ? room_ - rest_.size() : 0; }

 private:
    std::span<std::byte> rest_;
    std::size_t room_;
    bool fits_ = true;
};

template <class T>
void put_offer(Writer& writer, OfferType type, const T& offer) noexcept {
    static_assert(sizeof offer <= UINT8_MAX);
    writer.put(type);
    writer.put(static_cast<std::uint8_t>(sizeof offer));
    writer.put(offer);
}

template <class T>
bool read_exactly(std::span<const std::byte> in, T& out) noexcept {
    if (in.size() != sizeof out) {
        return false;
    }
    std::memcpy(&out, in.data(), sizeof out);
    return true;
}

bool sound(OfferType type, const IpcOffer& offer, std::uint64_t message_bytes) noexcept {
    if (type == OfferType::kBounce) {
        return offer.detail != 0 && offer.detail <= kMaxChunkBytes &&
               offer.detail <= offer.allocation_bytes;
    }
    return offer.offset <= offer.allocation_bytes &&
           message_bytes <= offer.allocation_bytes - offer.offset &&
           (type != OfferType::kVmm || (offer.detail != 0 && offer.detail <= kMaxParts));
}

/// One offer's payload. kNone in `out.type` means "unknown, skipped".
bool read_offer(std::uint8_t type, std::span<const std::byte> payload, std::uint64_t message_bytes,
                Offer& out) noexcept {
    out = Offer{};
    switch (OfferType{type}) {
        case OfferType::kIpc:
        case OfferType::kVmm:
        case OfferType::kPool:
        case OfferType::kBounce:
            out.type = OfferType{type};
            return read_exactly(payload, out.ipc) && sound(out.type, out.ipc, message_bytes);
        case OfferType::kStaged:
            out.type = OfferType::kStaged;
            return read_exactly(payload, out.staged) && out.staged.chunk_bytes != 0 &&
                   out.staged.chunk_bytes <= kMaxChunkBytes;
        case OfferType::kPut:
        case OfferType::kShm:
        case OfferType::kPush:
            out.type = OfferType{type};
            return payload.empty();
        case OfferType::kRdma:
            out.type = OfferType::kRdma;
            return read_exactly(payload, out.rdma) &&
                   out.rdma.address <= UINT64_MAX - message_bytes &&
                   (out.rdma.rails | out.rdma.relays) != 0 &&
                   (out.rdma.rails & ~detail::kRailBits) == 0;
        case OfferType::kNone:
            return false;
        case OfferType::kUcx:
            return true;
    }
    return true;
}

}  // namespace

std::size_t encode(const Rts& message, std::span<std::byte> out) noexcept {
    if (message.offer_count > kMaxOffers) {
        return 0;
    }
    Writer writer(out);
    writer.put(message.common);
    writer.put(message.envelope);
    writer.put(message.offer_count);
    for (std::size_t index = 0; index < message.offer_count; ++index) {
        const Offer& offer = message.offers[index];
        switch (offer.type) {
            case OfferType::kIpc:
            case OfferType::kVmm:
            case OfferType::kPool:
            case OfferType::kBounce:
                put_offer(writer, offer.type, offer.ipc);
                break;
            case OfferType::kStaged:
                put_offer(writer, offer.type, offer.staged);
                break;
            case OfferType::kPut:
            case OfferType::kShm:
            case OfferType::kPush:
                writer.put(offer.type);
                writer.put(std::uint8_t{0});
                break;
            case OfferType::kRdma:
                put_offer(writer, offer.type, offer.rdma);
                break;
            case OfferType::kNone:
            case OfferType::kUcx:
                return 0;
        }
    }
    return writer.written();
}

bool decode(std::span<const std::byte> in, Rts& out, std::size_t* encoded) noexcept {
    out = Rts{};
    if (in.size() < kFixedBytes + 1 || peek(in) != MessageType::kRts) {
        return false;
    }
    std::memcpy(&out.common, in.data(), sizeof out.common);
    std::memcpy(&out.envelope, in.data() + sizeof out.common, sizeof out.envelope);
    const auto count = std::to_integer<std::size_t>(in[kFixedBytes]);
    if (!detail::sound(out.envelope) || count > kMaxOffers) {
        return false;
    }
    auto rest = in.subspan(kFixedBytes + 1);
    for (std::size_t index = 0; index < count; ++index) {
        if (rest.size() < 2) {
            return false;
        }
        const auto type = std::to_integer<std::uint8_t>(rest[0]);
        const auto length = std::to_integer<std::size_t>(rest[1]);
        if (rest.size() - 2 < length) {
            return false;
        }
        Offer& offer = out.offers[out.offer_count];
        if (!read_offer(type, rest.subspan(2, length), out.envelope.bytes, offer)) {
            return false;
        }
        if (offer.type != OfferType::kNone) {
            ++out.offer_count;
        }
        rest = rest.subspan(2 + length);
    }
    if (encoded != nullptr) {
        *encoded = in.size() - rest.size();
    }
    return true;
}

}  // namespace beeline::wire
