// SPDX-License-Identifier: BSD-3-Clause
// Algorithms in MSCCL's XML: what is right is proved, what is wrong stays out.
#include <gtest/gtest.h>

#include <string>

#include "coll/plan/json.hpp"
#include "coll/plan/msccl.hpp"

namespace beeline::coll::plan {
namespace {

/// Writes algorithms; a thread block a peer and direction, steps as they are given.
class Writer {
 public:
    Writer(const char* coll, int ranks, int chunks, bool in_place) {
        text_ =
            "<?xml version=\"1.0\"?>\n<!-- by hand -->\n<algo name=\"test\" proto=\"Simple\" "
            "nchannels=\"1\" coll=\"" +
            std::string(coll) + "\" ngpus=\"" + std::to_string(ranks) + "\" nchunksperloop=\"" +
            std::to_string(chunks) + "\" inplace=\"" + (in_place ? "1" : "0") + "\">\n";
    }
    Writer& gpu(int id, int scratch = 0) {
        close_gpu();
        text_ += " <gpu id=\"" + std::to_string(id) +
                 "\" i_chunks=\"0\" o_chunks=\"0\" s_chunks=\"" + std::to_string(scratch) + "\">\n";
        in_gpu_ = true;
        blocks_ = 0;
        return *this;
    }
    Writer& block(int send, int receive, int channel = 0) {
        close_block();
        text_ += "  <tb id=\"" + std::to_string(blocks_++) + "\" send=\"" + std::to_string(send) +
                 "\" recv=\"" + std::to_string(receive) + "\" chan=\"" + std::to_string(channel) +
                 "\">\n";
        in_block_ = true;
        steps_ = 0;
        return *this;
    }
    Writer& step(const char* type, char from, int source, char to, int target, int count = 1,
                 int after_block = -1, int after_step = -1) {
        text_ += "   <step s=\"" + std::to_string(steps_++) + "\" type=\"" + type + "\" srcbuf=\"" +
                 from + "\" srcoff=\"" + std::to_string(source) + "\" dstbuf=\"" + to +
                 "\" dstoff=\"" + std::to_string(target) + "\" cnt=\"" + std::to_string(count) +
                 "\" depid=\"" + std::to_string(after_block) + "\" deps=\"" +
                 std::to_string(after_step) + "\" hasdep=\"0\"/>\n";
        return *this;
    }
    std::string text() {
        close_gpu();
        return text_ + "</algo>\n";
    }

