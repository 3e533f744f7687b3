// SPDX-License-Identifier: BSD-3-Clause
// The driver as a whole: start, devices, entries, faults, ledger, fork.
#include <stdio.h>
#include <string.h>

#include <string>

#include "support.hpp"

namespace softcuda_test {
namespace {

std::string uuid_of(int ordinal) {
    CUuuid uuid{};
    EXPECT_OK(cuDeviceGetUuid(&uuid, ordinal));
    return std::string(uuid.bytes, sizeof uuid.bytes);
}

TEST(Driver, NeedsInitialisation) {
    in_child({}, [] {
        int count = 0;
        EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
        EXPECT_EQ(cuInit(1), CUDA_ERROR_INVALID_VALUE);
        EXPECT_OK(cuInit(0));
        EXPECT_OK(cuInit(0));
        EXPECT_OK(cuDeviceGetCount(&count));
        EXPECT_EQ(count, 2);
        char name[64];
        EXPECT_OK(cuDeviceGetName(name, sizeof name, 0));
        EXPECT_STREQ(name, "Software CUDA device");
        EXPECT_EQ(softcuda_calls("cuMemAlloc"), 0U);
    });
}

TEST(Driver, NoDevice) {
    in_child({{"SOFTCUDA_DEVICES", "0"}}, [] { EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE); });
    in_child({{"CUDA_VISIBLE_DEVICES", ""}}, [] { EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE); });
    in_child({{"CUDA_VISIBLE_DEVICES", "-1"}}, [] { EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE); });
}

TEST(Driver, RefusesBadSettings) {
    for (const auto& [name, value] :
         {std::pair{"SOFTCUDA_DEVICES", "many"}, std::pair{"SOFTCUDA_DEVICES", "17"},
          std::pair{"SOFTCUDA_MEMORY", "-1"}, std::pair{"SOFTCUDA_TOPOLOGY", "ring"},
          std::pair{"SOFTCUDA_FAULT", "cuNothing:1:2"}, std::pair{"SOFTCUDA_FAULT", "cuInit:0:2"},
          std::pair{"SOFTCUDA_FAULT", "cuInit:1:NO_SUCH_ERROR"}}) {
        in_child({{name, value}}, [] { EXPECT_EQ(cuInit(0), CUDA_ERROR_INVALID_VALUE); });
    }
}

TEST(Driver, VisibleDevicesKeepTheirIdentity) {
    std::string all[4];
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    in_child({{"SOFTCUDA_DEVICES", "4"}}, [&] {
        EXPECT_OK(cuInit(0));
        for (int i = 0; i < 4; ++i) {
            EXPECT_EQ(write(pipe_ends[1], uuid_of(i).data(), 16), 16);
        }
    });
    for (std::string& uuid : all) {
        uuid.resize(16);
        ASSERT_EQ(read(pipe_ends[0], uuid.data(), 16), 16);
    }
    EXPECT_NE(all[0], all[1]);
    in_child({{"SOFTCUDA_DEVICES", "4"}, {"CUDA_VISIBLE_DEVICES", "3,1"}}, [&] {
        EXPECT_OK(cuInit(0));
        int count = 0;
        EXPECT_OK(cuDeviceGetCount(&count));
        EXPECT_EQ(count, 2);
        EXPECT_EQ(uuid_of(0), all[3]);
        EXPECT_EQ(uuid_of(1), all[1]);
        char bus[32];
        CUdevice found = -1;
        EXPECT_OK(cuDeviceGetPCIBusId(bus, sizeof bus, 1));
        EXPECT_OK(cuDeviceGetByPCIBusId(&found, bus));
        EXPECT_EQ(found, 1);
        int number = 0;
        EXPECT_OK(cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 1));
        EXPECT_EQ(number, strtol(bus + 5, nullptr, 16));
    });
    char text[64];
    const auto* b = reinterpret_cast<const unsigned char*>(all[2].data());
    snprintf(text, sizeof text, "GPU-%02x%02x%02x%02x", b[0], b[1], b[2], b[3]);
    in_child({{"SOFTCUDA_DEVICES", "4"}, {"CUDA_VISIBLE_DEVICES", text}}, [&] {
        EXPECT_OK(cuInit(0));
        EXPECT_EQ(uuid_of(0), all[2]);
    });
}

TEST(Driver, ForkedChildHasNoDriver) {
    in_child({}, [] {
        start();
        const CUdeviceptr address = allocate(64);
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            CUcontext context = nullptr;
            const bool right = cuMemsetD8(address, 0, 64) == CUDA_ERROR_NOT_INITIALIZED &&
                               cuCtxGetCurrent(&context) == CUDA_ERROR_NOT_INITIALIZED &&
                               cuInit(0) == CUDA_ERROR_NOT_INITIALIZED;
            _exit(right ? 0 : 1);
        }
        int status = 0;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
        EXPECT_OK(cuMemsetD8(address, 0, 64));
    });
}

