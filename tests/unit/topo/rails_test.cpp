// SPDX-License-Identifier: BSD-3-Clause
// Which card serves which GPU, on machines of many shapes.
#include "topo/rails.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

namespace beeline::topo {
namespace {

namespace fs = std::filesystem;

/// A device straight below a port of the processor.
PciPlace direct(const std::string& root, int port, int numa) {
    const std::string hop = std::to_string(port);
    return {"/sys/devices/pci0000:" + root + "/0000:" + root + ":0" + hop + ".0/0000:" + root +
                "1:00.0",
            numa};
}

/// A device behind a switch: the switch's upstream bridge, a downstream bridge, the device.
PciPlace behind(const std::string& root, int leg, int numa, int port = 1) {
    const std::string hop = std::to_string(port);
    const std::string down = std::to_string(leg);
    return {"/sys/devices/pci0000:" + root + "/0000:" + root + ":0" + hop + ".0/0000:a" + hop +
                ":00.0/0000:b" + hop + ":0" + down + ".0/0000:c" + down + ":00.0",
            numa};
}

/// A device behind a switch below the leg of another one.
PciPlace nested(const std::string& root, int leg, int below, int numa) {
    PciPlace place = behind(root, leg, numa);
    place.path += "/0000:d" + std::to_string(leg) + ":0" + std::to_string(below) + ".0/0000:e" +
                  std::to_string(below) + ":00.0";
    return place;
}

Nic nic(const PciPlace& place, unsigned speed = 100000, bool up = true) {
    return {place, speed, up};
}

using Indices = std::vector<unsigned>;

Indices firsts(const std::vector<GpuRails>& rails) {
    Indices list;
    for (const GpuRails& gpu : rails) {
        list.push_back(gpu.rails.empty() ? 99 : gpu.rails[0]);
    }
    return list;
}

TEST(Distance, IsWhatLiesBetween) {
    const PciPlace nic_place = behind("10", 2, 0);
    EXPECT_EQ(distance_between(behind("10", 1, 0), nic_place), Distance::kSwitch);
    EXPECT_EQ(distance_between(nested("10", 1, 1, 0), nic_place), Distance::kSwitches);
    EXPECT_EQ(distance_between(behind("10", 1, 0, 2), nic_place), Distance::kHostBridge);
    EXPECT_EQ(distance_between(direct("20", 1, 0), nic_place), Distance::kNode);
    EXPECT_EQ(distance_between(direct("20", 1, 1), nic_place), Distance::kSystem);
    EXPECT_EQ(distance_between(PciPlace(), nic_place), Distance::kUnknown);
    EXPECT_EQ(distance_between({"", 0}, nic_place), Distance::kNode) << "a virtual machine";
    EXPECT_EQ(distance_between({"", 1}, nic_place), Distance::kSystem);
    EXPECT_EQ(distance_between(direct("20", 1, -1), nic_place), Distance::kNode)
        << "where there is one node the kernel says -1";
    PciPlace function = nic_place;
    function.path.back() = '1';
    EXPECT_EQ(distance_between(function, nic_place), Distance::kSwitch) << "one board";
}

TEST(Rails, EightGpusAndEightCardsInFourSwitchPairsEachGetTheirOwn) {  // DGX-like
    std::vector<PciPlace> gpus;
    std::vector<Nic> nics;
    for (int i = 0; i < 4; ++i) {
        const std::string root = std::to_string(i + 1) + "0";
        for (int leg = 1; leg <= 2; ++leg) {
            gpus.push_back(behind(root, leg, i / 2));
            nics.push_back(nic(behind(root, leg + 2, i / 2), 400000));
        }
    }
    const auto rails = assign_rails(gpus, nics);
    Indices used = firsts(rails);
    for (unsigned gpu = 0; gpu < 8; ++gpu) {
        EXPECT_EQ(rails[gpu].distance, Distance::kSwitch);
        EXPECT_EQ(used[gpu] / 2, gpu / 2) << "on its own switch";
        ASSERT_EQ(rails[gpu].rails.size(), 2U);
        EXPECT_EQ(rails[gpu].rails[1], used[gpu] ^ 1U) << "its neighbour is for striping";
    }
    std::sort(used.begin(), used.end());
    EXPECT_EQ(used, (Indices{0, 1, 2, 3, 4, 5, 6, 7})) << "none serves two";
}

TEST(Rails, InATreeOfSwitchesTheNearerOneServes) {  // PCIe tree
    const std::vector<PciPlace> gpus{nested("10", 1, 1, 0), nested("10", 1, 2, 0),
                                     nested("10", 2, 1, 0), nested("10", 2, 2, 0)};
    const std::vector<Nic> nics{nic(nested("10", 2, 3, 0)), nic(nested("10", 1, 3, 0))};
    const auto rails = assign_rails(gpus, nics);
    EXPECT_EQ(firsts(rails), (Indices{1, 1, 0, 0}));
    EXPECT_EQ(rails[0].rails, (Indices{1, 0})) << "the other one is within the tree";
}

TEST(Rails, OfTwoSocketsEachUsesItsOwnCard) {
    const std::vector<PciPlace> gpus{direct("10", 1, 0), direct("10", 2, 0), direct("20", 1, 1),
                                     direct("20", 2, 1)};
    const std::vector<Nic> nics{nic(direct("20", 3, 1)), nic(direct("10", 3, 0))};
    const auto rails = assign_rails(gpus, nics);
    EXPECT_EQ(firsts(rails), (Indices{1, 1, 0, 0}));
    EXPECT_EQ(rails[0].distance, Distance::kHostBridge);
    EXPECT_EQ(rails[0].rails.size(), 1U) << "not over the link between the sockets";
}

TEST(Rails, ASingleCardServesAll) {
    const std::vector<PciPlace> gpus{direct("10", 1, 0), direct("20", 1, 1), behind("30", 1, 1)};
    const std::vector<Nic> nics{nic(direct("10", 3, 0))};
    const auto rails = assign_rails(gpus, nics);
    EXPECT_EQ(firsts(rails), (Indices{0, 0, 0}));
    EXPECT_EQ(rails[0].distance, Distance::kHostBridge);
    EXPECT_EQ(rails[1].distance, Distance::kSystem);
}

TEST(Rails, WithoutACardThereIsNone) {
    const std::vector<PciPlace> gpus{direct("10", 1, 0), direct("20", 1, 1)};
    const auto rails = assign_rails(gpus, {});
    ASSERT_EQ(rails.size(), 2U);
    EXPECT_TRUE(rails[0].rails.empty());
    EXPECT_EQ(rails[0].distance, Distance::kUnknown);
    EXPECT_TRUE(assign_rails({}, {}).empty());
}

TEST(Rails, ACardThatIsDownIsNotUsed) {
    const std::vector<PciPlace> gpus{behind("10", 1, 0), behind("20", 1, 1)};
    std::vector<Nic> nics{nic(behind("10", 2, 0)), nic(behind("20", 2, 1), 100000, false)};
    auto rails = assign_rails(gpus, nics);
    EXPECT_EQ(firsts(rails), (Indices{0, 0}));
    EXPECT_EQ(rails[1].distance, Distance::kSystem);
    nics[0].up = false;
    rails = assign_rails(gpus, nics);
    EXPECT_TRUE(rails[0].rails.empty());
    EXPECT_TRUE(rails[1].rails.empty());
}

TEST(Rails, UnevenNumbersAreSpreadEvenly) {
    std::vector<PciPlace> gpus;
    for (int leg = 1; leg <= 6; ++leg) {
        gpus.push_back(behind("10", leg, 0));
    }
    std::vector<Nic> nics;
    for (int leg = 7; leg <= 9; ++leg) {
        nics.push_back(nic(behind("10", leg, 0)));
    }
    nics.push_back(nic(behind("10", 0, 0)));
    Indices used = firsts(assign_rails(gpus, nics));
    for (unsigned card = 0; card < 4; ++card) {
        const auto count = std::count(used.begin(), used.end(), card);
        EXPECT_TRUE(count == 1 || count == 2) << count;
    }
}

TEST(Rails, AFasterCardServesMore) {
    std::vector<PciPlace> gpus;
    for (int leg = 1; leg <= 6; ++leg) {
        gpus.push_back(behind("10", leg, 0));
    }
    const std::vector<Nic> nics{nic(behind("10", 7, 0), 100000), nic(behind("10", 8, 0), 200000)};
    const auto rails = assign_rails(gpus, nics);
    const Indices used = firsts(rails);
    EXPECT_EQ(std::count(used.begin(), used.end(), 0U), 2);
    EXPECT_EQ(std::count(used.begin(), used.end(), 1U), 4);
}

TEST(Rails, MovingOneGpuMakesRoomForAnother) {
    // The first GPU is equally near to both cards (behind a bridge each, one host bridge); the
    // second has only the first card so near.
    const std::vector<PciPlace> gpus{direct("10", 1, 0), behind("10", 1, 0, 2)};
    const std::vector<Nic> nics{nic(behind("10", 2, 0, 2)), nic(direct("10", 3, 0))};
    EXPECT_EQ(firsts(assign_rails(gpus, nics)), (Indices{1, 0}));
}

TEST(Rails, NodesWithoutCardsShareThoseOfTheOthers) {  // NUMA-split: four nodes, cards on two
    std::vector<PciPlace> gpus;
    for (int node = 0; node < 4; ++node) {
        gpus.push_back(direct(std::to_string(node + 1) + "0", 1, node));
    }
    const std::vector<Nic> nics{nic(direct("20", 2, 1)), nic(direct("40", 2, 3))};
    const auto rails = assign_rails(gpus, nics);
    const Indices used = firsts(rails);
    EXPECT_EQ(used[1], 0U);
    EXPECT_EQ(used[3], 1U);
    EXPECT_NE(used[0], used[2]) << "one of the homeless each";
    EXPECT_EQ(rails[0].distance, Distance::kSystem);
    EXPECT_EQ(rails[0].rails.size(), 2U) << "both are as far";
}

TEST(Rails, DevicesOfNoKnownPlaceAreDealtOut) {  // software devices
    const std::vector<PciPlace> gpus(4);
    const std::vector<Nic> nics{nic({}), nic({})};
    const Indices used = firsts(assign_rails(gpus, nics));
    EXPECT_EQ(std::count(used.begin(), used.end(), 0U), 2);
}

TEST(Rails, NoCardServesManyMoreWhileOneAsNearServesFewer) {
    std::mt19937 random(5);
    for (int round = 0; round < 200; ++round) {
        std::vector<PciPlace> gpus;
        std::vector<Nic> nics;
        const auto place = [&] {
            const auto root = std::to_string(random() % 3 + 1) + "0";
            return behind(root, static_cast<int>(random() % 9), static_cast<int>(root[0] > '1'),
                          static_cast<int>(random() % 2 + 1));
        };
        for (unsigned i = random() % 9; i > 0; --i) {
            gpus.push_back(place());
        }
        for (unsigned i = random() % 9; i > 0; --i) {
            nics.push_back(nic(place(), 100000, random() % 5 != 0));
        }
        const auto rails = assign_rails(gpus, nics);
        const Indices used = firsts(rails);
        const auto load = [&](unsigned card) { return std::count(used.begin(), used.end(), card); };
        for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
            for (unsigned card = 0; card < nics.size(); ++card) {
                if (!nics[card].up) {
                    EXPECT_EQ(load(card), 0);
                    continue;
                }
                ASSERT_FALSE(rails[gpu].rails.empty());
                const Distance distance = distance_between(gpus[gpu], nics[card].place);
                EXPECT_GE(distance, rails[gpu].distance) << "the nearest";
                if (distance == rails[gpu].distance) {
                    EXPECT_LE(load(used[gpu]), load(card) + 1) << "spread evenly";
                }
            }
        }
    }
}

/// A sysfs of the test's own.
class Sysfs : public testing::Test {
 protected:
    void SetUp() override {
        char pattern[] = "/tmp/beeline-sysfs-XXXXXX";
        root_ = mkdtemp(pattern);
        fs::create_directories(root_ + "/bus/pci/devices");
    }
    void TearDown() override { fs::remove_all(root_); }
    void add(const std::string& path, const std::string& vendor, const std::string& kind,
             int numa) {
        const fs::path folder = root_ + "/devices/" + path;
        fs::create_directories(folder);
        std::ofstream(folder / "vendor") << vendor << '\n';
        std::ofstream(folder / "class") << kind << '\n';
        std::ofstream(folder / "numa_node") << numa << '\n';
        fs::create_symlink(folder, fs::path(root_) / "bus/pci/devices" / folder.filename());
    }
    std::string root_;
};

TEST_F(Sysfs, PlacesAreRead) {
    add("pci0000:80/0000:80:01.0/0000:81:00.0", "0x10de", "0x030200", 1);
    add("pci0000:00/0000:00:01.0/0000:01:00.0", "0x10de", "0x030000", 0);
    add("pci0000:00/0000:00:02.0/0000:02:00.0", "0x15b3", "0x020700", 0);
    add("pci0000:00/0000:00:03.0/0000:03:00.0", "0x10de", "0x040300", 0);  // its sound
    const PciPlace gpu = place_of_pci(0, 0x81, 0, root_);
    EXPECT_EQ(gpu.numa, 1);
    EXPECT_NE(gpu.path.find("pci0000:80/0000:80:01.0/0000:81:00.0"), std::string::npos);
    const PciPlace card = place_of_folder(root_ + "/bus/pci/devices/0000:02:00.0");
    EXPECT_EQ(distance_between(gpu, card), Distance::kSystem);
    EXPECT_TRUE(place_of_pci(0, 0x99, 0, root_).path.empty());
    EXPECT_TRUE(place_of_folder(root_).path.empty()) << "no PCI device";
    const auto gpus = gpus_of_machine(root_);
    ASSERT_EQ(gpus.size(), 2U);
    EXPECT_EQ(gpus[0].numa, 0) << "in order of their addresses";
    EXPECT_EQ(gpus[1].path, gpu.path);
}

}  // namespace
}  // namespace beeline::topo
