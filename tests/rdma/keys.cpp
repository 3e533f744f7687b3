// SPDX-License-Identifier: BSD-3-Clause
// Keys that are wrong or no longer good, with real verbs: two engines of one process over two
// devices that face each other. A message that meets one is moved again, and right.
//   keys DEVICE DEVICE
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "support/log_capture.hpp"
#include "tests/world/rdma_nodes.hpp"

namespace beeline::world {
namespace {

const char* devices[2] = {"rxe0", "rxe1"};

/// The verbs of this machine, with keys that go wrong when they are told to.
class Keys {
 public:
    static const mover::verbs::Api* api() {
        real_ = mover::verbs::Api::load();
        if (real_ == nullptr) {
            return nullptr;
        }
        static mover::verbs::Api decorated;
        decorated = *real_;
        decorated.post_send = post_send;
        decorated.reg_mr = [](ibv_pd* pd, void* address, std::size_t bytes, int access) {
            return note(real_->reg_mr(pd, address, bytes, access));
        };
        if (real_->reg_mr_iova2 != nullptr) {
            decorated.reg_mr_iova2 = [](ibv_pd* pd, void* address, std::size_t bytes,
                                        std::uint64_t iova, unsigned access) {
                return note(real_->reg_mr_iova2(pd, address, bytes, iova, access));
            };
        }
        decorated.dereg_mr = [](ibv_mr* region) {
            // What was revoked belongs to nobody any more.
            return regions_.erase(region) != 0 ? real_->dereg_mr(region) : 0;
        };
        return &decorated;
    }

    /// The next write or read names a key that was given to nobody.
    static void forge_next() { forge_ = true; }
    static bool forged() { return !forge_; }

    /// The kernel takes back what was registered of this memory.
    static int revoke(const void* address) {
        const auto at = reinterpret_cast<std::uint64_t>(address);
        int revoked = 0;
        for (auto entry = regions_.begin(); entry != regions_.end();) {
            const auto [base, bytes] = entry->second;
            if (at - base < bytes && real_->dereg_mr(entry->first) == 0) {
                entry = regions_.erase(entry);
                ++revoked;
            } else {
                ++entry;
            }
        }
        return revoked;
    }

 private:
    static ibv_mr* note(ibv_mr* region) {
        if (region != nullptr) {
            regions_[region] = {reinterpret_cast<std::uint64_t>(region->addr), region->length};
        }
        return region;
    }
    static int post_send(ibv_qp* pair, ibv_send_wr* first, ibv_send_wr** bad) {
        if (forge_ && first->opcode != IBV_WR_SEND_WITH_IMM) {
            forge_ = false;
            first->wr.rdma.rkey ^= 0x5a5a00;
        }
        return real_->post_send(pair, first, bad);
    }

    static inline const mover::verbs::Api* real_ = nullptr;
    static inline bool forge_ = false;
    static inline std::map<ibv_mr*, std::pair<std::uint64_t, std::size_t>> regions_;
};

/// Runs a test in a process of its own, with CUDA and the two devices.
template <class Body>
void with_devices(Preference preference, const Body& body) {
    Job job;
    job.size = 1;
    setenv("SOFTCUDA_HOST_ACCESS", "1", 1);
    run_ranks(job, [&](Rank& rank) {
        FakeCards::reset(0);
        Hardware hardware;
        hardware.api = Keys::api();
        hardware.devices[0] = devices[0];
        hardware.devices[1] = devices[1];
        ASSERT_NE(hardware.api, nullptr) << "no libibverbs here";
        const test::LogCapture log(LogLevel::kWarning);
        Nodes nodes(params_for(preference), 2, hardware);
        body(rank, nodes, log);
    });
}

class RealKeys : public testing::TestWithParam<Preference> {};

TEST_P(RealKeys, WrongOneCostsAnotherAttempt) {
    with_devices(GetParam(), [](Rank& rank, Nodes& nodes, const test::LogCapture& log) {
        ASSERT_EQ(transfer(nodes, rank, 1, kBytes).received.path, Path::kRdma);
        Keys::forge_next();
        const Ends ends = transfer(nodes, rank, 2, kBytes);
        EXPECT_TRUE(Keys::forged());
        EXPECT_EQ(ends.sent.status, Status::kOk);
        EXPECT_EQ(ends.received.status, Status::kOk);
        ASSERT_GE(log.lines().size(), 1U);
        EXPECT_NE(log.lines()[0].find("remote access error"), std::string::npos) << log.lines()[0];
        EXPECT_GE(nodes[0].rdma_counters().broken + nodes[1].rdma_counters().broken, 1U);
        usleep(100000);
        EXPECT_EQ(transfer(nodes, rank, 3, kBytes).received.path, Path::kRdma) << "and goes on";
    });
}

TEST_P(RealKeys, RevokedOneCostsARegistration) {
    with_devices(GetParam(), [](Rank& rank, Nodes& nodes, const test::LogCapture& log) {
        MessageMemory out(rank.driver(), Kind::kDevice, kBytes, 0, false);
        MessageMemory in(rank.driver(), Kind::kDevice, kBytes, 0, false);
        for (unsigned number = 0; number < 4; ++number) {
            EXPECT_EQ(exchange(nodes, out, in, number).status, Status::kOk) << number;
            if (number == 1) {
                EXPECT_EQ(Keys::revoke(out.all().address), 1);
                EXPECT_EQ(Keys::revoke(in.all().address), 1);
            }
            usleep(100000);
        }
        EXPECT_GE(nodes[0].rdma_counters().retries + nodes[1].rdma_counters().retries, 1U);
        EXPECT_GE(log.lines().size(), 1U);
    });
}

TEST_P(RealKeys, RevokedInTheMiddleOfATransfer) {
    with_devices(GetParam(), [](Rank& rank, Nodes& nodes, const test::LogCapture& log) {
        constexpr std::size_t kLarge = 24 << 20;  // more than is posted at once
        transfer(nodes, rank, 1, kBytes);
        MessageMemory out(rank.driver(), Kind::kDevice, kLarge, 0, false);
        MessageMemory in(rank.driver(), Kind::kDevice, kLarge, 0, false);
        Ticket send;
        Ticket receive;
        out.fill(content(kLarge, 2));
        const auto begun = [&] {
            return nodes[0].rdma_counters().rails[0].shares +
                   nodes[1].rdma_counters().rails[0].shares;
        };
        const std::uint64_t before = begun();
        nodes.receive(1, receive, in);
        nodes.send(0, send, out);
        while (begun() == before) {
            nodes.progress();
        }
        EXPECT_EQ(Keys::revoke(in.all().address), 1);
        nodes.wait(receive);
        nodes.wait(send);
        EXPECT_EQ(receive.outcome().status, Status::kOk);
        EXPECT_EQ(send.outcome().status, Status::kOk);
        EXPECT_TRUE(in.holds(content(kLarge, 2)));
        EXPECT_GE(nodes[0].rdma_counters().broken + nodes[1].rdma_counters().broken, 1U);
        EXPECT_GE(log.lines().size(), 1U);
    });
}

INSTANTIATE_TEST_SUITE_P(Rdma, RealKeys,
                         testing::Values(Preference::kRdmaWrite, Preference::kRdmaRead),
                         [](const auto& each) {
                             return each.param == Preference::kRdmaRead ? "Read" : "Write";
                         });

}  // namespace
}  // namespace beeline::world

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    for (int i = 0; i < 2 && i + 1 < argc; ++i) {
        beeline::world::devices[i] = argv[i + 1];
    }
    return RUN_ALL_TESTS();
}
