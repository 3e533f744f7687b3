// SPDX-License-Identifier: BSD-3-Clause
// The worlds that a proof goes through.
//
// A schedule knows no counts, so there are none to choose from: a world is a number of ranks, a
// root, a cut, slices, in place or not, and a map of nodes or neighbours. Every size up to 128 is
// taken in its plain shape (not in place, blocks that vary or the vector, first root); the other
// shapes at every size to 40 and a spread of larger ones.
#include "coll/plan/prove.hpp"

#include <algorithm>
#include <random>
#include <vector>

namespace beeline::coll::plan {
namespace {

/// Sizes that meet every residue and power that rank arithmetic turns on.
bool in_spread(int size) noexcept {
    return size <= 40 || size % 8 == 0 || size == 63 || size == 65 || size == 127 || size == 97;
}

class Prover {
 public:
    Prover(const Algorithm& algorithm, const Extent& extent)
        : algorithm_(algorithm), extent_(extent), random_(extent.seed) {}

    Tally run() {
        for (int size = 1; size <= extent_.every_size && go_on(); ++size) {
            all_shapes(size, in_spread(size));
        }
        for (int turn = 0; turn < extent_.random_sizes && go_on(); ++turn) {
            const int size = fitting(uniform(extent_.every_size + 1, extent_.largest));
            if (size > extent_.every_size) {
                all_shapes(size, false);
            }
        }
        return std::move(tally_);
    }

 private:
    bool go_on() const noexcept { return tally_.problem.empty(); }

    int uniform(int low, int high) {
        return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
    }

    /// The largest size up to `size` whose world is not too much work.
    int fitting(int size) {
        while (size > extent_.every_size && work(size) > extent_.work) {
            size = std::max(extent_.every_size, size * 9 / 10);
        }
        return size;
    }

    std::uint64_t work(int size) {
        Request request = base(size);
        set_edges(request, size);
        if (refuses(algorithm_, request) != nullptr) {
            return 0;
        }
        const Schedule schedule = algorithm_.build(request);
        std::uint64_t cells = 0;
        for (int buffer = 0; buffer < kBuffers; ++buffer) {
            cells += schedule.chunks(static_cast<Buffer>(buffer));
        }
        for (const Op& op : schedule.ops) {
            cells += op.count;
        }
        return cells * static_cast<std::uint64_t>(size);
    }

    Request base(int size) const {
        Request request;
        request.collective = algorithm_.collective;
        request.size = size;
        request.cut = Cut::kVarying;
        if (algorithm_.refuses(request) != nullptr) {
            request.cut = Cut::kEqual;
        }
        return request;
    }

    void all_shapes(int size, bool every) {
        Request request = base(size);
        each_root(request, every ? extent_.every_root : 0);
        if (on_neighbors(algorithm_.collective)) {
            return;
        }
        if (every) {
            other_shapes(request);
        }
    }

    void other_shapes(const Request& plain) {
        Request request = plain;
        request.root = plain.size / 2;
        request.in_place = true;
        one(request);
        if (on_vector(plain.collective)) {
            mixed_ = true;
            one(request);
            mixed_ = false;
        }
        if (algorithm_.pipelines) {
            request.slices = 3;
            one(request);
            request.in_place = false;
            one(request);
            request.slices = 1;
        }
        request.in_place = false;
        request.commutative = false;
        one(request);
        request.commutative = true;
        for (const Cut cut : {Cut::kEqual, Cut::kScattered}) {
            if (!on_vector(plain.collective) && cut != plain.cut) {
                request.cut = cut;
                for (const bool in_place : {false, true}) {
                    request.in_place = in_place;
                    one(request);
                }
            }
        }
        request = plain;
        node_maps(request);
    }

    /// Regular nodes, one rank a node, and nodes that differ in size and interleave.
    void node_maps(Request request) {
        const auto size = static_cast<std::size_t>(request.size);
        for (const int shape : {0, 1, 2, 3}) {
            std::vector<int> nodes(size);
            for (std::size_t rank = 0; rank < size; ++rank) {
                const int number = static_cast<int>(rank);
                nodes[rank] = shape == 0   ? number / 4
                              : shape == 1 ? number
                              : shape == 2 ? (number < 5 ? 0 : 1 + (number - 5) / 3)
                                           : number % std::max(1, request.size / 4);
            }
            request.node_of = nodes;
            for (const int slices : {1, 2}) {
                request.slices = slices;
                request.in_place = slices == 2;
                if (know_nodes()) {
                    one(request);
                }
            }
        }
    }

