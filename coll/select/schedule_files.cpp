// SPDX-License-Identifier: BSD-3-Clause
// Loading of files of schedules.
#include "coll/select/schedule_files.hpp"

#include "coll/plan/imported.hpp"
#include "coll/select/select.hpp"

namespace beeline::coll::select {
namespace {

/// FNV-1a of G. Fowler, L. C. Noll and K.-P. Vo, going on from `hash`.
std::uint64_t hash_on(std::uint64_t hash, std::string_view text) noexcept {
    hash = hash == 0 ? 0xcbf29ce484222325ULL : hash;
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    }
    return (hash ^ 0xff) * 0x100000001b3ULL;  // the end of a text
}

}  // namespace

plan::Loaded* ScheduleFiles::find(plan::Collective collective,
                                  const std::string& name) const noexcept {
    for (const auto& loaded : loaded_) {
        if (loaded->algorithm().collective == collective && name == loaded->algorithm().name) {
            return loaded.get();
        }
    }
    return nullptr;
}

/// Empty, or what is wrong with the file and what is allowed.
std::string ScheduleFiles::load_one(const std::string& file) {
    std::string text;
    if (std::string problem = read_file(file.c_str(), plan::kMostImportedBytes, text);
        !problem.empty()) {
        return problem + "; allowed: a file of up to 64 MiB";
    }
    plan::Imported imported = plan::import_text(text);
    if (!imported.ok()) {
        return file + ": " + imported.problem +
               "; allowed: schedules that `beeline-plan check` proves";
    }
    const plan::Collective collective = imported.world[0].collective;
    const std::string name = plan::name_of(imported);
    if (refuse_word(collective, name, Tuning{}).empty()) {
        return file + ": its name '" + name + "' is a word of coll_beeline_" +
               plan::to_string(collective) + "_algorithm; allowed: any other";
    }
    plan::Loaded* loaded = find(collective, name);
    const bool is_new = loaded == nullptr;
    if (is_new) {
        if (loaded_.size() == kMost) {
            return file + ": one algorithm too many; allowed: " + std::to_string(kMost);
        }
        loaded_.push_back(std::make_unique<plan::Loaded>(collective, name));
        loaded = loaded_.back().get();
    }
    const std::string problem = loaded->add(std::move(imported));
    if (!problem.empty()) {
        if (is_new) {
            loaded_.pop_back();
        }
        return file + ": " + problem;
    }
    hash_ = hash_on(hash_, text);
    return {};
}

void ScheduleFiles::load(std::string_view list) {
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        const std::string file(list.substr(0, comma));
        list.remove_prefix(std::min(comma + 1, list.size()));
        if (file.empty()) {
            continue;
        }
        std::string problem = load_one(file);
        if (!problem.empty()) {
            problems_.push_back(std::move(problem));
        }
    }
}

void ScheduleFiles::offer(Tuning& tuning) const {
    tuning.loaded.clear();
    for (const auto& loaded : loaded_) {
        tuning.loaded.push_back(&loaded->algorithm());
    }
    tuning.loaded_hash = hash_;
}

ScheduleFiles& ScheduleFiles::own() noexcept {
    static ScheduleFiles files;
    return files;
}

}  // namespace beeline::coll::select
