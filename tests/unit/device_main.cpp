// SPDX-License-Identifier: BSD-3-Clause
// The main program of the unit tests that need a device: the software one, or with
// BEELINE_TEST_CUDA=libcuda.so.1 a real one.
#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/world/device_memory.hpp"
#include "unit/mover/cuda_ipc/exporter.hpp"

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    setenv("SOFTCUDA_DMA_BUF", "1", 0);
    beeline::test::start_exporter();
    const beeline::cuda::Driver* driver = beeline::world::load_driver();
    if (driver == nullptr) {
        return 1;
    }
    beeline::world::use_device(*driver, 0);
    const int outcome = RUN_ALL_TESTS();
    beeline::test::stop_exporter();
    return outcome;
}
