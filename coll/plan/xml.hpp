// SPDX-License-Identifier: BSD-3-Clause
// The part of XML that lists of steps are written in: elements with attributes, and comments.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beeline::coll::plan {

struct XmlElement {
    std::string name;
    std::vector<std::pair<std::string, std::string>> attributes;
    std::vector<XmlElement> children;

    /// The value of an attribute; null when there is none.
    const std::string* find(std::string_view attribute) const noexcept {
        for (const auto& [key, value] : attributes) {
            if (key == attribute) {
                return &value;
            }
        }
        return nullptr;
    }
};

/// Reads a document of one element. Text between elements must be blank; document types, entities,
/// sections and references are refused, and so is what is nested deeper than `deepest`. Throws
/// std::runtime_error with the line that is wrong, or std::bad_alloc.
XmlElement parse_xml(std::string_view text, int deepest);

}  // namespace beeline::coll::plan
