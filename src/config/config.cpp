// SPDX-License-Identifier: BSD-3-Clause
// Parsing, bounds and printing of the parameters in params.def.
#include "config/config.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>
#include <mutex>

#include "base/log.hpp"

namespace beeline::config {
namespace {

constexpr Row kRows[] = {
#define BEELINE_BOOL(component, name, def, text) \
    {#component,                                 \
     #name,                                      \
     Kind::kBool,                                \
     0,                                          \
     1,                                          \
     "",                                         \
     def ? "true" : "false",                     \
     "",                                         \
     text,                                       \
     offsetof(Params, component##_##name)},
#define BEELINE_INT(component, name, def, min, max, unit, text) \
    {#component, #name, Kind::kInt, min,  max,                  \
     unit,       #def,  "",         text, offsetof(Params, component##_##name)},
#define BEELINE_SIZE(component, name, def, min, max, text) \
    {#component, #name, Kind::kSize, min,  max,            \
     "bytes",    #def,  "",          text, offsetof(Params, component##_##name)},
#define BEELINE_CHOICE(component, name, def, words, text) \
    {#component, #name, Kind::kChoice, 0,    0,           \
     "",         def,   words,         text, offsetof(Params, component##_##name)},
#define BEELINE_NAME(component, name, def, words, text) \
    {#component, #name, Kind::kName, 0,    0,           \
     "",         def,   words,       text, offsetof(Params, component##_##name)},
#define BEELINE_TEXT(component, name, text) \
    {#component, #name, Kind::kText, 0, 0, "", "", "", text, offsetof(Params, component##_##name)},
#include "config/params.def"
#undef BEELINE_BOOL
#undef BEELINE_INT
#undef BEELINE_SIZE
#undef BEELINE_CHOICE
#undef BEELINE_NAME
#undef BEELINE_TEXT
};

static_assert(std::size(kRows) <= 128, "Params::given has a bit for each row");

template <class T>
T& field(Params& params, const Row& row) noexcept {
    return *reinterpret_cast<T*>(reinterpret_cast<char*>(&params) + row.offset);
}

template <class T>
const T& field(const Params& params, const Row& row) noexcept {
    return *reinterpret_cast<const T*>(reinterpret_cast<const char*>(&params) + row.offset);
}

Status refuse(const Row& row, std::string_view text, const char* allowed) noexcept {
    log(LogLevel::kError, "parameter %s_beeline_%s: '%.*s' is refused; allowed: %s", row.component,
        row.name, static_cast<int>(text.size()), text.data(), allowed);
    return Status::kInvalid;
}

bool parse_bool(std::string_view text, bool& value) noexcept {
    for (std::string_view word : {"1", "true", "yes", "on", "enabled"}) {
        if (text == word) {
            value = true;
            return true;
        }
    }
    for (std::string_view word : {"0", "false", "no", "off", "disabled"}) {
        if (text == word) {
            value = false;
            return true;
        }
    }
    return false;
}

/// A whole number, with an optional K, M or G suffix when `suffixes`.
bool parse_number(std::string_view text, bool suffixes, std::uint64_t& value) noexcept {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) {
        return false;
    }
    std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
    if (rest.empty()) {
        return true;
    }
    unsigned shift = 0;
    if (rest == "K" || rest == "k") {
        shift = 10;
    } else if (rest == "M" || rest == "m") {
        shift = 20;
    } else if (rest == "G" || rest == "g") {
        shift = 30;
    } else {
        return false;
    }
    if (!suffixes || value > (std::numeric_limits<std::uint64_t>::max() >> shift)) {
        return false;
    }
    value <<= shift;
    return true;
}

/// The place of `text` in the '|'-separated words, or -1.
int find_word(std::string_view words, std::string_view text) noexcept {
    for (int index = 0;; ++index) {
        const auto bar = words.find('|');
        if (words.substr(0, bar) == text) {
            return index;
        }
        if (bar == std::string_view::npos) {
            return -1;
        }
        words.remove_prefix(bar + 1);
    }
}

int count_words(std::string_view words) noexcept {
    return 1 + static_cast<int>(std::count(words.begin(), words.end(), '|'));
}

/// Names that are in no table, each once, in the order in which they were first set.
class Names {
 public:
    /// The name's place, or -1 when it is no name or there is no place left.
    int find_or_add(std::string_view name) noexcept {
        const auto plain = [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                   c == '_';
        };
        if (name.empty() || name.size() > kLongest ||
            !std::all_of(name.begin(), name.end(), plain)) {
            return -1;
        }
        const std::lock_guard hold(lock_);
        for (int index = 0; index < used_; ++index) {
            if (at(index) == name) {
                return index;
            }
        }
        if (used_ == kMost) {
            return -1;
        }
        std::memcpy(names_[static_cast<std::size_t>(used_)].data(), name.data(), name.size());
        return used_++;
    }
    std::string_view at(int index) const noexcept {
        return names_[static_cast<std::size_t>(index)].data();
    }

 private:
    static constexpr int kMost = 64;
    static constexpr std::size_t kLongest = 63;
    std::mutex lock_;
    int used_ = 0;
    std::array<std::array<char, kLongest + 1>, kMost> names_{};
};

constinit Names names;

}  // namespace

std::string_view word(const Row& row, int index) noexcept {
    std::string_view words = row.words;
    const int known = count_words(words);
    if (index >= known) {
        return names.at(index - known);
    }
    for (; index > 0; --index) {
        words.remove_prefix(words.find('|') + 1);
    }
    return words.substr(0, words.find('|'));
}

bool has_word(const Row& row, std::string_view text) noexcept {
    return find_word(row.words, text) >= 0;
}

std::span<const Row> rows() noexcept {
    return kRows;
}

Params& params() noexcept {
    static Params values;
    return values;
}

Status set(Params& params, const Row& row, std::string_view text) noexcept {
    char allowed[128];
    switch (row.kind) {
        case Kind::kBool: {
            bool value = false;
            if (!parse_bool(text, value)) {
                return refuse(row, text, "true or false");
            }
            field<bool>(params, row) = value;
            return Status::kOk;
        }
        case Kind::kInt:
        case Kind::kSize: {
            std::uint64_t value = 0;
            const bool size = row.kind == Kind::kSize;
            if (!parse_number(text, size, value) || value < row.minimum || value > row.maximum) {
                std::snprintf(allowed, sizeof allowed, "%llu to %llu %s",
                              static_cast<unsigned long long>(row.minimum),
                              static_cast<unsigned long long>(row.maximum), row.unit);
                return refuse(row, text, allowed);
            }
            if (size) {
                field<std::size_t>(params, row) = value;
            } else {
                field<int>(params, row) = static_cast<int>(value);
            }
            return Status::kOk;
        }
        case Kind::kChoice: {
            const int index = find_word(row.words, text);
            if (index < 0) {
                return refuse(row, text, row.words);
            }
            field<int>(params, row) = index;
            return Status::kOk;
        }
        case Kind::kName: {
            int index = find_word(row.words, text);
            if (index < 0) {
                const int place = names.find_or_add(text);
                if (place < 0) {
                    return refuse(row, text, row.words);
                }
                index = count_words(row.words) + place;
            }
            field<int>(params, row) = index;
            return Status::kOk;
        }
        case Kind::kText: {
            Text& value = field<Text>(params, row);
            if (text.size() >= value.size()) {
                std::snprintf(allowed, sizeof allowed, "up to %zu characters", value.size() - 1);
                return refuse(row, text, allowed);
            }
            value = {};
            std::memcpy(value.data(), text.data(), text.size());
            return Status::kOk;
        }
    }
    return Status::kInvalid;
}

void note_given(Params& params, const Row& row) noexcept {
    const auto index = static_cast<std::size_t>(&row - kRows);
    params.given[index / 64] |= std::uint64_t{1} << (index % 64);
}

bool is_given(const Params& params, std::size_t offset) noexcept {
    for (std::size_t i = 0; i < std::size(kRows); ++i) {
        if (kRows[i].offset == offset) {
            return (params.given[i / 64] >> (i % 64) & 1) != 0;
        }
    }
    return false;
}

const char* print(const Params& params, const Row& row, std::span<char> out) noexcept {
    switch (row.kind) {
        case Kind::kBool:
            std::snprintf(out.data(), out.size(), "%s",
                          field<bool>(params, row) ? "true" : "false");
            break;
        case Kind::kInt:
            std::snprintf(out.data(), out.size(), "%d", field<int>(params, row));
            break;
        case Kind::kSize:
            std::snprintf(out.data(), out.size(), "%zu", field<std::size_t>(params, row));
            break;
        case Kind::kChoice:
        case Kind::kName: {
            const std::string_view text = word(row, field<int>(params, row));
            std::snprintf(out.data(), out.size(), "%.*s", static_cast<int>(text.size()),
                          text.data());
            break;
        }
        case Kind::kText:
            std::snprintf(out.data(), out.size(), "%s", field<Text>(params, row).data());
            break;
    }
    return out.data();
}

}  // namespace beeline::config
