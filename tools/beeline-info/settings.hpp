// SPDX-License-Identifier: BSD-3-Clause
// MCA parameters as a job started from here would see them, each with where it was set.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/config.hpp"

namespace beeline::info {

struct Setting {
    std::string value;
    std::string source;  ///< "environment", "command line", or the file's name
};

/// By full name, as in "pml_beeline_report". What comes later in Open MPI's order has won: system
/// file, user file, environment, then what was given to this program.
using Settings = std::map<std::string, Setting>;

/// What the user gives this program in place of mpirun.
struct Given {
    std::string tune;  ///< a file for mpirun --tune; may be empty
    std::vector<std::pair<std::string, std::string>> params;  ///< --mca NAME VALUE
};

/// Reads everything. `problems` receives a line for each file that was named and cannot be read.
Settings read_settings(const Given& given, const std::string& system_file,
                       std::vector<std::string>& problems);

/// The lines of a --tune file: "--mca NAME VALUE", also with one dash. Others are left out. False
/// when it cannot be read.
bool read_tune_file(const std::string& path, Settings& settings);

/// Beeline's own parameters out of the settings. `problems` receives a line for each one that is
/// unknown or has a value that its row refuses.
config::Params to_params(const Settings& settings, std::vector<std::string>& problems);

/// The full name of a row, as in "pml_beeline_report".
std::string name_of(const config::Row& row);

}  // namespace beeline::info
