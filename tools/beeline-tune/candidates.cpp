// SPDX-License-Identifier: BSD-3-Clause
// The table of algorithms, and MPI_T.
#include "tools/beeline-tune/candidates.hpp"

#include "coll/select/select.hpp"

namespace beeline::tune {

namespace plan = coll::plan;

std::vector<Candidate> candidates(bench::Operation operation, int ranks, std::size_t bytes,
                                  bool host_memory) {
    coll::select::Facts facts;
    std::vector<Candidate> all;
    if (!plan::find(bench::to_string(operation), facts.request.collective)) {
        return all;
    }
    facts.request.size = ranks;
    facts.bytes = static_cast<double>(bytes);
    coll::select::Settings settings = coll::select::built_in_settings();
    settings.no_gpu = host_memory;
    for (const coll::select::Candidate& one : coll::select::candidates(facts, settings)) {
        if (one.algorithm == nullptr) {
            all.insert(all.begin(), {"staged", 1});
        } else if (one.refusal == nullptr) {
            all.push_back({one.algorithm->name, one.slices});
        }
    }
    return all;
}

TextVariable::TextVariable(const std::string& name) {
    int index = 0;
    if (MPI_T_cvar_get_index(name.c_str(), &index) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, nullptr, &handle_, &length_) != MPI_SUCCESS) {
        handle_ = MPI_T_CVAR_HANDLE_NULL;
    }
}

TextVariable::~TextVariable() {
    if (usable()) {
        MPI_T_cvar_handle_free(&handle_);
    }
}

bool TextVariable::write(const std::string& word) const {
    return usable() && MPI_T_cvar_write(handle_, word.c_str()) == MPI_SUCCESS;
}

std::string TextVariable::read() const {
    std::vector<char> text(static_cast<std::size_t>(length_) + 1, '\0');
    return usable() && MPI_T_cvar_read(handle_, text.data()) == MPI_SUCCESS ? text.data() : "";
}

}  // namespace beeline::tune
