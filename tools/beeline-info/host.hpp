// SPDX-License-Identifier: BSD-3-Clause
// What Open MPI is here, whether it would take Beeline, and which GPUs there are.
#pragma once

#include <string>
#include <vector>

#include "settings.hpp"

namespace beeline::info {

/// Open MPI's folders, as ompi_info names them; empty with `problem` set when it cannot be asked.
struct Mpi {
    std::string version;           ///< one line
    std::string component_folder;  ///< of its own components
    std::string config_folder;
    std::string problem;
};
Mpi find_mpi();

/// Whether messages of a job started from here go through Beeline.
struct Verdict {
    bool loaded = false;    ///< the component is found on the component path
    std::string component;  ///< its file
    std::string why_not;    ///< empty when Beeline serves the job
    std::string remedy;     ///< what to do; may be empty
};
Verdict judge(const Mpi& mpi, const Settings& settings);

struct Device {
    std::string name;
    std::string uuid;
    std::string pci;
    unsigned long long bytes = 0;
};
/// The GPUs of this process. With none, `why` says what was looked for and what came back.
std::vector<Device> find_devices(std::string& why);

/// PREFIX/share/beeline/beeline.conf next to this program; empty when it is not there.
std::string own_tune_file();

}  // namespace beeline::info
