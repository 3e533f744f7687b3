// SPDX-License-Identifier: BSD-3-Clause
// Asking Open MPI, the file system and the driver.
#include "host.hpp"

#include <cuda.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace beeline::info {
namespace {

bool exists(const std::string& path) {
    struct stat unused {};
    return stat(path.c_str(), &unused) == 0;
}

std::string output_of(const char* command) {
    std::string text;
    std::FILE* pipe = popen(command, "r");
    if (pipe != nullptr) {
        std::array<char, 512> part;
        while (std::fgets(part.data(), part.size(), pipe) != nullptr) {
            text += part.data();
        }
        pclose(pipe);
    }
    return text;
}

/// The folders of the component path, with its two words replaced.
std::vector<std::string> component_folders(const Mpi& mpi, const Settings& settings) {
    const char* home = std::getenv("HOME");
    const std::string user = home != nullptr ? std::string(home) + "/.openmpi/components" : "";
    const auto found = settings.find("mca_base_component_path");
    std::istringstream path(found != settings.end() ? found->second.value
                                                    : "SYSTEM_DEFAULT:USER_DEFAULT");
    std::vector<std::string> folders;
    for (std::string folder; std::getline(path, folder, ':');) {
        folders.push_back(folder == "SYSTEM_DEFAULT" || folder == "system_default"
                              ? mpi.component_folder
                          : folder == "USER_DEFAULT" || folder == "user_default" ? user
                                                                                 : folder);
    }
    return folders;
}

/// Empty when a selection such as "ob1,ucx" or "^beeline" lets Beeline in.
std::string excluded_by(const std::string& selection) {
    const bool negative = !selection.empty() && selection[0] == '^';
    std::istringstream words(negative ? selection.substr(1) : selection);
    bool named = false;
    for (std::string word; std::getline(words, word, ',');) {
        named = named || word == "beeline";
    }
    return selection.empty() || named != negative ? "" : selection;
}

}  // namespace

Mpi find_mpi() {
    Mpi mpi;
    std::istringstream lines(
        output_of("ompi_info --version 2>/dev/null | head -n 1; "
                  "ompi_info --parsable --path pkglibdir --path sysconfdir 2>/dev/null"));
    for (std::string line; std::getline(lines, line);) {
        if (line.rfind("path:pkglibdir:", 0) == 0) {
            mpi.component_folder = line.substr(15);
        } else if (line.rfind("path:sysconfdir:", 0) == 0) {
            mpi.config_folder = line.substr(16);
        } else if (line.rfind("Open MPI", 0) == 0) {
            mpi.version = line;
        }
    }
    if (mpi.version.empty() || mpi.component_folder.empty()) {
        mpi.problem =
            "ompi_info is not found or does not answer: is Open MPI's bin folder in PATH?";
    }
    return mpi;
}

Verdict judge(const Mpi& mpi, const Settings& settings) {
    Verdict verdict;
    if (!mpi.problem.empty()) {
        verdict.why_not = mpi.problem;
        return verdict;
    }
    std::string searched;
    for (const std::string& folder : component_folders(mpi, settings)) {
        const std::string file = folder + "/mca_pml_beeline.so";
        searched += (searched.empty() ? "" : ", ") + folder;
        if (!verdict.loaded && exists(file)) {
            verdict.loaded = true;
            verdict.component = file;
        }
    }
    const std::string tune = own_tune_file();
    if (!verdict.loaded) {
        verdict.why_not = "Open MPI does not find Beeline: no mca_pml_beeline.so in " + searched;
        verdict.remedy = tune.empty() ? "" : "mpirun --tune " + tune + " ...";
        return verdict;
    }
    for (const char* framework : {"pml", "coll"}) {
        const auto selected = settings.find(framework);
        if (selected != settings.end() && !excluded_by(selected->second.value).empty()) {
            verdict.why_not = std::string("the parameter ") + framework + " is '" +
                              selected->second.value + "' (" + selected->second.source +
                              "), which leaves " + framework + "/beeline out";
            verdict.remedy = std::string("take it away, or name beeline in it");
            return verdict;
        }
    }
    const auto cuda = settings.find("pml_beeline_cuda");
    std::vector<std::string> unused;
    if (cuda != settings.end() && !to_params(settings, unused).pml_cuda) {
        verdict.why_not = "pml_beeline_cuda is off (" + cuda->second.source +
                          "): every pointer is taken for host memory";
        verdict.remedy = "--mca pml_beeline_cuda 1";
    }
    return verdict;
}

std::vector<Device> find_devices(std::string& why) {
    std::vector<Device> devices;
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        why = std::string("no CUDA driver: ") + dlerror();
        return devices;
    }
    const auto find = [&](auto& function, const char* name) {
        function =
            reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
        return function != nullptr;
    };
    CUresult (*init)(unsigned) = nullptr;
    CUresult (*count_of)(int*) = nullptr;
    CUresult (*get)(CUdevice*, int) = nullptr;
    CUresult (*name_of)(char*, int, CUdevice) = nullptr;
    CUresult (*bytes_of)(std::size_t*, CUdevice) = nullptr;
    CUresult (*uuid_of)(CUuuid*, CUdevice) = nullptr;
    CUresult (*pci_of)(char*, int, CUdevice) = nullptr;
    if (!find(init, "cuInit") || !find(count_of, "cuDeviceGetCount") || !find(get, "cuDeviceGet") ||
        !find(name_of, "cuDeviceGetName") || !find(bytes_of, "cuDeviceTotalMem_v2")) {
        why = "libcuda.so.1 lacks functions that every driver has";
        return devices;
    }
    find(uuid_of, "cuDeviceGetUuid");
    find(pci_of, "cuDeviceGetPCIBusId");
    int count = 0;
    const CUresult result = init(0) != CUDA_SUCCESS ? init(0) : count_of(&count);
    if (result != CUDA_SUCCESS || count == 0) {
        why = result != CUDA_SUCCESS
                  ? "the driver does not start: error " + std::to_string(result)
                  : "the driver shows no device (is CUDA_VISIBLE_DEVICES empty?)";
        return devices;
    }
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        CUdevice handle = 0;
        Device device;
        char text[256] = "";
        std::size_t bytes = 0;
        CUuuid uuid{};
        if (get(&handle, ordinal) != CUDA_SUCCESS) {
            continue;
        }
        device.name = name_of(text, sizeof text, handle) == CUDA_SUCCESS ? text : "unknown";
        device.bytes = bytes_of(&bytes, handle) == CUDA_SUCCESS ? bytes : 0;
        if (pci_of != nullptr && pci_of(text, sizeof text, handle) == CUDA_SUCCESS) {
            device.pci = text;
        }
        if (uuid_of != nullptr && uuid_of(&uuid, handle) == CUDA_SUCCESS) {
            for (const char byte : uuid.bytes) {
                std::snprintf(text, sizeof text, "%02x",
                              static_cast<unsigned>(static_cast<unsigned char>(byte)));
                device.uuid += text;
            }
        }
        devices.push_back(device);
    }
    return devices;
}

std::string own_tune_file() {
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self);
    if (length <= 0) {
        return "";
    }
    std::string path(self, static_cast<std::size_t>(length));
    for (int levels = 0; levels < 2; ++levels) {
        path = path.substr(0, path.rfind('/'));
    }
    path += "/share/beeline/beeline.conf";
    return exists(path) ? path : "";
}

}  // namespace beeline::info