 private:
    void close_block() {
        text_ += in_block_ ? "  </tb>\n" : "";
        in_block_ = false;
    }
    void close_gpu() {
        close_block();
        text_ += in_gpu_ ? " </gpu>\n" : "";
        in_gpu_ = false;
    }
    std::string text_;
    bool in_gpu_ = false;
    bool in_block_ = false;
    int blocks_ = 0;
    int steps_ = 0;
};

/// One chunk a rank goes around: reduced first, then gathered.
std::string ring_allreduce(int ranks, bool in_place) {
    Writer writer("allreduce", ranks, ranks, in_place);
    for (int rank = 0; rank < ranks; ++rank) {
        const auto chunk = [&](int behind) { return ((rank - behind) % ranks + ranks) % ranks; };
        writer.gpu(rank).block((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        writer.step("s", 'i', chunk(0), 'i', chunk(0));
        for (int turn = 1; turn < ranks - 1; ++turn) {
            writer.step(turn % 2 == 0 ? "rrs" : "rrcs", 'i', chunk(turn), 'i', chunk(turn));
        }
        writer.step("rrcs", 'i', chunk(ranks - 1), 'o', chunk(ranks - 1));
        for (int turn = 0; turn < ranks - 2; ++turn) {
            writer.step("rcs", 'o', chunk(turn), 'o', chunk(turn));
        }
        writer.step("r", 'o', chunk(ranks - 2), 'o', chunk(ranks - 2));
    }
    return writer.text();
}

/// All send to all, into scratch, and each combines what came.
std::string direct_reduce_scatter(bool in_place) {
    Writer writer("reduce_scatter", 3, 6, in_place);
    for (int rank = 0; rank < 3; ++rank) {
        writer.gpu(rank, 4);
        int place = 0;
        for (int peer = 0; peer < 3; ++peer) {
            if (peer != rank) {
                writer.block(peer, peer);
                writer.step("s", 'i', 2 * peer, 's', 0, 2);
                writer.step("r", 's', place, 's', place, 2);
                place += 2;
            }
        }
        writer.block(-1, -1);
        writer.step("nop", 'i', 0, 'i', 0, 0, 0, 1);
        writer.step("cpy", 'i', 2 * rank, 'o', 0, 2, 1, 1);
        writer.step("re", 's', 0, 'o', 0, 2);
        writer.step("re", 's', 2, 'o', 0, 2);
    }
    return writer.text();
}

std::string direct_allgather(bool in_place) {
    Writer writer("allgather", 3, 6, in_place);
    for (int rank = 0; rank < 3; ++rank) {
        writer.gpu(rank);
        for (int peer = 0; peer < 3; ++peer) {
            if (peer != rank) {
                writer.block(peer, peer);
                writer.step("s", 'i', 0, 'o', 2 * rank, 2);
                writer.step("r", 'o', 2 * peer, 'o', 2 * peer, 2);
            }
        }
        if (!in_place) {
            writer.block(-1, -1).step("cpy", 'i', 0, 'o', 2 * rank, 2);
        }
    }
    return writer.text();
}

std::string problem_of(const std::string& text) {
    const Imported imported = from_msccl(text);
    EXPECT_EQ(imported.ok(), !imported.world.empty());
    return imported.problem;
}

TEST(Msccl, AlgorithmsAreProved) {
    for (const bool in_place : {false, true}) {
        for (const int ranks : {2, 3, 4, 7}) {
            EXPECT_EQ(problem_of(ring_allreduce(ranks, in_place)), "") << ranks << in_place;
        }
        EXPECT_EQ(problem_of(direct_reduce_scatter(in_place)), "") << in_place;
        EXPECT_EQ(problem_of(direct_allgather(in_place)), "") << in_place;
    }
    Writer alltoall("alltoall", 2, 2, false);
    for (int rank = 0; rank < 2; ++rank) {
        alltoall.gpu(rank).block(1 - rank, 1 - rank);
        alltoall.step("s", 'i', 1 - rank, 'o', rank).step("r", 'i', rank, 'o', 1 - rank);
        alltoall.block(-1, -1).step("cpy", 'i', rank, 'o', rank);
    }
    EXPECT_EQ(problem_of(alltoall.text()), "");
}

TEST(Msccl, WhatWasReadIsASchedule) {
    const Imported imported = from_msccl(ring_allreduce(4, true));
    ASSERT_TRUE(imported.ok()) << imported.problem;
    ASSERT_EQ(imported.world.size(), 4U);
    EXPECT_EQ(imported.world[2].algorithm, "test");
    EXPECT_TRUE(imported.world[2].in_place);
    EXPECT_EQ(imported.world[2].frame_blocks, 4U);
    // It survives as a document of our own.
    EXPECT_EQ(from_json(to_json(imported.world)).problem, "");
}

TEST(Msccl, WhatIsWrongIsRefused) {
    const std::string good = ring_allreduce(3, true);
    ASSERT_EQ(problem_of(good), "");
    const auto changed = [&](const std::string& what, const std::string& by) {
        std::string text = good;
        const auto at = text.find(what);
        EXPECT_NE(at, std::string::npos) << what;
        return at == std::string::npos ? text : text.replace(at, what.size(), by);
    };
    const std::pair<const char*, const char*> changes[] = {
        {"coll=\"allreduce\"", "coll=\"allreduse\""},
        {"ngpus=\"3\"", "ngpus=\"4\""},
        {"ngpus=\"3\"", "ngpus=\"99999999999\""},
        {"nchunksperloop=\"3\"", "nchunksperloop=\"0\""},
        {"nchunksperloop=\"3\"", "nchunksperloop=\"2\""},
        {"id=\"1\" i_chunks", "id=\"0\" i_chunks"},
        {"s_chunks=\"0\"", "s_chunks=\"-1\""},
        {"send=\"1\"", "send=\"-1\""},
        {"send=\"1\"", "send=\"2\""},
        {"type=\"s\"", "type=\"x\""},
        {"type=\"rrcs\"", "type=\"rcs\""},
        {"type=\"r\"", "type=\"nop\""},
        {"srcbuf=\"i\"", "srcbuf=\"s\""},
        {"srcbuf=\"i\"", "srcbuf=\"q\""},
        {"srcoff=\"0\"", "srcoff=\"1\""},
        {"srcoff=\"0\"", "srcoff=\"3\""},
        {"cnt=\"1\"", "cnt=\"2\""},
        {"depid=\"-1\" deps=\"-1\"", "depid=\"0\" deps=\"9\""},
        {"depid=\"-1\" deps=\"-1\"", "depid=\"5\" deps=\"0\""},
        {"chan=\"0\"", "chan=\"1\""},
        {"<tb ", "<td "},
        {"</algo>", ""},
        {"</algo>", "</algo><algo/>"},
        {"<gpu id", "<!DOCTYPE a><gpu id"},
        {"name=\"test\"", "name=\"&lt;\""},
        {"name=\"test\"", "name=\"a\" name=\"b\""},
        {"name=\"test\"", "name=test"},
    };
    for (const auto& [what, by] : changes) {
        EXPECT_NE(problem_of(changed(what, by)), "") << what << " -> " << by;
    }
    for (const char* text :
         {"", "<", "<algo", "<algo>", "<!--", "<a><b><c><d><e/></d></c></b></a>"}) {
        EXPECT_NE(problem_of(text), "") << text;
    }
    EXPECT_NE(problem_of(std::string(1 << 20, '<')), "");
}

TEST(Msccl, BytesAreThoseOfTheFile) {
    const auto with = [](std::string text, const std::string& bounds) {
        return from_msccl(text.insert(text.find("name="), bounds + ' '));
    };
    const std::string ring = ring_allreduce(3, true);
    EXPECT_EQ(from_msccl(ring).bytes.least, 0U);
    EXPECT_EQ(from_msccl(ring).bytes.greatest, UINT64_MAX);
    const Imported bounded = with(ring, "minBytes=\"1024\" maxBytes=\"65536\"");
    ASSERT_EQ(bounded.problem, "");
    EXPECT_EQ(bounded.bytes.least, 1024U);
    EXPECT_EQ(bounded.bytes.greatest, 65535U);
    // Of all blocks together there, of one block here: 3 blocks of 33 bytes are below 100, of 34
    // above.
    const Imported blocks = with(direct_allgather(false), "minBytes=\"100\" maxBytes=\"300\"");
    ASSERT_EQ(blocks.problem, "");
    EXPECT_EQ(blocks.bytes.least, 34U);
    EXPECT_EQ(blocks.bytes.greatest, 99U);
    for (const char* wrong : {"minBytes=\"-1\"", "maxBytes=\"0\"", "maxBytes=\"1K\"",
                              "minBytes=\"9\" maxBytes=\"9\""}) {
        EXPECT_FALSE(with(ring, wrong).ok()) << wrong;
    }
}

}  // namespace
}  // namespace beeline::coll::plan
