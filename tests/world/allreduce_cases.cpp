// SPDX-License-Identifier: BSD-3-Clause
// Inputs and expectations of allreduce tests.
#include "tests/world/allreduce_cases.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "coll/kernel/reduce_host.hpp"
#include "tests/world/elements.hpp"

namespace beeline::world {

using coll::kernel::Op;
using coll::kernel::Type;

std::string Case::name(int rank, int size) const {
    return std::string(coll::kernel::to_string(op)) + " " + coll::kernel::to_string(type) + " x" +
           std::to_string(count) + (in_place ? " in place" : "") + ", rank " +
           std::to_string(rank) + " of " + std::to_string(size);
}

std::vector<unsigned char> contribution(const Case& what, int rank) {
    std::vector<unsigned char> buffer(what.bytes());
    for (std::size_t index = 0; index < what.count; ++index) {
        write_element(what.type, what.op, index, rank,
                      buffer.data() + index * coll::kernel::size_of(what.type));
    }
    return buffer;
}

std::vector<unsigned char> expected(const Case& what, int size) {
    std::vector<unsigned char> result = contribution(what, 0);
    for (int rank = 1; rank < size; ++rank) {
        const std::vector<unsigned char> next = contribution(what, rank);
        coll::kernel::reduce_host(what.type, what.op, result.data(), next.data(), result.data(),
                                  what.count);
    }
    return result;
}

std::vector<Case> all_cases(const std::vector<std::size_t>& counts) {
    std::vector<Case> cases;
    for (const std::size_t count : counts) {
        for (const Type type : coll::kernel::kAllTypes) {
            for (const Op op : coll::kernel::kAllOps) {
                if (coll::kernel::supported(type, op)) {
                    cases.push_back({count, type, op, false, 0});
                    cases.push_back({count, type, op, true, 0});
                }
            }
        }
    }
    return cases;
}

/// The choice for this call; where that is to hand it over, the cheapest schedule instead, as there
/// is no other module here.
static coll::select::Choice choose(const coll::select::Facts& facts) {
    const coll::select::Settings settings = coll::select::own_settings();
    coll::select::Choice choice = coll::select::choose(facts, settings);
    if (choice.algorithm == nullptr) {
        double least = 0;
        for (const auto& one : coll::select::candidates(facts, settings)) {
            if (one.algorithm != nullptr && one.refusal == nullptr &&
                (choice.algorithm == nullptr || one.seconds < least)) {
                choice.algorithm = one.algorithm;
                choice.slices = one.slices;
                least = one.seconds;
            }
        }
    }
    return choice;
}

Status allreduce(coll::Context& context, const void* send, void* receive, std::size_t count,
                 coll::kernel::Type type, coll::kernel::Op op, coll::exec::Transport& transport) {
    coll::Call call;
    call.collective = coll::plan::Collective::kAllreduce;
    call.in_place = send == nullptr;
    call.input = send;
    call.output = receive;
    call.element = coll::kernel::size_of(type);
    call.sizes.count = count;
    call.type = type;
    call.op = op;
    coll::select::Facts facts;
    facts.request.size = transport.size();
    facts.bytes = static_cast<double>(count * call.element);
    return context.run(call, choose(facts), transport);
}

Forced::Forced(const char* word) : before_(config::params()) {
    for (const config::Row& row : config::rows()) {
        if (std::strcmp(row.component, "coll") == 0 &&
            std::strcmp(row.name, "allreduce_algorithm") == 0) {
            EXPECT_EQ(config::set(config::params(), row, word), Status::kOk);
        }
    }
}

Forced::~Forced() {
    config::params() = before_;
}

}  // namespace beeline::world
