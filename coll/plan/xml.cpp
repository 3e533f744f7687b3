// SPDX-License-Identifier: BSD-3-Clause
// A recursive descent over a bounded depth.
#include "coll/plan/xml.hpp"

#include <algorithm>
#include <stdexcept>

namespace beeline::coll::plan {
namespace {

/// Longer names and values than any list of steps has are refused.
constexpr std::size_t kLongest = 256;

constexpr std::string_view kBlank = " \t\r\n";

class Parser {
 public:
    Parser(std::string_view text, int deepest) : text_(text), deepest_(deepest) {}

    XmlElement document() {
        skip_blank();
        if (take("<?xml")) {
            skip_past("?>");
        }
        XmlElement root = next_element(1);
        skip_between();
        if (at_ != text_.size()) {
            fail("there is more than one element");
        }
        return root;
    }

 private:
    [[noreturn]] void fail(const char* what) const {
        const auto line =
            std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
        throw std::runtime_error("line " + std::to_string(line + 1) + ": " + what);
    }
    bool take(std::string_view word) noexcept {
        const bool found = text_.substr(at_).starts_with(word);
        at_ += found ? word.size() : 0;
        return found;
    }
    void skip_blank() noexcept {
        at_ = std::min(text_.find_first_not_of(kBlank, at_), text_.size());
    }
    void skip_past(std::string_view end) {
        const std::size_t found = text_.find(end, at_);
        if (found == std::string_view::npos) {
            fail("it ends too early");
        }
        at_ = found + end.size();
    }
    /// Blanks and comments.
    void skip_between() {
        for (skip_blank(); take("<!--"); skip_blank()) {
            skip_past("-->");
        }
    }

    std::string name() {
        const std::size_t from = at_;
        const auto fits = [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                   c == '_' || c == '-' || c == '.';
        };
        while (at_ < text_.size() && fits(text_[at_])) {
            ++at_;
        }
        if (at_ == from || at_ - from > kLongest) {
            fail("a name is expected");
        }
        return std::string(text_.substr(from, at_ - from));
    }

    std::string value() {
        const char quote = at_ < text_.size() ? text_[at_] : '\0';
        if (quote != '"' && quote != '\'') {
            fail("a value in quotes is expected");
        }
        const std::size_t from = ++at_;
        const std::size_t end = text_.find(quote, from);
        if (end == std::string_view::npos || end - from > kLongest) {
            fail("a value is too long");
        }
        const std::string_view found = text_.substr(from, end - from);
        if (found.find_first_of("<&") != std::string_view::npos) {
            fail("a value has a reference");
        }
        at_ = end + 1;
        return std::string(found);
    }

    XmlElement next_element(int depth) {
        skip_between();
        if (!take("<")) {
            fail("an element is expected");
        }
        if (depth > deepest_) {
            fail("it is nested too deep");
        }
        XmlElement element;
        element.name = name();
        for (skip_blank(); !take(">"); skip_blank()) {
            if (take("/>")) {
                return element;
            }
            std::string key = name();
            skip_blank();
            if (!take("=")) {
                fail("an attribute has no value");
            }
            skip_blank();
            if (element.find(key) != nullptr) {
                fail("an attribute stands twice");
            }
            element.attributes.emplace_back(std::move(key), value());
        }
        for (skip_between(); !take("</"); skip_between()) {
            element.children.push_back(next_element(depth + 1));
        }
        if (name() != element.name) {
            fail("an element ends that did not begin");
        }
        skip_blank();
        if (!take(">")) {
            fail("an element's end is not closed");
        }
        return element;
    }

    std::string_view text_;
    int deepest_;
    std::size_t at_ = 0;
};

}  // namespace

XmlElement parse_xml(std::string_view text, int deepest) {
    return Parser(text, deepest).document();
}

}  // namespace beeline::coll::plan
