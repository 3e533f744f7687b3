// SPDX-License-Identifier: BSD-3-Clause
// The matcher against two plain lists, by random sequences of operations.
#include <algorithm>
#include <memory>
#include <ostream>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "match/matcher.hpp"
#include "support/uniform.hpp"

namespace beeline::match {
namespace {

enum class Kind { kArrive, kPost, kProbe, kCancel, kExtract };

struct Operation {
    Kind kind = Kind::kArrive;
    std::int32_t source = 0;
    std::int32_t tag = 0;
    std::size_t pick = 0;  // which queued element, for cancel and extract
};

std::ostream& operator<<(std::ostream& out, const Operation& operation) {
    static constexpr const char* kWords[] = {"arrive", "post", "probe", "cancel", "extract"};
    return out << kWords[static_cast<int>(operation.kind)] << '(' << operation.source << ", "
               << operation.tag << ", pick " << operation.pick << ')';
}

/// What MPI says, written down as plainly as possible.
class Model {
 public:
    Posted* arrive(std::int32_t source, std::int32_t tag) {
        const auto found = std::ranges::find_if(posted_, [&](const Posted* receive) {
            return accepts(receive->source, receive->tag, source, tag);
        });
        if (found == posted_.end()) {
            return nullptr;
        }
        Posted* receive = *found;
        posted_.erase(found);
        return receive;
    }
    void add_unexpected(Unexpected* message) { unexpected_.push_back(message); }
    Unexpected* post(Posted* receive) {
        Unexpected* message = probe(receive->source, receive->tag);
        if (message == nullptr) {
            posted_.push_back(receive);
        } else {
            extract(message);
        }
        return message;
    }
    Unexpected* probe(std::int32_t source, std::int32_t tag) const {
        const auto found = std::ranges::find_if(unexpected_, [&](const Unexpected* message) {
            return accepts(source, tag, message->source, message->tag);
        });
        return found == unexpected_.end() ? nullptr : *found;
    }
    void extract(Unexpected* message) { std::erase(unexpected_, message); }
    bool cancel(Posted* receive) { return std::erase(posted_, receive) == 1; }

    const std::vector<Posted*>& posted() const { return posted_; }
    const std::vector<Unexpected*>& unexpected() const { return unexpected_; }

 private:
    static bool accepts(std::int32_t wanted_source, std::int32_t wanted_tag, std::int32_t source,
                        std::int32_t tag) {
        const bool source_fits = wanted_source == kAnySource || wanted_source == source;
        const bool tag_fits = wanted_tag == kAnyTag ? tag >= 0 : wanted_tag == tag;
        return source_fits && tag_fits;
    }
    std::vector<Posted*> posted_;
    std::vector<Unexpected*> unexpected_;
};

/// Runs both side by side and compares every answer.
class Duel {
 public:
    void run(const Operation& operation) {
        switch (operation.kind) {
            case Kind::kArrive:
                arrive(operation);
                break;
            case Kind::kPost:
                post(operation);
                break;
            case Kind::kProbe:
                RC_ASSERT(matcher_.probe(operation.source, operation.tag) ==
                          model_.probe(operation.source, operation.tag));
                break;
            case Kind::kCancel:
                cancel(operation.pick);
                break;
            case Kind::kExtract:
                if (!model_.unexpected().empty()) {
                    auto* message =
                        model_.unexpected()[operation.pick % model_.unexpected().size()];
                    matcher_.extract(message);
                    model_.extract(message);
                }
                break;
        }
        RC_ASSERT(matcher_.posted_count() == model_.posted().size());
        RC_ASSERT(matcher_.unexpected_count() == model_.unexpected().size());
        RC_ASSERT(matcher_.empty() == (model_.posted().empty() && model_.unexpected().empty()));
    }

    /// What the visitors show is what the model holds.
    void compare_contents() {
        std::multiset<const Posted*> posted;
        matcher_.for_each_posted([&](const Posted& receive) { posted.insert(&receive); });
        RC_ASSERT(posted ==
                  std::multiset<const Posted*>(model_.posted().begin(), model_.posted().end()));
        std::vector<Unexpected*> unexpected;
        matcher_.for_each_unexpected([&](Unexpected& message) { unexpected.push_back(&message); });
        RC_ASSERT(unexpected == model_.unexpected());
    }

 private:
    void arrive(const Operation& operation) {
        Posted* receive = matcher_.arrive(operation.source, operation.tag);
        RC_ASSERT(receive == model_.arrive(operation.source, operation.tag));
        if (receive == nullptr) {
            auto* message = messages_.emplace_back(std::make_unique<Unexpected>()).get();
            message->source = operation.source;
            message->tag = operation.tag;
            matcher_.add_unexpected(message);
            model_.add_unexpected(message);
        }
    }
    void post(const Operation& operation) {
        auto* receive = receives_.emplace_back(std::make_unique<Posted>()).get();
        receive->source = operation.source;
        receive->tag = operation.tag;
        RC_ASSERT(matcher_.post(receive) == model_.post(receive));
    }
    void cancel(std::size_t pick) {
        if (!receives_.empty()) {  // of all ever posted: many are matched already
            Posted* receive = receives_[pick % receives_.size()].get();
            RC_ASSERT(matcher_.cancel(receive) == model_.cancel(receive));
        }
    }

    std::vector<std::unique_ptr<Posted>> receives_;
    std::vector<std::unique_ptr<Unexpected>> messages_;
    Matcher matcher_;
    Model model_;
};

/// Operations over `sources` ranks and as many tags, half of them negative. Wildcards in one of
/// `rarity`.
rc::Gen<Operation> any_operation(int sources, int rarity) {
    return rc::gen::exec([sources, rarity] {
        Operation operation;
        operation.kind = *rc::gen::weightedElement<Kind>({{8, Kind::kArrive},
                                                          {8, Kind::kPost},
                                                          {3, Kind::kProbe},
                                                          {2, Kind::kCancel},
                                                          {1, Kind::kExtract}});
        operation.source = *test::uniform(0, sources);
        operation.tag = *test::uniform(-sources / 2, (sources + 1) / 2);
        operation.pick = *test::uniform<std::size_t>(0, 1000);
        if (operation.kind == Kind::kPost || operation.kind == Kind::kProbe) {
            if (*test::uniform(0, rarity) == 0) {
                operation.source = kAnySource;
            }
            if (*test::uniform(0, rarity) == 0) {
                operation.tag = kAnyTag;
            }
        }
        return operation;
    });
}

void fight(const std::vector<Operation>& operations) {
    Duel duel;
    for (const Operation& operation : operations) {
        duel.run(operation);
    }
    duel.compare_contents();
}

RC_GTEST_PROP(MatcherModel, FewKeysManyWildcards, ()) {
    const auto length = *test::uniform<std::size_t>(0, 300);
    fight(*rc::gen::container<std::vector<Operation>>(length, any_operation(3, 3)));
}

RC_GTEST_PROP(MatcherModel, ManyKeysMakeTheTablesGrow, ()) {
    const auto length = *test::uniform<std::size_t>(500, 1500);
    fight(*rc::gen::container<std::vector<Operation>>(length, any_operation(64, 20)));
}

RC_GTEST_PROP(MatcherModel, DeepQueuesOfOneKey, ()) {
    const auto length = *test::uniform<std::size_t>(0, 500);
    fight(*rc::gen::container<std::vector<Operation>>(length, any_operation(1, 10)));
}

}  // namespace
}  // namespace beeline::match
