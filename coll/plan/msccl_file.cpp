// SPDX-License-Identifier: BSD-3-Clause
// Reading the elements algo, gpu, tb and step.
#include "coll/plan/msccl_file.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "coll/plan/xml.hpp"

namespace beeline::coll::plan::msccl {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;
constexpr int kDeepest = 4;  // algo, gpu, tb, step
constexpr int kMostRanks = 1024;
constexpr int kMostChannel = 255;      // as many as the transports tell apart
constexpr long kMostMoves = 1L << 20;  // chunks that all steps move
constexpr long kMostCells = 1L << 24;  // chunks of all ranks' buffers

constexpr Kind kKinds[] = {
    {"s", false, false, false, true},    {"r", true, false, true, false},
    {"rcs", true, false, true, true},    {"rrc", true, true, true, false},
    {"rrs", true, true, false, true},    {"rrcs", true, true, true, true},
    {"cpy", false, false, true, false},  {"re", false, true, true, false},
    {"nop", false, false, false, false},
};

template <class Number = int>
Number number(const XmlElement& element, const char* name, Number least, Number most) {
    const std::string* text = element.find(name);
    if (text == nullptr) {
        throw Malformed("<" + element.name + "> has no " + name);
    }
    Number value = 0;
    const char* end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, value);
    if (error != std::errc{} || stop != end || value < least || value > most) {
        throw Malformed("<" + element.name + "> has " + name + "=\"" + *text + "\", which is not " +
                        std::to_string(least) + " to " + std::to_string(most));
    }
    return value;
}

const XmlElement& named(const XmlElement& element, std::string_view name) {
    if (element.name != name) {
        throw Malformed("<" + element.name + "> stands where <" + std::string(name) +
                        "> is expected");
    }
    return element;
}

Range range_of(const XmlElement& step, const char* buffer, const char* first) {
    const std::string* text = step.find(buffer);
    if (text == nullptr || (*text != "i" && *text != "o" && *text != "s")) {
        throw Malformed(std::string("a step's ") + buffer + " is not i, o or s");
    }
    return {text->front(), number(step, first, 0, kMostChunks - 1)};
}

Collective collective_of(const XmlElement& algo) {
    const std::string* text = algo.find("coll");
    const std::string name = text == nullptr ? "" : *text;
    if (name == "allreduce") {
        return Collective::kAllreduce;
    }
    if (name == "allgather") {
        return Collective::kAllgather;
    }
    if (name == "reduce_scatter" || name == "reducescatter") {
        return Collective::kReduceScatter;
    }
    if (name == "alltoall") {
        return Collective::kAlltoall;
    }
    throw Malformed("its coll is \"" + name +
                    "\"; allreduce, allgather, reduce_scatter and alltoall can be read");
}

/// One <gpu>; `moves` counts what all of them move.
class GpuReader {
 public:
    GpuReader(const XmlElement& gpu, int ranks, long& moves) : ranks_(ranks), moves_(moves) {
        gpu_.scratch = number(gpu, "s_chunks", 0, kMostChunks);
        std::map<int, int> places;  // of thread blocks, by their ids
        for (const XmlElement& tb : gpu.children) {
            const int id = number(named(tb, "tb"), "id", 0, kMostChunks);
            if (!places.emplace(id, static_cast<int>(places.size())).second) {
                throw Malformed("two thread blocks have one id");
            }
        }
        for (const XmlElement& tb : gpu.children) {
            read_block(tb, places);
        }
    }
    Gpu take() { return std::move(gpu_); }

