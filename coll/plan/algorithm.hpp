// SPDX-License-Identifier: BSD-3-Clause
// The table of all algorithms: what each is for, when it may be used, what it costs, how it is
// built.
#pragma once

#include <span>
#include <string_view>

#include "coll/plan/request.hpp"
#include "coll/plan/schedule.hpp"

namespace beeline::coll::plan {

/// What an algorithm costs its busiest rank, on the critical path, in units that a model multiplies
/// by measured rates. Hierarchical algorithms count what crosses nodes apart; of the others nothing
/// is said about which links they use, and `across_*` is zero.
struct Cost {
    double steps = 0;         ///< messages one after another (alpha)
    double bytes = 0;         ///< sent (beta)
    double reduced = 0;       ///< bytes of results of reductions (gamma)
    double across_steps = 0;  ///< messages one after another between nodes
    double across_bytes = 0;  ///< sent between nodes
    /// Messages that the busiest rank starts or takes, where they are more than the steps: of the
    /// direct methods, whose messages are all one step, but must be started one after another.
    double messages = 0;
};

/// A function; or one that belongs to an object, which must outlive it: what files brought knows
/// more than a function can.
template <class Signature>
class Method;
template <class Result, class... Arguments>
class Method<Result(Arguments...)> {
 public:
    constexpr Method() noexcept = default;
    // NOLINTNEXTLINE(google-explicit-constructor): a function is a method
    constexpr Method(Result (*function)(Arguments...)) noexcept : function_(function) {}
    constexpr Method(Result (*method)(const void*, Arguments...), const void* object) noexcept
        : method_(method), object_(object) {}
    Result operator()(Arguments... arguments) const {
        return object_ != nullptr ? method_(object_, arguments...) : function_(arguments...);
    }
    explicit constexpr operator bool() const noexcept {
        return object_ != nullptr || function_ != nullptr;
    }

 private:
    Result (*function_)(Arguments...) = nullptr;
    Result (*method_)(const void*, Arguments...) = nullptr;
    const void* object_ = nullptr;
};

/// One algorithm for one collective. The functions are pure.
struct Algorithm {
    Collective collective;
    const char* name;    ///< as in parameters and tuning files
    const char* source;  ///< the paper it comes from
    /// Whether the slices of a request make it faster: it pipelines.
    bool pipelines;
    /// Why it can't serve this request (in lower case, for people), or null.
    Method<const char*(const Request&)> refuses;
    /// This rank's part. The request must not be refused.
    Method<Schedule(const Request&)> build;
    /// For `bytes` of the vector, or of one block (varying blocks: of their mean).
    Method<Cost(const Request&, double bytes)> cost;
    /// Every element of a result is ((0 op 1) op 2) ... of the ranks' contributions, whatever the
    /// cut and the rank that computes it, as many joined at once as join() allows: algorithms of
    /// one collective that fold give the same bits.
    bool folds = false;
    /// Of what a file brought (loaded.hpp): whether it is meant for so many bytes, and so chosen
    /// unless something else is asked for. None: it is for the cost model to choose.
    Method<bool(const Request&, double bytes)> claims = {};
};

/// All algorithms, those of a collective together, in the order in which they were thought best to
/// be listed: the simplest first.
std::span<const Algorithm* const> algorithms() noexcept;

/// The algorithms of one collective.
std::span<const Algorithm* const> algorithms(Collective collective) noexcept;

/// The algorithm of that name, or null.
const Algorithm* find(Collective collective, std::string_view name) noexcept;

/// The collective of that name; false when there is none.
bool find(std::string_view name, Collective& collective) noexcept;

/// Refuses what no algorithm takes (a rank outside the communicator, a cut that doesn't fit), then
/// asks the algorithm.
const char* refuses(const Algorithm& algorithm, const Request& request) noexcept;

}  // namespace beeline::coll::plan
