// SPDX-License-Identifier: BSD-3-Clause
// The choice of a GID, and the kernel's listing.
#include "mover/verbs/gid.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <tuple>

namespace beeline::mover::verbs {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

/// The first line of a file of sysfs; false when it cannot be read, as the attributes of a row that
/// is not in use.
bool read_line(const std::string& path, std::string& line) {
    std::ifstream file(path);
    return static_cast<bool>(std::getline(file, line));
}

bool parse_address(const std::string& text, Gid& gid) noexcept {
    in_addr four{};
    if (inet_pton(AF_INET, text.c_str(), &four) == 1) {
        std::copy(kMapped.begin(), kMapped.end(), gid.begin());
        std::memcpy(gid.data() + kMapped.size(), &four, sizeof four);
        return true;
    }
    return inet_pton(AF_INET6, text.c_str(), gid.data()) == 1;
}

bool is_wished_row(const GidRow& row, const GidWish& wish) noexcept {
    const GidScope scope = scope_of(row.gid);
    if (wish.index >= 0) {
        return row.index == wish.index && scope != GidScope::kEmpty;
    }
    if (scope == GidScope::kEmpty || (wish.subnet && !in_subnet(row.gid, *wish.subnet))) {
        return false;
    }
    if (row.type == GidType::kInfiniBand) {
        return true;  // versions and families are RoCE's
    }
    if (wish.version != 0 &&
        row.type != (wish.version == 1 ? GidType::kRoceV1 : GidType::kRoceV2)) {
        return false;
    }
    const bool is_four = scope == GidScope::kIpv4;
    return wish.family == 0 || is_four == (wish.family == 4);
}

/// Lower is better.
std::tuple<int, int, int> order_of(const GidRow& row) noexcept {
    const int version = row.type == GidType::kRoceV1 ? 1 : 0;
    if (row.type == GidType::kInfiniBand) {
        return {version, 0, row.index};  // row 0 is the port's own; others are of virtual functions
    }
    switch (scope_of(row.gid)) {
        case GidScope::kIpv4:  // 169.254/16 is link-local as well
            return {version, row.gid[12] == 169 && row.gid[13] == 254 ? 2 : 0, row.index};
        case GidScope::kIpv6:
            return {version, 1, row.index};
        default:
            return {version, 3, row.index};
    }
}

}  // namespace

GidScope scope_of(const Gid& gid) noexcept {
    if (std::all_of(gid.begin(), gid.end(), [](std::uint8_t byte) { return byte == 0; })) {
        return GidScope::kEmpty;
    }
    if (std::equal(kMapped.begin(), kMapped.end(), gid.begin())) {
        return GidScope::kIpv4;
    }
    return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80 ? GidScope::kLinkLocal : GidScope::kIpv6;
}

bool in_subnet(const Gid& gid, const Subnet& subnet) noexcept {
    for (unsigned byte = 0; byte < gid.size() && byte * 8 < subnet.bits; ++byte) {
        const unsigned bits = std::min(8U, subnet.bits - byte * 8);
        const unsigned mask = 0xffU << (8 - bits) & 0xffU;
        if (((gid[byte] ^ subnet.prefix[byte]) & mask) != 0) {
            return false;
        }
    }
    return true;
}

Result<Subnet> parse_subnet(std::string_view text) noexcept {
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos || slash > INET6_ADDRSTRLEN) {
        return Status::kInvalid;
    }
    Subnet subnet;
    if (!parse_address(std::string(text.substr(0, slash)), subnet.prefix)) {
        return Status::kInvalid;
    }
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + slash + 1, end, subnet.bits);
    const bool is_four = text.find(':') == std::string_view::npos;
    if (error != std::errc() || stop != end || subnet.bits > (is_four ? 32U : 128U)) {
        return Status::kInvalid;
    }
    subnet.bits += is_four ? 96 : 0;
    return subnet;
}

Result<GidRow> choose_gid(std::span<const GidRow> rows, const GidWish& wish) noexcept {
    const GidRow* best = nullptr;
    for (const GidRow& row : rows) {
        if (is_wished_row(row, wish) && (best == nullptr || order_of(row) < order_of(*best))) {
            best = &row;
        }
    }
    if (best == nullptr) {
        return Status::kNotFound;
    }
    return *best;
}

std::vector<GidRow> read_gid_rows(const std::string& port) {
    const std::string types = port + "/gid_attrs/types/";
    const std::string interfaces = port + "/gid_attrs/ndevs/";
    std::vector<GidRow> rows;
    std::error_code error;
    for (const auto& file : std::filesystem::directory_iterator(port + "/gids", error)) {
        const std::string name = file.path().filename();
        GidRow row;
        const auto [stop, bad] = std::from_chars(name.data(), name.data() + name.size(), row.index);
        std::string line;
        if (bad != std::errc() || *stop != '\0' || !read_line(file.path(), line) ||
            !parse_address(line, row.gid) || scope_of(row.gid) == GidScope::kEmpty) {
            continue;
        }
        if (!read_line(types + name, line)) {
            continue;  // the kernel answers EINVAL for rows that are not in use
        }
        row.type = line == "RoCE v2" ? GidType::kRoceV2 : GidType::kRoceV1;
        std::string interface;
        if (read_line(interfaces + name, interface)) {
            interface.copy(row.interface.data(), row.interface.size() - 1);
        } else if (row.type == GidType::kRoceV1) {
            row.type = GidType::kInfiniBand;  // both are "IB/RoCE v1"; only Ethernet has a netdev
        }
        rows.push_back(row);
    }
    std::sort(rows.begin(), rows.end(),
              [](const GidRow& one, const GidRow& other) { return one.index < other.index; });
    return rows;
}

std::array<char, 48> to_text(const Gid& gid) noexcept {
    std::array<char, 48> text{};
    if (scope_of(gid) == GidScope::kIpv4) {
        inet_ntop(AF_INET, gid.data() + kMapped.size(), text.data(), text.size());
    } else {
        inet_ntop(AF_INET6, gid.data(), text.data(), text.size());
    }
    return text;
}

}  // namespace beeline::mover::verbs
