// SPDX-License-Identifier: BSD-3-Clause
// Limits: the defaults follow from the default costs, the estimates move them, and what the user
// sets stands.
#include <gtest/gtest.h>

#include "unit/protocol/situations.hpp"

namespace beeline::protocol {
namespace {

TEST(LimitsOf, DefaultsAreTheMeasuredOnes) {
    const config::Params params;
    const Limits limits = limits_of(params);
    EXPECT_EQ(limits.eager, params.pml_eager_limit);
    EXPECT_EQ(limits.fragments, params.pml_fragments_limit);
    EXPECT_EQ(limits.ucx_eager, params.pml_ucx_eager_limit);
    EXPECT_EQ(limits.device_eager, params.pml_device_eager_limit);
    EXPECT_EQ(limits.rendezvous_shm, params.pml_shm_limit);
    EXPECT_EQ(limits.device_ucx, params.pml_device_ucx_eager_limit);
}

// A rendezvous costs a round trip more, a message that a card reads one copy or two less.
TEST(LimitsOf, DeviceDataToAnotherNodeWaitsLongerForARendezvousWithoutRdma) {
    const Limits limits = limits_of(config::Params{});
    SendFacts facts{.bytes = limits.device_ucx, .on_device = true};
    EXPECT_EQ(choose_start(facts, limits).start, Start::kEagerUcx);
    facts.rdma = true;
    EXPECT_EQ(choose_start(facts, limits).start, Start::kOffers);
    facts = {.bytes = limits.device_ucx, .shared_memory = true, .on_device = true};
    EXPECT_EQ(choose_start(facts, limits).start, Start::kOffers);
    facts = {.bytes = limits.device_ucx + 1, .on_device = true};
    EXPECT_EQ(choose_start(facts, limits).start, Start::kOffers);
}

// Not only because of the limits: without them the estimates cross just above.
TEST(LimitsOf, DefaultCostsCrossNearTheLimits) {
    const config::Params defaults;
    const Costs costs = costs_of(defaults);
    const Limits twice{2 * defaults.pml_eager_limit, 2 * defaults.pml_fragments_limit,
                       2 * defaults.pml_ucx_eager_limit, 2 * defaults.pml_device_eager_limit,
                       defaults.pml_shm_limit};
    const auto cheapest_at = [&](std::size_t bytes, bool shared_memory, bool on_device) {
        Situation situation = neighbours(bytes, on_device, on_device);
        situation.shared_memory = situation.same_node = shared_memory;
        return cheapest(candidates(situation, twice, costs))->protocol->id;
    };
    EXPECT_EQ(cheapest_at(defaults.pml_eager_limit, true, false), Id::kEagerHost);
    EXPECT_NE(cheapest_at(2 * defaults.pml_eager_limit, true, false), Id::kEagerHost);
    EXPECT_EQ(cheapest_at(defaults.pml_fragments_limit, true, false), Id::kFragments);
    // This limit is for the memory of unexpected messages; a rendezvous takes longer.
    EXPECT_EQ(cheapest_at(2 * defaults.pml_fragments_limit, true, false), Id::kFragments);
    EXPECT_EQ(cheapest_at(3 * defaults.pml_fragments_limit, true, false), Id::kRendezvousShm);
    EXPECT_EQ(cheapest_at(std::size_t{1} << 40, true, false), Id::kRendezvousShm);
    EXPECT_EQ(cheapest_at(defaults.pml_ucx_eager_limit, false, false), Id::kEagerUcx);
    EXPECT_EQ(cheapest_at(2 * defaults.pml_ucx_eager_limit, false, false), Id::kRendezvousUcx);
    EXPECT_EQ(cheapest_at(defaults.pml_device_eager_limit, true, true), Id::kEagerDevice);
    EXPECT_EQ(cheapest_at(2 * defaults.pml_device_eager_limit, true, true), Id::kIpcGet);
}

TEST(LimitsOf, CostsMoveWhatWasNotSet) {
    config::Params params;
    params.pml_cost_mapping = 0;  // nothing speaks against mapping at once
    EXPECT_EQ(limits_of(params).device_eager, 0U);
    params.pml_cost_mapping = 6100;
    const std::size_t between = limits_of(params).device_eager;
    EXPECT_GT(between, 1000U);
    EXPECT_LT(between, params.pml_device_eager_limit);
    params.pml_cost_ucx_latency = 700;
    EXPECT_LT(limits_of(params).ucx_eager, params.pml_ucx_eager_limit);
    EXPECT_EQ(limits_of(params).eager, params.pml_eager_limit);
    EXPECT_EQ(limits_of(params).fragments, params.pml_fragments_limit);
    // A machine whose kernel copies faster than two processors through their caches.
    params.pml_cost_cma_bandwidth = 12000;
    const std::size_t crossing = limits_of(params).rendezvous_shm;
    EXPECT_GT(crossing, params.pml_fragments_limit / 2);
    EXPECT_LT(crossing, std::size_t{1} << 20);
    params.pml_cost_cma_latency = 100;
    EXPECT_LT(limits_of(params).fragments, params.pml_fragments_limit);
}

TEST(LimitsOf, WhatTheUserSetsStands) {
    config::Params params;
    params.pml_eager_limit = 65536;
    params.pml_fragments_limit = 1048576;
    params.pml_ucx_eager_limit = 524288;
    params.pml_device_eager_limit = 0;
    Limits limits = limits_of(params);
    EXPECT_EQ(limits.eager, 65536U);
    EXPECT_EQ(limits.fragments, 1048576U);
    EXPECT_EQ(limits.ucx_eager, 524288U);
    EXPECT_EQ(limits.device_eager, 0U);
    params.pml_shm_limit = 1 << 20;
    params.pml_cost_cma_bandwidth = 1000000;
    EXPECT_EQ(limits_of(params).rendezvous_shm, std::size_t{1} << 20);
    params.pml_device_eager_limit = 65536;
    params.pml_cost_mapping = 0;
    EXPECT_EQ(limits_of(params).device_eager, 65536U);
}

TEST(LimitsOf, AThreadForProgressPrefersUcxForLargeHostMessages) {
    config::Params params;
    params.pml_async_progress = true;
    EXPECT_EQ(limits_of(params).rendezvous_shm, std::size_t{1} << 20);
    for (const config::Row& row : config::rows()) {
        if (row.offset == offsetof(config::Params, pml_shm_limit)) {
            config::note_given(params, row);
        }
    }
    EXPECT_EQ(limits_of(params).rendezvous_shm, params.pml_shm_limit) << "set by the user";
}

TEST(LimitsOf, WhatTheUserSetsToTheDefaultStandsToo) {
    config::Params params;
    params.pml_cost_mapping = 0;
    EXPECT_EQ(limits_of(params).device_eager, 0U);
    for (const config::Row& row : config::rows()) {
        if (row.offset == offsetof(config::Params, pml_device_eager_limit)) {
            config::note_given(params, row);
        }
    }
    EXPECT_EQ(limits_of(params).device_eager, params.pml_device_eager_limit);
    params.pml_cost_ucx_latency = 700;
    EXPECT_LT(limits_of(params).ucx_eager, params.pml_ucx_eager_limit) << "not set";
}

TEST(LimitsOf, APreferenceOpensItsWay) {
    config::Params params;
    const auto with = [&](Preference preference) {
        params.pml_protocol = static_cast<int>(preference);
        return limits_of(params);
    };
    EXPECT_EQ(preference_of(params), Preference::kAuto);
    params.pml_cost_mapping = 0;
    EXPECT_EQ(with(Preference::kEager).device_eager, params.pml_device_eager_limit);
    params.pml_cost_mapping = 6500;
    EXPECT_EQ(with(Preference::kFragments).eager, 0U);
    EXPECT_EQ(with(Preference::kFragments).fragments, params.pml_fragments_limit);
    const Limits none = with(Preference::kRendezvous);
    EXPECT_EQ(none.eager + none.fragments + none.ucx_eager + none.device_eager, 0U);
    EXPECT_EQ(none.rendezvous_shm, params.pml_shm_limit) << "is no eager way";
    const Limits shm = with(Preference::kRendezvousShm);
    EXPECT_EQ(shm.eager + shm.fragments + shm.ucx_eager + shm.device_eager, 0U);
    EXPECT_EQ(shm.rendezvous_shm, SIZE_MAX);
    const Limits ucx = with(Preference::kRendezvousUcx);
    EXPECT_EQ(ucx.eager + ucx.fragments + ucx.ucx_eager + ucx.device_eager + ucx.rendezvous_shm,
              0U);
    for (const Preference device :
         {Preference::kIpcGet, Preference::kIpcPut, Preference::kStaged, Preference::kBounce}) {
        EXPECT_EQ(with(device).device_eager + with(device).device_ucx, 0U);
        EXPECT_EQ(with(device).eager, params.pml_eager_limit);
    }
}

TEST(LimitsOf, EndWhereTheNextProtocolIsCheaper) {
    EXPECT_TRUE(rc::check("no limit beyond the crossing", [] {
        config::Params params;
        params.pml_cost_shm_latency = *rc::gen::inRange(0, 20000);
        params.pml_cost_ucx_latency = *rc::gen::inRange(0, 20000);
        params.pml_cost_host_copy_latency = *rc::gen::inRange(0, 20000);
        params.pml_cost_mapping = *rc::gen::inRange(0, 20000);
        const Costs costs = costs_of(params);
        const Limits caps{params.pml_eager_limit, params.pml_fragments_limit,
                          params.pml_ucx_eager_limit, params.pml_device_eager_limit};
        const Limits limits = limits_of(params);
        if (limits.device_eager > 0) {
            const auto at = candidates(neighbours(limits.device_eager, true, true), caps, costs);
            RC_ASSERT(cheapest(at)->protocol == &eager_device);
        }
        if (limits.device_eager < caps.device_eager) {
            const auto at =
                candidates(neighbours(limits.device_eager + 1, true, true), caps, costs);
            RC_ASSERT(cheapest(at)->protocol != &eager_device);
        }
    }));
}

}  // namespace
}  // namespace beeline::protocol
