// SPDX-License-Identifier: BSD-3-Clause
// The choice: the cheapest possible one, whatever the situation and the costs; and in words.
#include <gtest/gtest.h>

#include <string>

#include "protocol/explain.hpp"
#include "unit/protocol/situations.hpp"

namespace beeline::protocol {
namespace {

constexpr Limits kLimits{1000, 5000, 2000, 300, 400000, 800};

Costs default_costs() {
    return costs_of(config::Params{});
}

const Protocol& offer(const Situation& situation, Preference preference = Preference::kAuto) {
    return *choose_offer(situation, default_costs(), preference);
}

TEST(Cheapest, IsPossibleAndNoneIsCheaper) {
    EXPECT_TRUE(rc::check("cheapest possible", [] {
        const Situation situation = any_situation();
        const Candidates all = candidates(situation, kLimits, any_costs());
        const Candidate* best = cheapest(all);
        RC_ASSERT(best != nullptr);  // every message has a way
        RC_ASSERT(best->obstacle == Reason::kNone);
        for (const Candidate& each : all) {
            RC_ASSERT(each.obstacle != Reason::kNone || each.microseconds >= best->microseconds);
        }
    }));
}

TEST(ChooseOffer, IsTheCheapestPossibleOffer) {
    EXPECT_TRUE(rc::check("cheapest offer", [] {
        const Situation situation = any_situation();
        const Costs costs = any_costs();
        const Protocol* chosen = choose_offer(situation, costs, Preference::kAuto);
        if (chosen == nullptr) {
            RC_ASSERT(situation.same_process ||
                      (!situation.sender.on_device && !situation.receiver.on_device));
            return;
        }
        RC_ASSERT(chosen->stage == Stage::kOffer);
        for (const Protocol* each : table()) {
            if (each->stage == Stage::kOffer && each->obstacle(situation, {}) == Reason::kNone) {
                RC_ASSERT(chosen->estimate(situation, costs) <= each->estimate(situation, costs));
            }
        }
    }));
}

// The receiver decides; a sender that is told the same facts comes to the same answer.
TEST(ChooseOffer, DependsOnNothingButTheOffers) {
    EXPECT_TRUE(rc::check("same facts, same choice", [] {
        const Situation situation = any_situation();
        const Costs costs = any_costs();
        const Situation copy = situation;
        for (int word = 0; word <= static_cast<int>(Preference::kIpcPush); ++word) {
            const auto preference = static_cast<Preference>(word);
            RC_ASSERT(choose_offer(situation, costs, preference) ==
                      choose_offer(copy, costs, preference));
        }
    }));
}

TEST(ChooseOffer, PreferenceWinsWherePossible) {
    EXPECT_TRUE(rc::check("preferred when possible, else the cheapest", [] {
        const Situation situation = any_situation();
        const Costs costs = any_costs();
        for (const auto& [preference, protocol] :
             {std::pair(Preference::kIpcGet, &ipc_get), std::pair(Preference::kIpcPut, &ipc_put),
              std::pair(Preference::kIpcPush, &ipc_push), std::pair(Preference::kStaged, &staged),
              std::pair(Preference::kBounce, &bounce),
              std::pair(Preference::kRdmaWrite, &rdma_write),
              std::pair(Preference::kRdmaRead, &rdma_read)}) {
            const bool possible = protocol->obstacle(situation, {}) == Reason::kNone;
            RC_ASSERT(choose_offer(situation, costs, preference) ==
                      (possible ? protocol : choose_offer(situation, costs, Preference::kAuto)));
        }
    }));
}

TEST(ChooseOffer, ByDefaultGetsAndPutsWhereItCannotGet) {
    for (const std::size_t bytes :
         {std::size_t{8193}, std::size_t{1} << 20, std::size_t{1} << 30}) {
        Situation situation = neighbours(bytes, true, true);
        EXPECT_EQ(&offer(situation), &ipc_get) << bytes;
        situation.sender.exports = Reason::kNotExportable;
        EXPECT_EQ(&offer(situation), &ipc_put) << bytes;
        situation.bounce = Reason::kDirect;
        EXPECT_EQ(&offer(situation), &ipc_put) << bytes << ": one copy";
        situation.receiver.exports = Reason::kNotExportable;
        // Small messages are not worth the mapping.
        const bool large = bytes >= std::size_t{1} << 20;
        EXPECT_EQ(&offer(situation), large ? &bounce : &staged) << bytes;
        situation.bounce = Reason::kRefused;
        EXPECT_EQ(&offer(situation), &staged) << bytes;
        situation = neighbours(bytes, true, false);
        situation.receiver.pinned = true;
        EXPECT_EQ(&offer(situation), large ? &ipc_get : &staged) << bytes << ": into pinned memory";
        EXPECT_EQ(&offer(neighbours(bytes, true, false)), &staged) << bytes;
        EXPECT_EQ(&offer(neighbours(bytes, false, true)), &staged) << bytes;
    }
}

TEST(ChooseOffer, DataWithGapsStaysOnDevices) {
    Situation situation = neighbours(1 << 20, true, true);
    situation.receiver.contiguous = false;
    EXPECT_EQ(&offer(situation), &ipc_get);
    situation.sender.contiguous = false;
    situation.bounce = Reason::kDirect;
    EXPECT_EQ(&offer(situation), &bounce);
    situation.receiver.contiguous = true;
    EXPECT_EQ(&offer(situation), &ipc_push);
    situation.bounce = Reason::kNotOffered;
    situation.receiver.exports = Reason::kNotExportable;
    EXPECT_EQ(&offer(situation), &staged);
}

TEST(ChooseOffer, BetweenNodesWritesByRdmaWhereItCan) {
    for (const std::size_t bytes :
         {std::size_t{8193}, std::size_t{1} << 20, std::size_t{1} << 30}) {
        Situation situation = neighbours(bytes, true, true);
        situation.same_node = situation.shared_memory = false;
        EXPECT_EQ(&offer(situation), &staged) << bytes;
        situation.rdma = Reason::kDirect;
        EXPECT_EQ(&offer(situation), &rdma_write) << bytes;
        situation.receiver.registers = Reason::kNotRegistered;
        EXPECT_EQ(&offer(situation), &staged) << bytes;
    }
}

TEST(Choose, FollowsBothSteps) {
    const Limits limits = limits_of({});
    const auto chosen = [&](const Situation& situation) {
        return std::string(choose(situation, limits, default_costs(), Preference::kAuto).name);
    };
    EXPECT_EQ(chosen(neighbours(8, false, false)), "eager_host");
    EXPECT_EQ(chosen(neighbours(8, false, true)), "eager_host");
    EXPECT_EQ(chosen(neighbours(32768, false, false)), "fragments");
    EXPECT_EQ(chosen(neighbours(1 << 20, false, false)), "rendezvous_shm");
    EXPECT_EQ(chosen(neighbours(1 << 20, false, true)), "staged");
    EXPECT_EQ(chosen(neighbours(8, true, true)), "eager_device");
    EXPECT_EQ(chosen(neighbours(1 << 20, true, true)), "ipc_get");
    Situation remote = neighbours(8, true, true);
    remote.same_node = remote.shared_memory = false;
    EXPECT_EQ(chosen(remote), "eager_ucx");
    remote.bytes = 1 << 20;
    EXPECT_EQ(chosen(remote), "staged");
    remote.sender.on_device = remote.receiver.on_device = false;
    EXPECT_EQ(chosen(remote), "rendezvous_ucx");
    Situation self = neighbours(1 << 20, true, false);
    self.same_process = true;
    EXPECT_EQ(chosen(self), "self");
}

TEST(Choose, IsPossible) {
    EXPECT_TRUE(rc::check("the choice can be carried out", [] {
        const Situation situation = any_situation();
        const Protocol& protocol = choose(situation, kLimits, any_costs(), Preference::kAuto);
        RC_ASSERT(protocol.obstacle(situation, kLimits) == Reason::kNone);
    }));
}

TEST(Explain, NamesEveryProtocolAndMarksTheChoice) {
    const std::string text =
        explain(neighbours(1 << 20, true, true), limits_of({}), default_costs(), Preference::kAuto);
    for (const Protocol* each : table()) {
        EXPECT_NE(text.find(each->name), std::string::npos) << each->name;
    }
    EXPECT_NE(text.find("> ipc_get"), std::string::npos) << text;
    EXPECT_EQ(text.find('>'), text.rfind('>')) << text;
    EXPECT_NE(text.find("not possible: larger than this protocol's limit"), std::string::npos)
        << text;
    EXPECT_NE(text.find(" us "), std::string::npos) << text;
}

TEST(Explain, ListOfOffersIsCutToFit) {
    char room[400];
    const Situation situation = neighbours(1 << 20, true, true);
    const std::string all = list_offers(situation, default_costs(), room);
    EXPECT_EQ(all.rfind("ipc_get ", 0), 0U) << all;
    EXPECT_NE(all.find(", staged "), std::string::npos) << all;
    char small[10];
    EXPECT_EQ(list_offers(situation, default_costs(), small), all.substr(0, 9));
}

}  // namespace
}  // namespace beeline::protocol
