// SPDX-License-Identifier: BSD-3-Clause
// From thread blocks to schedules: all ranks' steps are played once, in any order that their waits
// allow, and each rank's part of that order is its schedule.
#include "coll/plan/msccl.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <exception>
#include <map>
#include <stdexcept>
#include <tuple>

#include "coll/plan/emitter.hpp"
#include "coll/plan/xml.hpp"

namespace beeline::coll::plan {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;
constexpr int kDeepest = 4;  // algo, gpu, tb, step
constexpr int kMostRanks = 1024;
constexpr int kMostChunks = 1 << 16;   // of one buffer
constexpr int kMostChannel = 255;      // as many as the transports tell apart
constexpr long kMostMoves = 1L << 20;  // chunks that all steps move
constexpr long kMostCells = 1L << 24;  // chunks of all ranks' buffers

struct Malformed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// What a step does: receives, combines with its source, stores, sends on. A copy and a reduction
/// inside a rank do none of the first and last.
struct Kind {
    const char* name;
    bool receives;
    bool reduces;
    bool stores;
    bool sends;
};
constexpr Kind kKinds[] = {
    {"s", false, false, false, true},    {"r", true, false, true, false},
    {"rcs", true, false, true, true},    {"rrc", true, true, true, false},
    {"rrs", true, true, false, true},    {"rrcs", true, true, true, true},
    {"cpy", false, false, true, false},  {"re", false, true, true, false},
    {"nop", false, false, false, false},
};

/// Chunks of one of the three buffers that a step names.
struct Range {
    char buffer = 'i';
    int first = 0;
};

struct Step {
    const Kind* kind = nullptr;
    Range source;
    Range target;
    int count = 0;
    int after_block = -1;  ///< index of the thread block to wait for, or -1
    int after_step = -1;   ///< the step of it that must be done
};

struct Block {
    int send = -1;
    int receive = -1;
    int channel = 0;
    std::vector<Step> steps;
    std::size_t done = 0;
};

struct Gpu {
    std::vector<Block> blocks;
    int scratch = 0;
};

int number(const XmlElement& element, const char* name, int least, int most) {
    const std::string* text = element.find(name);
    if (text == nullptr) {
        throw Malformed("<" + element.name + "> has no " + name);
    }
    int value = 0;
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

/// The algorithm, and the schedules while they are made.
class Import {
 public:
    explicit Import(const XmlElement& algo)
        : collective_(collective_of(named(algo, "algo"))),
          ranks_(number(algo, "ngpus", 1, kMostRanks)),
          chunks_(number(algo, "nchunksperloop", 1, kMostChunks)) {
        if (const std::string* name = algo.find("name"); name != nullptr) {
            name_ = name->substr(0, 100);
        }
        in_place_ = algo.find("inplace") != nullptr && number(algo, "inplace", 0, 1) == 1;
        if (!on_vector(collective_) && chunks_ % ranks_ != 0) {
            throw Malformed("nchunksperloop is not a multiple of ngpus");
        }
        slices_ = on_vector(collective_) ? 1 : chunks_ / ranks_;
        read_gpus(algo);
        const auto writes_input = [](const Step& step) {
            return step.kind->stores && step.target.buffer == 'i';
        };
        for (const Gpu& gpu : gpus_) {
            for (const Block& block : gpu.blocks) {
                copies_input_ = copies_input_ ||
                                std::any_of(block.steps.begin(), block.steps.end(), writes_input);
            }
        }
        // A schedule's reduce_scatter is never in place: one that is works on a copy.
        copies_input_ = collective_ == Collective::kReduceScatter ? copies_input_ || in_place_
                                                                  : copies_input_ && !in_place_;
    }

    std::vector<Schedule> run() {
        begin();
        for (bool moved = true; moved;) {
            moved = false;
            for (int rank = 0; rank < ranks_; ++rank) {
                for (std::size_t index = 0; index < gpu(rank).blocks.size(); ++index) {
                    while (advance(rank, index)) {
                        moved = true;
                    }
                }
            }
        }
        return end();
    }

 private:
    using Way = std::tuple<int, int, int>;  // from, to, channel

    Gpu& gpu(int rank) { return gpus_[static_cast<std::size_t>(rank)]; }
    Emitter& emitter(int rank) { return emitters_[static_cast<std::size_t>(rank)]; }
    static std::uint32_t unsigned_of(int value) noexcept {
        return static_cast<std::uint32_t>(value);
    }

    void read_gpus(const XmlElement& algo) {
        if (algo.children.size() != static_cast<std::size_t>(ranks_)) {
            throw Malformed("there is not one <gpu> for each rank");
        }
        gpus_.resize(algo.children.size());
        std::vector<bool> seen(gpus_.size());
        long moves = 0;
        long cells = 0;
        for (const XmlElement& each : algo.children) {
            const int id = number(named(each, "gpu"), "id", 0, ranks_ - 1);
            if (seen[static_cast<std::size_t>(id)]) {
                throw Malformed("two <gpu> have one id");
            }
            seen[static_cast<std::size_t>(id)] = true;
            gpu(id) = GpuReader(each, ranks_, moves).take();
            cells += 3L * chunks_ + gpu(id).scratch;
        }
        if (cells > kMostCells) {
            throw Malformed("there are too many chunks");
        }
    }

    /// Where the own blocks of a gathered or scattered whole begin.
    int own_chunk(int rank) const noexcept { return rank * slices_; }

    void begin() {
        for (int rank = 0; rank < ranks_; ++rank) {
            Request request;
            request.collective = collective_;
            request.size = ranks_;
            request.rank = rank;
            request.in_place = in_place_ && collective_ != Collective::kReduceScatter;
            emitters_.emplace_back(request, name_.c_str(), on_vector(collective_) ? chunks_ : 1,
                                   slices_);
            likes_.emplace_back(static_cast<std::size_t>(gpu(rank).scratch));
            widest_.push_back(1);
            for (const Block& block : gpu(rank).blocks) {
                for (const Step& step : block.steps) {
                    widest_.back() = std::max(widest_.back(), step.count);
                }
            }
            Emitter& emit = emitter(rank);
            if (copies_input_) {
                const int chunks = collective_ == Collective::kAllgather ? slices_ : chunks_;
                const int first = collective_ == Collective::kAllgather ? own_chunk(rank) : 0;
                emit.copy(emit.mirror(0, unsigned_of(first)), emit.input(), unsigned_of(chunks));
            }
        }
    }

    std::vector<Schedule> end() {
        std::vector<Schedule> world;
        for (int rank = 0; rank < ranks_; ++rank) {
            for (const Block& block : gpu(rank).blocks) {
                if (block.done < block.steps.size()) {
                    throw Malformed("a thread block of gpu " + std::to_string(rank) +
                                    " waits for ever at step " + std::to_string(block.done));
                }
            }
            Emitter& emit = emitter(rank);
            if (collective_ == Collective::kReduceScatter && in_place_) {
                emit.copy(emit.output(), emit.mirror(0, unsigned_of(own_chunk(rank))),
                          unsigned_of(slices_));
            }
            world.push_back(emit.take());
        }
        return world;
    }

    /// The chunk of the frame that chunk `index` of a buffer is as long as.
    int frame_chunk(int rank, char buffer, int index) const {
        if (buffer == 's') {
            return likes_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(index)];
        }
        const bool own = (collective_ == Collective::kAllgather && buffer == 'i') ||
                         (collective_ == Collective::kReduceScatter && buffer == 'o');
        return own ? own_chunk(rank) + index : index;
    }

    /// The place of one chunk; scratch has the length of `like`.
    Place place(int rank, char buffer, int index, int like) {
        const bool own = (collective_ == Collective::kAllgather && buffer == 'i') ||
                         (collective_ == Collective::kReduceScatter && buffer == 'o');
        const int most = buffer == 's' ? gpu(rank).scratch : own ? slices_ : chunks_;
        if (index >= most) {
            throw Malformed("a step names a chunk beyond the end of a buffer");
        }
        Emitter& emit = emitter(rank);
        if (buffer == 's') {
            return emit.slot(unsigned_of(index), unsigned_of(like));
        }
        const std::uint32_t whole = unsigned_of(frame_chunk(rank, buffer, index));
        if (collective_ == Collective::kReduceScatter && in_place_) {
            return emit.mirror(0, whole);
        }
        if (buffer == 'i' && copies_input_) {
            return emit.mirror(0, whole);
        }
        if (buffer == 'i' && !in_place_) {
            return emit.input(unsigned_of(index));
        }
        return emit.output(buffer == 'i' ? whole : unsigned_of(index));
    }

    /// The place of a chunk that is read.
    Place read(int rank, const Range& range, int offset) {
        const int index = range.first + offset;
        const int most = range.buffer == 's' ? gpu(rank).scratch : kMostChunks * 2;
        return place(rank, range.buffer, index,
                     index < most ? frame_chunk(rank, range.buffer, index) : 0);
    }

    /// The place of a chunk that is written with what is as long as `like`.
    Place write(int rank, const Range& range, int offset, int like) {
        const int index = range.first + offset;
        const Place found = place(rank, range.buffer, index, like);
        if (range.buffer == 's') {
            likes_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(index)] = like;
        }
        return found;
    }

