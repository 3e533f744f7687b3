// SPDX-License-Identifier: BSD-3-Clause
// Which of a port's addresses (GIDs) to use: a pure choice over a listing of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace beeline::mover::verbs {

/// 16 bytes in network order: an InfiniBand GID, an IPv6 address, or an IPv4 address mapped into
/// one.
using Gid = std::array<std::uint8_t, 16>;

enum class GidType : std::uint8_t { kInfiniBand, kRoceV1, kRoceV2 };

/// What kind of address a GID holds.
enum class GidScope : std::uint8_t {
    kEmpty,      ///< all zero: the row is not in use
    kIpv4,       ///< ::ffff:a.b.c.d
    kLinkLocal,  ///< fe80::, InfiniBand's default subnet prefix as well
    kIpv6,       ///< any other
};

/// A row of a port's GID table.
struct GidRow {
    int index = 0;
    Gid gid{};
    GidType type = GidType::kInfiniBand;
    std::array<char, 16> interface {};  ///< network interface; empty: unknown, or not Ethernet
};

/// A subnet that the user asks for.
struct Subnet {
    Gid prefix{};
    unsigned bits = 0;  ///< of all 128
};

/// What the user asked for.
struct GidWish {
    int index = -1;                ///< this row and no other; -1: choose
    std::optional<Subnet> subnet;  ///< only addresses in it
    int version = 0;               ///< RoCE version 1 or 2; 0: version 2 where there is one
    int family = 0;                ///< 4 or 6; 0: IPv4 where there is one
};

GidScope scope_of(const Gid& gid) noexcept;
bool in_subnet(const Gid& gid, const Subnet& subnet) noexcept;

/// "10.9.0.0/24" or "fd00:9::/64". kInvalid for anything else.
Result<Subnet> parse_subnet(std::string_view text) noexcept;

/// The row to use, by the wish: RoCE v2 before v1, then a routable IPv4 address, then a routable
/// IPv6 address, then link-local ones; among equals the lowest index. Empty rows never. kNotFound
/// when no row is as wished.
Result<GidRow> choose_gid(std::span<const GidRow> rows, const GidWish& wish) noexcept;

/// The rows of a port as the kernel lists them below `port` (for example
/// /sys/class/infiniband/mlx5_0/ports/1): gids/, gid_attrs/types/, gid_attrs/ndevs/. Rows that
/// cannot be read are not in use.
std::vector<GidRow> read_gid_rows(const std::string& port);

/// The usual text of an IPv6 address, or of a mapped IPv4 one; null terminated.
std::array<char, 48> to_text(const Gid& gid) noexcept;

}  // namespace beeline::mover::verbs
