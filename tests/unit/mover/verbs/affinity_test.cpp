// SPDX-License-Identifier: BSD-3-Clause
// Which ports a process starts with.
#include "mover/verbs/affinity.hpp"

#include <gtest/gtest.h>

#include "unit/mover/verbs/fake_gpu.hpp"
#include "unit/mover/verbs/fake_verbs.hpp"

namespace beeline::mover::verbs {
namespace {

topo::PciPlace behind(const std::string& root, int leg, int numa) {
    return {"/sys/devices/pci0000:" + root + "/0000:" + root + ":01.0/0000:a0:00.0/0000:b0:0" +
                std::to_string(leg) + ".0/0000:c" + std::to_string(leg) + ":00.0",
            numa};
}

class Affinity : public testing::Test {
 protected:
    void open(unsigned cards) {
        for (unsigned i = 0; i < cards; ++i) {
            verbs_.add("c" + std::to_string(i));
        }
        ASSERT_EQ(devices_.open(verbs_.api(), {}, "/nowhere"), Status::kOk);
    }
    Port& port(unsigned rail) { return *devices_.ports()[rail]; }
    std::vector<std::string> near(const GpuPlace& gpu, std::size_t most = 8,
                                  topo::Distance farthest = topo::Distance::kSystem) {
        std::vector<std::string> names;
        for (const Port* port : rails_near(devices_, gpu, most, farthest)) {
            names.push_back(port->name);
        }
        return names;
    }
    using Names = std::vector<std::string>;

    test::FakeVerbs verbs_;
    Devices devices_;
};

TEST_F(Affinity, EachGpuStartsWithItsOwnPort) {
    open(4);
    std::vector<topo::PciPlace> gpus;
    for (unsigned i = 0; i < 4; ++i) {
        const std::string root = i < 2 ? "10" : "20";
        gpus.push_back(behind(root, static_cast<int>(i % 2), static_cast<int>(i / 2)));
        port(i).place = behind(root, static_cast<int>(i % 2 + 2), static_cast<int>(i / 2));
    }
    EXPECT_EQ(near({gpus[0], 0, gpus}), (Names{"c0:1", "c1:1", "c2:1", "c3:1"}));
    EXPECT_EQ(near({gpus[1], 0, gpus}), (Names{"c1:1", "c0:1", "c2:1", "c3:1"}));
    EXPECT_EQ(near({gpus[2], 0, gpus}, 1), Names{"c2:1"});
    EXPECT_EQ(near({gpus[3], 0, gpus}, 2), (Names{"c3:1", "c2:1"}));
    port(3).up = false;
    EXPECT_EQ(near({gpus[3], 0, gpus}), (Names{"c2:1", "c0:1", "c1:1", "c3:1"}));
    EXPECT_EQ(near({gpus[2], 0, {}}, 1), Names{"c2:1"}) << "if nothing is known of other GPUs";
}

TEST_F(Affinity, GpusOfUnknownPlaceTakeTurns) {
    open(3);
    EXPECT_EQ(near({{}, 0, {}}), (Names{"c0:1", "c1:1", "c2:1"}));
    EXPECT_EQ(near({{}, 1, {}}), (Names{"c1:1", "c2:1", "c0:1"}));
    EXPECT_EQ(near({{}, 5, {}}, 1), Names{"c2:1"});
    port(1).up = false;
    EXPECT_EQ(near({{}, 1, {}}), (Names{"c2:1", "c0:1", "c1:1"}));
}

TEST_F(Affinity, APortTooFarAwayIsLeftOut) {
    open(3);
    const topo::PciPlace gpu = behind("10", 0, 0);
    port(0).place = behind("20", 0, 1);
    port(1).place = behind("30", 0, 0);
    EXPECT_EQ(near({gpu, 0, {}}, 8, topo::Distance::kNode), (Names{"c1:1", "c2:1"}));
    EXPECT_EQ(near({gpu, 0, {}}, 8, topo::Distance::kSwitch), Names{"c2:1"})
        << "nothing is known of that one";
    EXPECT_EQ(near({gpu, 0, {}}, 1, topo::Distance::kSystem), Names{"c1:1"});
}

TEST_F(Affinity, TheDriverTellsThePlace) {
    test::FakeGpu gpu;
    gpu.attributes[CU_DEVICE_ATTRIBUTE_PCI_BUS_ID] = 7;
    const GpuPlace place = place_of_gpu(gpu.driver(), "/nowhere");
    EXPECT_TRUE(place.place.path.empty());
    EXPECT_EQ(place.number, 7U);
    EXPECT_TRUE(place.among.empty());
}

}  // namespace
}  // namespace beeline::mover::verbs