TEST(Faults, NthCallFails) {
    in_child({{"SOFTCUDA_FAULT",
               "cuMemAlloc:2:CUDA_ERROR_OUT_OF_MEMORY,cuEventCreate:2+:999,cuInit:1:100"}},
             [] {
                 EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE);
                 start();
                 CUdeviceptr address = 0;
                 EXPECT_OK(cuMemAlloc(&address, 16));
                 EXPECT_EQ(cuMemAlloc(&address, 16), CUDA_ERROR_OUT_OF_MEMORY);
                 EXPECT_OK(cuMemAlloc(&address, 16));
                 CUevent event = nullptr;
                 EXPECT_OK(cuEventCreate(&event, 0));
                 EXPECT_EQ(cuEventCreate(&event, 0), CUDA_ERROR_UNKNOWN);
                 EXPECT_EQ(cuEventCreate(&event, 0), CUDA_ERROR_UNKNOWN);
             });
}

TEST(Ledger, CountsCalls) {
    in_child({}, [] {
        start();
        softcuda_calls_reset();
        allocate(16);
        allocate(16);
        EXPECT_EQ(softcuda_calls("cuMemAlloc"), 2U);
        EXPECT_EQ(softcuda_calls(nullptr), 2U);
        EXPECT_EQ(softcuda_calls("cuNothing"), 0U);
        EXPECT_EQ(softcuda_live_allocations(), 2U);
    });
}

std::string report_of(const char* prefix, pid_t pid) {
    const std::string path = std::string(prefix) + "." + std::to_string(pid) + ".json";
    std::string text;
    FILE* file = fopen(path.c_str(), "r");
    EXPECT_NE(file, nullptr) << path;
    if (file != nullptr) {
        char buffer[4096];
        text.assign(buffer, fread(buffer, 1, sizeof buffer, file));
        fclose(file);
        unlink(path.c_str());
    }
    return text;
}

TEST(Ledger, WritesAReportAtExit) {
    char prefix[] = "/tmp/softcuda-ledger-XXXXXX";
    ASSERT_NE(mkdtemp(prefix), nullptr);
    const std::string base = std::string(prefix) + "/report";
    for (const bool use : {true, false}) {
        pid_t child = fork();
        if (child == 0) {
            setenv("SOFTCUDA_LEDGER", base.c_str(), 1);
            if (use) {
                start();
                allocate(16);
            }
            exit(0);
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        const std::string report = report_of(base.c_str(), child);
        if (use) {
            EXPECT_NE(report.find("\"total\": 4"), std::string::npos) << report;
            EXPECT_NE(report.find("\"cuMemAlloc\": 1"), std::string::npos) << report;
            EXPECT_NE(report.find("\"device_allocations\": 1"), std::string::npos) << report;
            EXPECT_NE(report.find("\"contexts_created\": 1"), std::string::npos) << report;
        } else {
            EXPECT_NE(report.find("\"total\": 0"), std::string::npos) << report;
        }
    }
    rmdir(prefix);
}

TEST(Entries, ByNameAndVersion) {
    in_child({}, [] {
        void* address = nullptr;
        CUdriverProcAddressQueryResult status{};
        EXPECT_OK(cuGetProcAddress("cuMemAlloc", &address, 13000, 0, &status));
        EXPECT_EQ(address, reinterpret_cast<void*>(&cuMemAlloc));
        EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
        EXPECT_OK(cuGetProcAddress("cuCtxCreate", &address, 13000, 0, &status));
        EXPECT_EQ(address, reinterpret_cast<void*>(&cuCtxCreate));
        EXPECT_OK(cuGetProcAddress("cuCtxCreate", &address, 11000, 0, &status));
        EXPECT_EQ(address, reinterpret_cast<void*>(&cuCtxCreate_v2));
        EXPECT_EQ(cuGetProcAddress("cuGraphLaunch", &address, 13000, 0, &status),
                  CUDA_ERROR_NOT_FOUND);
        EXPECT_EQ(address, nullptr);
        EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
        EXPECT_EQ(cuGetProcAddress("cuMemCreate", &address, 9000, 0, &status),
                  CUDA_ERROR_NOT_FOUND);
        EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    });
}

TEST(Errors, HaveNamesAndTexts) {
    in_child({}, [] {  // settings are read at the first call, once in a process
        const char* text = nullptr;
        EXPECT_OK(cuGetErrorName(CUDA_ERROR_ALREADY_MAPPED, &text));
        EXPECT_STREQ(text, "CUDA_ERROR_ALREADY_MAPPED");
        EXPECT_OK(cuGetErrorString(CUDA_SUCCESS, &text));
        EXPECT_STREQ(text, "no error");
        EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(998), &text), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(text, nullptr);
    });
}

}  // namespace
}  // namespace softcuda_test
