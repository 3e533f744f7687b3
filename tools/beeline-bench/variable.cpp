// SPDX-License-Identifier: BSD-3-Clause
// Parameters by MPI_T's control variables.
#include "tools/beeline-bench/variable.hpp"

#include <vector>

namespace beeline::bench {

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

}  // namespace beeline::bench
