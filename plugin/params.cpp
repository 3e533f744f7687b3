// SPDX-License-Identifier: BSD-3-Clause
// Walks the parameter table: one MCA string variable a row, parsed by the table's own rules.
#include "plugin/params.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/log.hpp"
#include "config/config.hpp"

namespace beeline::plugin {
namespace {

constexpr std::size_t kMaxRows = 128;
constexpr std::size_t kHelpBytes = 640;

// Where Open MPI keeps each variable's text; it owns the strings.
constinit char* values[kMaxRows] = {};

/// "text (integer, 1 to 64 chunks; default 4)".
void write_help(const config::Row& row, char (&help)[kHelpBytes]) noexcept {
    const auto minimum = static_cast<unsigned long long>(row.minimum);
    const auto maximum = static_cast<unsigned long long>(row.maximum);
    switch (row.kind) {
        case config::Kind::kBool:
            std::snprintf(help, sizeof help, "%s (true or false; default %s)", row.text,
                          row.initial);
            return;
        case config::Kind::kInt:
            std::snprintf(help, sizeof help, "%s (integer, %llu to %llu%s%s; default %s)", row.text,
                          minimum, maximum, *row.unit != '\0' ? " " : "", row.unit, row.initial);
            return;
        case config::Kind::kSize:
            std::snprintf(help, sizeof help,
                          "%s (size, %llu to %llu %s, K, M and G are understood; default %s)",
                          row.text, minimum, maximum, row.unit, row.initial);
            return;
        case config::Kind::kChoice:
        case config::Kind::kName:
            std::snprintf(help, sizeof help, "%s (one of %s; default %s)", row.text, row.words,
                          row.initial);
            return;
        case config::Kind::kText:
            std::snprintf(help, sizeof help, "%s (text; default none)", row.text);
            return;
    }
}

/// Whether tools may write it while the job runs: the algorithms of collectives (see
/// plugin/coll/parameters.hpp).
bool is_writable(const config::Row& row) noexcept {
    return std::strcmp(row.component, "coll") == 0 && row.kind == config::Kind::kName;
}

/// Refuses parameters of this component that the table does not know. Open MPI would ignore them,
/// and the user would believe in them. mpirun hands every --mca pair to the ranks through the
/// environment.
Status refuse_unknown(const char* component) noexcept {
    char prefix[48];
    const int length = std::snprintf(prefix, sizeof prefix, "OMPI_MCA_%s_beeline_", component);
    Status outcome = Status::kOk;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        if (std::strncmp(*entry, prefix, static_cast<std::size_t>(length)) != 0) {
            continue;
        }
        const char* name = *entry + length;
        const auto name_length = static_cast<std::size_t>(std::strcspn(name, "="));
        bool known = false;
        char names[960] = "";
        for (const config::Row& row : config::rows()) {
            if (std::strcmp(row.component, component) == 0) {
                known = known || (std::strlen(row.name) == name_length &&
                                  std::strncmp(row.name, name, name_length) == 0);
                const std::size_t used = std::strlen(names);
                std::snprintf(names + used, sizeof names - used, "%s%s", used != 0 ? ", " : "",
                              row.name);
            }
        }
        if (!known) {
            log(LogLevel::kError, "parameter %s_beeline_%.*s is unknown; %s/beeline has: %s",
                component, static_cast<int>(name_length), name, component, names);
            outcome = Status::kInvalid;
        }
    }
    return outcome;
}

}  // namespace

Status register_params(const char* component, const mca_base_component_t* owner) noexcept {
    Status outcome = refuse_unknown(component);
    std::size_t index = 0;
    for (const config::Row& row : config::rows()) {
        char*& value = values[index];
        if (++index > kMaxRows) {
            return Status::kNoMemory;
        }
        if (std::strcmp(row.component, component) != 0) {
            continue;
        }
        char help[kHelpBytes];
        write_help(row, help);
        value = const_cast<char*>(row.initial);  // Open MPI copies the default
        const bool writable = is_writable(row);
        const int variable = mca_base_component_var_register(
            owner, row.name, help, MCA_BASE_VAR_TYPE_STRING, nullptr, 0,
            writable ? MCA_BASE_VAR_FLAG_SETTABLE : mca_base_var_flag_t{}, OPAL_INFO_LVL_4,
            writable ? MCA_BASE_VAR_SCOPE_ALL_EQ : MCA_BASE_VAR_SCOPE_READONLY, &value);
        if (variable < 0) {
            return Status::kNoMemory;
        }
        mca_base_var_source_t source = MCA_BASE_VAR_SOURCE_DEFAULT;
        if (mca_base_var_get_value(variable, nullptr, &source, nullptr) == OPAL_SUCCESS &&
            source != MCA_BASE_VAR_SOURCE_DEFAULT) {
            config::note_given(config::params(), row);
        }
        const char* text = value != nullptr ? value : "";
        if (config::set(config::params(), row, text) != Status::kOk) {
            outcome = Status::kInvalid;
        }
    }
    return outcome;
}

const config::Row* find_row(const char* component, const char* name) noexcept {
    for (const config::Row& row : config::rows()) {
        if (std::strcmp(row.component, component) == 0 && std::strcmp(row.name, name) == 0) {
            return &row;
        }
    }
    return nullptr;
}

const char* const* place_of_text(const config::Row& row) noexcept {
    return &values[&row - config::rows().data()];
}

void stop_refused(const char* component) noexcept {
    char line[96];
    std::snprintf(line, sizeof line, "%s/beeline: a parameter was refused (see above)", component);
    char format[] = "%s";
    ompi_rte_abort(1, format, line);
    std::abort();  // not reached
}

}  // namespace beeline::plugin
