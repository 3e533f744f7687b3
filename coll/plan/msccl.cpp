// SPDX-License-Identifier: BSD-3-Clause
// From thread blocks to schedules: all ranks' steps are played once, in any order that their waits
// allow, and each rank's part of that order is its schedule.
#include "coll/plan/msccl.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include "coll/plan/emitter.hpp"
#include "coll/plan/msccl_file.hpp"

namespace beeline::coll::plan {
namespace {

using msccl::Block;
using msccl::Gpu;
using msccl::Kind;
using msccl::Malformed;
using msccl::Range;
using msccl::Step;

/// The algorithm, and the schedules while they are made.
class Import {
 public:
    explicit Import(msccl::Algorithm algorithm)
        : collective_(algorithm.collective),
          ranks_(algorithm.ranks),
          chunks_(algorithm.chunks),
          slices_(on_vector(collective_) ? 1 : chunks_ / ranks_),
          in_place_(algorithm.in_place),
          name_(std::move(algorithm.name)),
          gpus_(std::move(algorithm.gpus)) {
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
            sent_on_.push_back(0);
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
        const bool known = range.buffer != 's' || index < gpu(rank).scratch;
        return place(rank, range.buffer, index, known ? frame_chunk(rank, range.buffer, index) : 0);
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
        for (int offset = 0; offset < step.count; ++offset) {
            move(rank, index, offset);
        }
        ++block.done;
        return true;
    }

    /// A slot for what was received and is not yet combined. What is sent on from there has one of
    /// its own: waiting for that send before the next receive, all ranks of a ring would wait.
    std::uint32_t room(int rank, std::size_t index, int offset, bool sent_on) {
        const auto place = static_cast<std::size_t>(rank);
        const int shared = gpu(rank).scratch + static_cast<int>(index) * widest_[place] + offset;
        const int all =
            gpu(rank).scratch + static_cast<int>(gpu(rank).blocks.size()) * widest_[place];
        return unsigned_of(sent_on ? all + sent_on_[place]++ : shared);
    }

    /// One chunk of a step.
    void move(int rank, std::size_t index, int offset) {
        const Block& block = gpu(rank).blocks[index];
        const Step& step = block.steps[block.done];
        Emitter& emit = emitter(rank);
        const Kind& kind = *step.kind;
        int like = 0;
        Place result;
        if (kind.receives) {
            std::deque<int>& way = ways_[{block.receive, rank, block.channel}];
            like = way.front();
            way.pop_front();
            result = kind.reduces
                         ? emit.slot(room(rank, index, offset, !kind.stores), unsigned_of(like))
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
    int slices_;
    bool in_place_;
    bool copies_input_ = false;
    std::string name_;
    std::vector<Gpu> gpus_;
    std::vector<Emitter> emitters_;
    std::vector<std::vector<int>> likes_;  ///< for each rank and chunk of scratch
    std::vector<int> widest_;              ///< the most chunks of one step, for each rank
    std::vector<int> sent_on_;             ///< slots that results are sent from, for each rank
    std::map<Way, std::deque<int>> ways_;  ///< messages under way: how long each is
};

}  // namespace

Imported from_msccl(std::string_view text) noexcept {
    return import_proved([text](Imported& imported) {
        msccl::Algorithm algorithm = msccl::read(text);
        imported.bytes = algorithm.bytes;
        imported.world = Import(std::move(algorithm)).run();
    });
}

}  // namespace beeline::coll::plan
