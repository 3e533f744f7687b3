// SPDX-License-Identifier: BSD-3-Clause
// Which format a text is in.
#include "coll/plan/imported.hpp"

#include "coll/plan/json.hpp"
#include "coll/plan/msccl.hpp"

namespace beeline::coll::plan {

Imported import_text(std::string_view text) noexcept {
    const std::size_t start = text.find_first_not_of(" \t\r\n");
    if (start != std::string_view::npos && text[start] == '<') {
        return from_msccl(text);
    }
#if BEELINE_HAVE_JSON
    return from_json(text);
#else
    Imported refused;
    refused.problem = "it is no XML, and this build reads no JSON (nlohmann-json was not there)";
    return refused;
#endif
}

}  // namespace beeline::coll::plan
