// SPDX-License-Identifier: BSD-3-Clause
// The choice of an address on listings as real ports have them.
#include "mover/verbs/gid.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace beeline::mover::verbs {
namespace {

namespace fs = std::filesystem;

/// A port's folder in a sysfs of the test's own, made from a listing in tests/data/gids.
class Listing {
 public:
    explicit Listing(const std::string& name) {
        const char* source = std::getenv("top_srcdir");
        if (source == nullptr) {
            source = "..";
        }
        std::ifstream file(std::string(source) + "/tests/data/gids/" + name + ".txt");
        EXPECT_TRUE(file.is_open()) << name;
        char pattern[] = "/tmp/beeline-gids-XXXXXX";
        folder_ = mkdtemp(pattern);
        for (const char* part : {"gids", "gid_attrs/types", "gid_attrs/ndevs"}) {
            fs::create_directories(fs::path(folder_) / part);
        }
        for (int index = 0; index < 16; ++index) {
            put("gids", index, "0000:0000:0000:0000:0000:0000:0000:0000");
        }
        std::string line;
        while (std::getline(file, line)) {
            if (!line.starts_with('#')) {
                add(line);
            }
        }
    }
    ~Listing() { fs::remove_all(folder_); }
    Listing(const Listing&) = delete;
    Listing& operator=(const Listing&) = delete;

    std::vector<GidRow> rows() const { return read_gid_rows(folder_); }

    /// The index of the row chosen, -1 for none.
    int choose(const GidWish& wish = {}) const {
        const auto row = choose_gid(rows(), wish);
        return row ? row.value().index : -1;
    }

 private:
    void put(const std::string& part, int index, const std::string& text) const {
        std::ofstream(folder_ + "/" + part + "/" + std::to_string(index)) << text << '\n';
    }
    void add(const std::string& line) const {
        std::istringstream words(line);
        int index = 0;
        std::string gid;
        std::string type;
        std::string version;
        std::string interface;
        words >> index >> gid >> type >> version >> interface;
        put("gids", index, gid);
        put("gid_attrs/types", index, type + " " + version);
        if (interface != "-") {
            put("gid_attrs/ndevs", index, interface);
        }
    }
    std::string folder_;
};

GidWish in(const char* subnet) {
    GidWish wish;
    const auto parsed = parse_subnet(subnet);
    EXPECT_TRUE(parsed.ok()) << subnet;
    wish.subnet = parsed.value();
    return wish;
}

GidWish row_number(int index) {
    GidWish wish;
    wish.index = index;
    return wish;
}

GidWish family(int number) {
    GidWish wish;
    wish.family = number;
    return wish;
}

GidWish version(int number) {
    GidWish wish;
    wish.version = number;
    return wish;
}

TEST(Gid, AListingIsReadAsItIs) {
    const auto rows = Listing("connectx_roce").rows();
    ASSERT_EQ(rows.size(), 6U) << "empty rows are not in use";
    EXPECT_EQ(rows[2].type, GidType::kRoceV1);
    EXPECT_EQ(rows[3].type, GidType::kRoceV2);
    EXPECT_EQ(rows[3].index, 3);
    EXPECT_STREQ(rows[3].interface.data(), "ens1f0np0");
    EXPECT_STREQ(to_text(rows[3].gid).data(), "10.9.0.11");
    EXPECT_STREQ(to_text(rows[5].gid).data(), "fd00:9::b");
    EXPECT_EQ(scope_of(rows[0].gid), GidScope::kLinkLocal);
    EXPECT_EQ(scope_of(rows[3].gid), GidScope::kIpv4);
    EXPECT_EQ(scope_of(rows[5].gid), GidScope::kIpv6);
    EXPECT_EQ(Listing("infiniband").rows()[0].type, GidType::kInfiniBand);
    EXPECT_TRUE(read_gid_rows("/nowhere").empty());
}

TEST(Gid, RoceVersionTwoOverIpv4IsPreferred) {
    EXPECT_EQ(Listing("connectx_roce").choose(), 3);
    EXPECT_EQ(Listing("soft_roce").choose(), 1);
    EXPECT_EQ(Listing("bond").choose(), 5);
    EXPECT_EQ(Listing("connectx_vlans").choose(), 5);
}

TEST(Gid, WithoutIpv4TheRoutableIpv6AddressServes) {
    EXPECT_EQ(Listing("ipv6_only").choose(), 3);
}

TEST(Gid, AnAddressTakenForLackOfALeaseIsTheLastResort) {
    EXPECT_EQ(Listing("no_lease").choose(), 7);
    EXPECT_EQ(Listing("no_lease").choose(in("169.254.0.0/16")), 3);
}

TEST(Gid, VersionOneWhereThereIsNoOther) {
    EXPECT_EQ(Listing("roce_v1_only").choose(), 1);
    EXPECT_EQ(Listing("roce_v1_only").choose(version(2)), -1);
}

TEST(Gid, InfiniBandUsesThePortsOwnRow) {
    EXPECT_EQ(Listing("infiniband").choose(), 0);
    EXPECT_EQ(Listing("infiniband").choose(version(2)), 0) << "that is RoCE's";
    EXPECT_EQ(Listing("infiniband").choose(family(4)), 0) << "so is that";
    EXPECT_EQ(Listing("infiniband").choose(row_number(1)), 1);
    EXPECT_EQ(Listing("infiniband_prefix").choose(in("fec0:0:0:7::/64")), 0);
    EXPECT_EQ(Listing("infiniband_prefix").choose(in("fec0:0:0:8::/64")), -1);
}

TEST(Gid, TheUsersWishCounts) {
    const Listing port("connectx_roce");
    EXPECT_EQ(port.choose(version(1)), 2);
    EXPECT_EQ(port.choose(family(6)), 5);
    EXPECT_EQ(port.choose(in("fd00:9::/64")), 5);
    EXPECT_EQ(port.choose(in("10.9.0.0/16")), 3);
    EXPECT_EQ(port.choose(in("10.8.0.0/16")), -1);
    EXPECT_EQ(port.choose(row_number(0)), 0) << "an index is taken as it is";
    EXPECT_EQ(port.choose(row_number(9)), -1) << "not a row in use";
    const Listing tagged("connectx_vlans");
    EXPECT_EQ(tagged.choose(in("172.16.200.0/24")), 9);
    GidWish both = in("172.16.200.0/24");
    both.version = 1;
    EXPECT_EQ(tagged.choose(both), 8);
    both.family = 6;
    EXPECT_EQ(tagged.choose(both), -1);
}

TEST(Gid, SubnetsAreParsedExactly) {
    EXPECT_EQ(parse_subnet("10.9.0.0/24").value().bits, 120U);
    EXPECT_EQ(parse_subnet("fd00::/7").value().bits, 7U);
    EXPECT_EQ(parse_subnet("0.0.0.0/0").value().bits, 96U);
    for (const char* bad : {"", "/", "10.9.0.0", "10.9.0.0/33", "fd00::/129", "10.9.0/24", "x/8",
                            "10.9.0.0/", "10.9.0.0/8x", "10.9.0.0/-1", "/24"}) {
        EXPECT_FALSE(parse_subnet(bad).ok()) << bad;
    }
    const Gid gid{0xfd, 0, 0, 9, 0x80};
    Subnet subnet{gid, 33};
    EXPECT_TRUE(in_subnet(gid, subnet));
    subnet.prefix[4] = 0;
    EXPECT_FALSE(in_subnet(gid, subnet));
    subnet.bits = 32;
    EXPECT_TRUE(in_subnet(gid, subnet));
}

}  // namespace
}  // namespace beeline::mover::verbs