    bool know_nodes() const noexcept { return std::string_view(algorithm_.name) == "hierarchical"; }

    void each_root(Request request, int every_root) {
        const int last = !rooted(request.collective) ? 0 : request.size - 1;
        if (last < every_root) {
            for (request.root = 0; request.root <= last; ++request.root) {
                one(request);
            }
            return;
        }
        for (const int root : {0, last / 3, last}) {
            request.root = root;
            if (root > 0 || last == 0 || root == 0) {
                one(request);
            }
            if (last == 0 || every_root == 0) {
                break;
            }
        }
    }

    void set_edges(Request& request, int rank) {
        if (on_neighbors(request.collective) && !neighbors_.empty()) {
            const Neighbors& here = neighbors_[static_cast<std::size_t>(rank % request.size)];
            request.sources = here.sources;
            request.targets = here.targets;
        }
    }

    /// Builds the world and proves it.
    void one(Request request) {
        if (!go_on()) {
            return;
        }
        if (on_neighbors(request.collective)) {
            choose_neighbors(request.size);
        }
        std::vector<Schedule> world;
        world.reserve(static_cast<std::size_t>(request.size));
        const bool in_place = request.in_place;
        for (request.rank = 0; request.rank < request.size; ++request.rank) {
            request.in_place = in_place && (!mixed_ || request.rank % 2 == 1);
            set_edges(request, request.rank);
            if (refuses(algorithm_, request) != nullptr) {
                return;
            }
            world.push_back(algorithm_.build(request));
        }
        const Verdict verdict = validate(world, neighbors_);
        if (!request.commutative && !world[0].ordered && reduces(request.collective)) {
            tally_.problem = "takes an operation that does not commute, and is not ordered";
        }
        ++tally_.worlds;
        tally_.ops += verdict.ops;
        tally_.messages += verdict.messages;
        tally_.largest = std::max(tally_.largest, request.size);
        if (!verdict.ok()) {
            tally_.problem = verdict.problem;
        }
        if (!go_on()) {
            name_world(request, in_place);
        }
    }

    void name_world(const Request& request, bool in_place) {
        tally_.problem =
            std::string(to_string(algorithm_.collective)) + ' ' + algorithm_.name + " of " +
            std::to_string(request.size) + " ranks, root " + std::to_string(request.root) + ", " +
            to_string(request.cut) + ", " + std::to_string(request.slices) + " slices" +
            (in_place ? ", in place" : "") + (request.commutative ? "" : ", not commutative") +
            (request.node_of.empty() ? "" : ", on nodes") + ": " + tally_.problem;
    }

    /// A ring in both directions (of two ranks: two edges to the same one), and random edges.
    void choose_neighbors(int size) {
        neighbors_.assign(static_cast<std::size_t>(size), {});
        if (size == 1) {
            return;
        }
        const auto edge = [&](int from, int to, int channel) {
            neighbors_[static_cast<std::size_t>(from)].targets.push_back({to, channel});
            neighbors_[static_cast<std::size_t>(to)].sources.push_back({from, channel});
        };
        for (int rank = 0; rank < size; ++rank) {
            edge(rank, (rank + 1) % size, 0);
            edge(rank, (rank + size - 1) % size, 1);
        }
        for (int turn = 0; turn < 2 * size; ++turn) {
            const int from = uniform(0, size - 1);
            edge(from, (from + uniform(1, size - 1)) % size, 0);
        }
    }

    const Algorithm& algorithm_;
    const Extent& extent_;
    std::mt19937_64 random_;
    std::vector<Neighbors> neighbors_;
    bool mixed_ = false;  ///< in place at odd ranks only
    Tally tally_;
};

}  // namespace

Tally prove(const Algorithm& algorithm, const Extent& extent) {
    return Prover(algorithm, extent).run();
}

}  // namespace beeline::coll::plan
