// SPDX-License-Identifier: BSD-3-Clause
// The parameters as one plain struct, generated from params.def, with checked setters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.hpp"

namespace beeline::config {

enum class Kind { kBool, kInt, kSize, kChoice, kName, kText };

/// A text parameter, with its ending zero.
using Text = std::array<char, 1024>;

/// One field for each row of params.def, named <component>_<name>. A choice is the index of its
/// word; so is a name, or the index of one that is in no table (see word()).
struct Params {
#define BEELINE_BOOL(component, name, def, text) bool component##_##name = def;
#define BEELINE_INT(component, name, def, min, max, unit, text) int component##_##name = def;
#define BEELINE_SIZE(component, name, def, min, max, text) std::size_t component##_##name = def;
#define BEELINE_CHOICE(component, name, def, words, text) int component##_##name = 0;
#define BEELINE_NAME(component, name, def, words, text) int component##_##name = 0;
#define BEELINE_TEXT(component, name, text) Text component##_##name{};
#include "config/params.def"
#undef BEELINE_BOOL
#undef BEELINE_INT
#undef BEELINE_SIZE
#undef BEELINE_CHOICE
#undef BEELINE_NAME
#undef BEELINE_TEXT
    std::array<std::uint64_t, 2> given{};  ///< a bit a row: set by the user, if to the default
};

/// A row of the table, for whoever registers, prints or documents the parameters.
struct Row {
    const char* component;
    const char* name;
    Kind kind;
    std::uint64_t minimum;
    std::uint64_t maximum;
    const char* unit;
    const char* initial;  ///< the default as text
    const char* words;    ///< of a choice or name, separated by '|'; empty otherwise
    const char* text;
    std::size_t offset;  ///< of the field in Params
};

/// All rows, in table order.
std::span<const Row> rows() noexcept;

/// The word of a choice or name with this index, which must be one that set() stored. Names that
/// are no words of the row follow them, and stay to the end of the process.
std::string_view word(const Row& row, int index) noexcept;
/// Whether `text` is one of the row's words.
bool has_word(const Row& row, std::string_view text) noexcept;

/// The values in force in this process. Written at start only.
Params& params() noexcept;

/// Parses `text` by the row's kind (sizes take K, M, G suffixes of 1024; a name may also be
/// letters, digits and `_` that whoever uses it must know) and stores it in `params`
/// when it is within bounds; otherwise leaves `params` alone, returns kInvalid and logs one error
/// with the parameter's full name, the value and what is allowed.
Status set(Params& params, const Row& row, std::string_view text) noexcept;

/// Notes that the user has set this row, whatever to.
void note_given(Params& params, const Row& row) noexcept;
/// Whether the user has set the field at `offset` of Params.
bool is_given(const Params& params, std::size_t offset) noexcept;

/// The value in force as text, into `out` (cut to fit); returns `out`.
const char* print(const Params& params, const Row& row, std::span<char> out) noexcept;

}  // namespace beeline::config