    /// Does the next step of a thread block, if it has one and nothing is missing.
    bool advance(int rank, std::size_t index) {
        Block& block = gpu(rank).blocks[index];
        if (block.done == block.steps.size()) {
            return false;
        }
        const Step& step = block.steps[block.done];
        if (step.after_block >= 0 &&
            gpu(rank).blocks[static_cast<std::size_t>(step.after_block)].done <=
                static_cast<std::size_t>(step.after_step)) {
            return false;
        }
        if (step.kind->receives && ways_[{block.receive, rank, block.channel}].size() <
                                       static_cast<std::size_t>(step.count)) {
            return false;
        }
        const int room =
            gpu(rank).scratch + static_cast<int>(index) * widest_[static_cast<std::size_t>(rank)];
        for (int offset = 0; offset < step.count; ++offset) {
            move(rank, block, step, offset, unsigned_of(room + offset));
        }
        ++block.done;
        return true;
    }

    /// One chunk of a step; `room` is a slot for what was received and is not yet combined.
    void move(int rank, const Block& block, const Step& step, int offset, std::uint32_t room) {
        Emitter& emit = emitter(rank);
        const Kind& kind = *step.kind;
        int like = 0;
        Place result;
        if (kind.receives) {
            std::deque<int>& way = ways_[{block.receive, rank, block.channel}];
            like = way.front();
            way.pop_front();
            result = kind.reduces ? emit.slot(room, unsigned_of(like))
                                  : write(rank, step.target, offset, like);
            emit.receive(block.receive, result, 1, block.channel);
        } else if (kind.stores || kind.sends) {
            result = read(rank, step.source, offset);
            like = frame_chunk(rank, step.source.buffer, step.source.first + offset);
        }
        if (kind.reduces) {
            // What came is combined with the source; inside a rank the source with the target.
            const Place mine = read(rank, kind.receives ? step.source : step.target, offset);
            const Place to = kind.stores ? write(rank, step.target, offset, like) : result;
            emit.reduce(to, kind.receives ? result : mine, kind.receives ? mine : result);
            result = to;
        } else if (kind.stores && !kind.receives) {
            const Place to = write(rank, step.target, offset, like);
            emit.copy(to, result);
            result = to;
        }
        if (kind.sends) {
            emit.send(block.send, result, 1, block.channel);
            ways_[{rank, block.send, block.channel}].push_back(like);
        }
    }

    Collective collective_;
    int ranks_;
    int chunks_;  ///< of the vector, or of the whole of all blocks
    int slices_ = 1;
    bool in_place_ = false;
    bool copies_input_ = false;
    std::string name_ = "imported";
    std::vector<Gpu> gpus_;
    std::vector<Emitter> emitters_;
    std::vector<std::vector<int>> likes_;  ///< for each rank and chunk of scratch
    std::vector<int> widest_;              ///< the most chunks of one step, for each rank
    std::map<Way, std::deque<int>> ways_;  ///< messages under way: how long each is
};

}  // namespace

Imported from_msccl(std::string_view text) noexcept {
    Imported imported;
    try {
        if (text.size() > kMostBytes) {
            imported.problem = "it is too long";
            return imported;
        }
        imported.world = Import(parse_xml(text, kDeepest)).run();
        imported.problem = validate(imported.world).problem;
    } catch (const std::bad_alloc&) {
        imported.problem = "no memory";
    } catch (const std::exception& error) {
        imported.problem = error.what();
    }
    if (!imported.ok()) {
        imported.world.clear();
    }
    return imported;
}

}  // namespace beeline::coll::plan
