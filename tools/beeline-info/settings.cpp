// SPDX-License-Identifier: BSD-3-Clause
// Reading parameters from files, the environment and the command line.
#include "settings.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace beeline::info {
namespace {

constexpr const char* kPrefix = "OMPI_MCA_";

std::string trimmed(const std::string& text) {
    const auto first = text.find_first_not_of(" \t\r");
    const auto last = text.find_last_not_of(" \t\r");
    return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

std::string unquoted(const std::string& text) {
    const bool quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
                        text.back() == text.front();
    return quoted ? text.substr(1, text.size() - 2) : text;
}

/// "NAME = VALUE" a line, '#' starts a comment. False when the file cannot be read.
bool read_param_file(const std::string& path, Settings& settings) {
    std::ifstream file(path);
    if (!file) {
        return false;
    }
    for (std::string line; std::getline(file, line);) {
        line = line.substr(0, line.find('#'));
        const auto equals = line.find('=');
        if (equals != std::string::npos) {
            settings[trimmed(line.substr(0, equals))] = {unquoted(trimmed(line.substr(equals + 1))),
                                                         path};
        }
    }
    return true;
}

void read_environment(Settings& settings) {
    const std::string prefix = kPrefix;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        const auto equals = text.find('=');
        if (text.compare(0, prefix.size(), prefix) == 0 && equals != std::string::npos) {
            settings[text.substr(prefix.size(), equals - prefix.size())] = {text.substr(equals + 1),
                                                                            "environment"};
        }
    }
}

}  // namespace

bool read_tune_file(const std::string& path, Settings& settings) {
    std::ifstream file(path);
    if (!file) {
        return false;
    }
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line.substr(0, line.find('#')));
        std::string word;
        std::string name;
        std::string value;
        while (words >> word) {
            if ((word == "--mca" || word == "-mca") && words >> name >> value) {
                settings[name] = {unquoted(value), path};
            }
        }
    }
    return true;
}

Settings read_settings(const Given& given, const std::string& system_file,
                       std::vector<std::string>& problems) {
    Settings settings;
    const char* named = std::getenv("OMPI_MCA_mca_base_param_files");
    const char* home = std::getenv("HOME");
    if (named != nullptr) {
        std::istringstream list(named);
        std::vector<std::string> files;
        for (std::string each; std::getline(list, each, ':');) {
            files.insert(files.begin(), each);  // the first named wins
        }
        for (const std::string& each : files) {
            if (!read_param_file(each, settings)) {
                problems.push_back("the parameter file " + each + " cannot be read");
            }
        }
    } else {
        read_param_file(system_file, settings);
        if (home != nullptr) {
            read_param_file(std::string(home) + "/.openmpi/mca-params.conf", settings);
        }
    }
    read_environment(settings);
    if (!given.tune.empty() && !read_tune_file(given.tune, settings)) {
        problems.push_back("the file " + given.tune + " (--tune) cannot be read");
    }
    for (const auto& [name, value] : given.params) {
        settings[name] = {value, "command line"};
    }
    return settings;
}

config::Params to_params(const Settings& settings, std::vector<std::string>& problems) {
    config::Params params;
    for (const auto& [name, setting] : settings) {
        if (name.compare(0, 12, "pml_beeline_") != 0 && name.compare(0, 13, "coll_beeline_") != 0) {
            continue;
        }
        bool known = false;
        for (const config::Row& row : config::rows()) {
            if (name_of(row) == name) {
                known = true;
                config::note_given(params, row);
                if (config::set(params, row, setting.value) != Status::kOk) {
                    problems.push_back("parameter " + name + ", set by " + setting.source +
                                       ", has a value that is refused: '" + setting.value + "'");
                }
            }
        }
        if (!known) {
            problems.push_back("parameter " + name + ", set by " + setting.source +
                               ", is unknown: see beeline-info params");
        }
    }
    return params;
}

std::string name_of(const config::Row& row) {
    return std::string(row.component) + "_beeline_" + row.name;
}

}  // namespace beeline::info