 private:
    void read_block(const XmlElement& tb, const std::map<int, int>& places) {
        Block block;
        block.send = number(tb, "send", -1, ranks_ - 1);
        block.receive = number(tb, "recv", -1, ranks_ - 1);
        block.channel = number(tb, "chan", 0, kMostChannel);
        for (const XmlElement& each : tb.children) {
            Step step;
            const std::string* type = named(each, "step").find("type");
            const auto kind =
                std::find_if(std::begin(kKinds), std::end(kKinds),
                             [&](const Kind& k) { return type != nullptr && *type == k.name; });
            if (kind == std::end(kKinds)) {
                throw Malformed(
                    "a step's type is not one of s, r, rcs, rrc, rrs, rrcs, cpy, re, nop");
            }
            step.kind = kind;
            step.source = range_of(each, "srcbuf", "srcoff");
            step.target = range_of(each, "dstbuf", "dstoff");
            step.count = number(each, "cnt", 0, kMostChunks);
            const int id = number(each, "depid", -1, kMostChunks);
            if (id >= 0) {
                const auto found = places.find(id);
                if (found == places.end()) {
                    throw Malformed("a step waits for a thread block that there is not");
                }
                step.after_block = found->second;
                step.after_step = number(each, "deps", 0, kMostChunks);
            }
            if ((kind->sends && block.send < 0) || (kind->receives && block.receive < 0)) {
                throw Malformed("a thread block without a peer sends or receives");
            }
            moves_ += std::max(step.count, 1);
            if (moves_ > kMostMoves) {
                throw Malformed("it has too many steps");
            }
            block.steps.push_back(step);
        }
        gpu_.blocks.push_back(std::move(block));
    }

    int ranks_;
    long& moves_;
    Gpu gpu_;
};

std::vector<Gpu> read_gpus(const XmlElement& algo, const Algorithm& algorithm) {
    if (algo.children.size() != static_cast<std::size_t>(algorithm.ranks)) {
        throw Malformed("there is not one <gpu> for each rank");
    }
    std::vector<Gpu> gpus(algo.children.size());
    std::vector<bool> seen(gpus.size());
    long moves = 0;
    long cells = 0;
    for (const XmlElement& each : algo.children) {
        const auto id =
            static_cast<std::size_t>(number(named(each, "gpu"), "id", 0, algorithm.ranks - 1));
        if (seen[id]) {
            throw Malformed("two <gpu> have one id");
        }
        seen[id] = true;
        gpus[id] = GpuReader(each, algorithm.ranks, moves).take();
        cells += 3L * algorithm.chunks + gpus[id].scratch;
    }
    if (cells > kMostCells) {
        throw Malformed("there are too many chunks");
    }
    return gpus;
}

/// MSCCL's bytes are of all blocks together, and end before maxBytes.
plan::Range bytes_of(const XmlElement& algo, const Algorithm& algorithm) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
    const auto blocks =
        static_cast<std::uint64_t>(on_vector(algorithm.collective) ? 1 : algorithm.ranks);
    const auto up = [blocks](std::uint64_t bytes) { return (bytes + blocks - 1) / blocks; };
    plan::Range bytes;
    if (algo.find("minBytes") != nullptr) {
        bytes.least = up(number<std::uint64_t>(algo, "minBytes", 0, kMost));
    }
    if (algo.find("maxBytes") != nullptr) {
        bytes.greatest = up(number<std::uint64_t>(algo, "maxBytes", 1, kMost)) - 1;
    }
    if (bytes.least > bytes.greatest) {
        throw Malformed("there are no bytes from minBytes to below maxBytes");
    }
    return bytes;
}

}  // namespace

Algorithm read(std::string_view text) {
    if (text.size() > kMostBytes) {
        throw Malformed("it is too long");
    }
    const XmlElement algo = parse_xml(text, kDeepest);
    Algorithm algorithm;
    algorithm.collective = collective_of(named(algo, "algo"));
    algorithm.ranks = number(algo, "ngpus", 1, kMostRanks);
    algorithm.chunks = number(algo, "nchunksperloop", 1, kMostChunks);
    const std::string* name = algo.find("name");
    algorithm.name = name == nullptr ? "imported" : name->substr(0, 100);
    algorithm.in_place = algo.find("inplace") != nullptr && number(algo, "inplace", 0, 1) == 1;
    if (!on_vector(algorithm.collective) && algorithm.chunks % algorithm.ranks != 0) {
        throw Malformed("nchunksperloop is not a multiple of ngpus");
    }
    algorithm.bytes = bytes_of(algo, algorithm);
    algorithm.gpus = read_gpus(algo, algorithm);
    return algorithm;
}

}  // namespace beeline::coll::plan::msccl
