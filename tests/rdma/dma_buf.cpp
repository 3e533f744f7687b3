// SPDX-License-Identifier: BSD-3-Clause
// Registration by dma-buf with real verbs. Soft-RoCE refuses dma-bufs, which is tested as it is;
// what a card that takes them does is played by a decorator of that one call, and data moves
// through it.
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "mover/verbs/api.hpp"
#include "mover/verbs/queue_pair.hpp"
#include "mover/verbs/regions.hpp"
#include "tests/world/device_memory.hpp"

namespace beeline::mover::verbs {
namespace {

const Api* real = nullptr;

/// As a card's driver does: the part of the dma-buf that starts `offset` bytes into it, known to
/// the network by `iova`. The descriptor of SoftCUDA names its range.
ibv_mr* register_dma_buf(ibv_pd* pd, std::uint64_t offset, std::size_t bytes, std::uint64_t iova,
                         int descriptor, int access) {
    char text[64] = "";
    unsigned long long start = 0;
    std::size_t size = 0;
    if (pread(descriptor, text, sizeof text - 1, 0) <= 0 ||
        std::sscanf(text, "%llx %zx", &start, &size) != 2 || start + offset != iova ||
        offset + bytes > size) {
        errno = EINVAL;
        return nullptr;
    }
    return real->reg_mr_iova2(pd, reinterpret_cast<void*>(iova), bytes, iova,
                              static_cast<unsigned>(access));
}

class DmaBuf : public testing::Test {
 protected:
    void SetUp() override {
        real = Api::load();
        ASSERT_NE(real, nullptr) << "no libibverbs here";
        driver_ = cuda::Driver::find();
        ASSERT_NE(driver_, nullptr);
    }
    void open(const Api& api) {
        ASSERT_EQ(devices_.open(api, {}), Status::kOk);
        regions_ = std::make_unique<Regions>(devices_.ports(), RegionLimits{});
    }
    CUdeviceptr allocate(std::size_t bytes, unsigned char value) {
        CUdeviceptr address = 0;
        EXPECT_EQ(driver_->cuMemAlloc(&address, bytes), CUDA_SUCCESS);
        const std::vector<unsigned char> fill(bytes, value);
        copy(address, reinterpret_cast<CUdeviceptr>(fill.data()), bytes);
        return address;
    }
    void copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
        EXPECT_EQ(driver_->cuMemcpyAsync(to, from, bytes, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(driver_->cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    }
    Region* acquire(CUdeviceptr address, std::size_t bytes) {
        auto region = regions_->acquire(memory::classify(reinterpret_cast<void*>(address)), address,
                                        bytes, 1);
        EXPECT_TRUE(region.ok()) << to_string(regions_->refusal().missing);
        return region ? *region : nullptr;
    }
    ibv_wc_status write(QueuePair& pair, ibv_cq* queue, Region& from, CUdeviceptr source,
                        Region& to, CUdeviceptr target, std::size_t bytes) {
        ibv_sge piece{source, static_cast<std::uint32_t>(bytes), from.keys[0].local};
        ibv_send_wr request{};
        request.sg_list = &piece;
        request.num_sge = 1;
        request.opcode = IBV_WR_RDMA_WRITE;
        request.send_flags = IBV_SEND_SIGNALED;
        request.wr.rdma.remote_addr = target;
        request.wr.rdma.rkey = to.keys[0].remote;
        ibv_send_wr* bad = nullptr;
        EXPECT_EQ(real->post_send(pair.get(), &request, &bad), 0);
        ibv_wc completion{};
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (real->poll_cq(queue, 1, &completion) == 0) {
            if (std::chrono::steady_clock::now() > limit) {
                ADD_FAILURE() << "no completion";
                return IBV_WC_GENERAL_ERR;
            }
        }
        return completion.status;
    }

    const cuda::Driver* driver_ = nullptr;
    Api decorated_;
    Devices devices_;
    std::unique_ptr<Regions> regions_;
};

TEST_F(DmaBuf, IsRefusedByASoftwareCardAndPeerMemoryServes) {
    open(*real);
    const CUdeviceptr buffer = allocate(5000, 1);
    Region* region = acquire(buffer, 5000);
    ASSERT_NE(region, nullptr);
    EXPECT_EQ(region->means, Means::kPeerMemory);
    regions_->release(region);
    driver_->cuMemFree(buffer);
}

TEST_F(DmaBuf, MovesDataWhereTheCardTakesIt) {
    decorated_ = *real;
    decorated_.reg_dmabuf_mr = register_dma_buf;
    open(decorated_);
    const Port& port = *devices_.ports()[0];
    ibv_cq* queue = real->create_cq(port.context, 16, nullptr, nullptr, 0);
    ibv_srq_init_attr wanted{};
    wanted.attr.max_wr = 16;
    wanted.attr.max_sge = 1;
    ibv_srq* receives = real->create_srq(port.pd, &wanted);
    ASSERT_TRUE(queue != nullptr && receives != nullptr);
    {
        const PairSettings settings;
        auto one = QueuePair::create(port, queue, receives, settings, 1);
        auto other = QueuePair::create(port, queue, receives, settings, 2);
        ASSERT_TRUE(one.ok() && other.ok());
        ASSERT_EQ(one->connect(other->end(), settings), Status::kOk);
        ASSERT_EQ(other->connect(one->end(), settings), Status::kOk);
        for (const std::size_t bytes :
             {std::size_t{700}, std::size_t{5000}, std::size_t{3} << 20}) {
            const CUdeviceptr source = allocate(bytes, 3);
            const CUdeviceptr target = allocate(bytes, 4);
            Region* from = acquire(source, bytes);
            Region* to = acquire(target, bytes);
            ASSERT_TRUE(from != nullptr && to != nullptr);
            EXPECT_EQ(from->means, Means::kDmaBuf);
            // All but the first and the last byte.
            EXPECT_EQ(write(*one, queue, *from, source + 1, *to, target + 1, bytes - 2),
                      IBV_WC_SUCCESS);
            std::vector<unsigned char> seen(bytes);
            copy(reinterpret_cast<CUdeviceptr>(seen.data()), target, bytes);
            std::vector<unsigned char> right(bytes, 3);
            right.front() = right.back() = 4;
            EXPECT_TRUE(seen == right) << bytes;
            regions_->release(from);
            regions_->release(to);
            driver_->cuMemFree(source);
            driver_->cuMemFree(target);
        }
    }
    real->destroy_srq(receives);
    real->destroy_cq(queue);
}

}  // namespace
}  // namespace beeline::mover::verbs

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    setenv("SOFTCUDA_DMA_BUF", "1", 1);
    setenv("SOFTCUDA_HOST_ACCESS", "1", 1);
    setenv("SOFTCUDA_QUIET", "1", 0);
    const beeline::cuda::Driver* driver = beeline::world::load_driver();
    if (driver == nullptr) {
        return 1;
    }
    beeline::world::use_device(*driver, 0);
    return RUN_ALL_TESTS();
}
