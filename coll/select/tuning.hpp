// SPDX-License-Identifier: BSD-3-Clause
// A machine's rates and rules, from a tuning file (docs/tuning.md describes the format).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "coll/plan/timeline.hpp"
#include "coll/select/model.hpp"
#include "config/config.hpp"

namespace beeline::coll::select {

using plan::Range;

/// One line of a file that names an algorithm.
struct Rule {
    plan::Collective collective{};
    const plan::Algorithm* algorithm = nullptr;  ///< null: staged
    Range ranks;
    Range nodes;
    Range bytes;     ///< of the vector, or of one block
    int slices = 0;  ///< 0: the model's best
    int line = 0;    ///< in the file
};

struct Tuning {
    Model model;
    std::vector<Rule> rules;  ///< the first that fits and can serve the call decides
    /// What files of schedules brought (schedule_files.hpp), in their order; parse() keeps them.
    std::vector<const plan::Algorithm*> loaded;
    std::uint64_t loaded_hash = 0;  ///< of the files' content
};

/// The algorithm of that name, built in or loaded; or null.
const plan::Algorithm* find(plan::Collective collective, std::string_view name,
                            const Tuning& tuning) noexcept;

/// Files longer than this are refused.
inline constexpr std::size_t kLongestTuningFile = std::size_t{1} << 20;

/// Reads a file into `text`. Empty when all is well; else the file and what is wrong, also when it
/// is longer than `longest` bytes, a multiple of 1 MiB.
std::string read_file(const char* file, std::size_t longest, std::string& text);

/// Reads `text`, the content of `file`. Empty when all is well; else what is wrong, with file,
/// line, value and what is allowed, and `tuning` is as it was.
std::string parse(std::string_view text, std::string_view file, Tuning& tuning);

/// Reads a file. Errors as of parse(), and of the file system.
std::string load(const char* file, Tuning& tuning);

/// A number that differs when choices may: of the rates and rules and of the parameters that decide
/// choices.
std::uint64_t fingerprint(const Tuning& tuning, const config::Params& params) noexcept;

/// The process's own: the built-in values until the file that a parameter names is loaded.
Tuning& tuning() noexcept;

/// What decides choices on a communicator: the process's own settings, or the built-in ones where
/// ranks differ.
struct Settings {
    const config::Params* params = nullptr;
    const Tuning* tuning = nullptr;
    bool no_gpu = false;  ///< no rank has one
    Memory memory() const noexcept {
        return params->coll_memory == 0 && !no_gpu ? Memory::kDevice : Memory::kHost;
    }
};

/// The same rates for the machine that plan::simulate() runs a world on: one class of links.
inline plan::Rates rates_of(std::span<const int> node_of, const Settings& settings) noexcept {
    const Model& model = settings.tuning->model;
    const Place& place = model.inside(settings.memory());
    const Link& link = several_nodes(node_of) ? model.across : place.link;
    return {link.alpha, 1 / link.beta, 1 / place.gamma, 1 / place.gamma, 0};
}

Settings own_settings() noexcept;
Settings built_in_settings() noexcept;

}  // namespace beeline::coll::select
