// SPDX-License-Identifier: BSD-3-Clause
// Every collective by every algorithm, with samples of forms, datatypes, operations, kinds of
// memory, counts and roots, against a serial reference; then many under way at a time.
//   coll_matrix [cases N] [seed N] [only CALL] [allgathers N] [loaded LIST] [list FILE] device
// `loaded` tries instead the algorithms that files brought, COLLECTIVE:NAME,COLLECTIVE:NAME: each
// must serve the world. `list` appends to FILE a line "wanted COLLECTIVE ALGORITHM MEMORY" for each
// that there is, and "ran ..." for each that this run met, where MEMORY is device, host or mixed.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "coll/plan/algorithm.hpp"
#include "config/config.hpp"
#include "tests/mpi/coll_groups.hpp"
#include "tests/mpi/coll_served.hpp"
#include "tests/mpi/harness.hpp"

namespace beeline::test {
namespace {

/// The same numbers on all ranks.
class Dice {
 public:
    explicit Dice(std::uint64_t seed) : state_(seed * 2 + 1) {}
    std::size_t below(std::size_t limit) {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return static_cast<std::size_t>((state_ >> 33) % limit);
    }

 private:
    std::uint64_t state_;
};

constexpr gpu::Kind kKinds[] = {gpu::Kind::kDevice, gpu::Kind::kHost, gpu::Kind::kDevice,
                                gpu::Kind::kManaged, gpu::Kind::kPinned};
constexpr int kCounts[] = {1, 5, 0, 64, 1000, 3, 9000};

/// The first samples of a call are ones that its algorithm can serve, one for each of these.
constexpr const char* kMemories[] = {"device", "host", "mixed"};
constexpr int kServable = static_cast<int>(std::size(kMemories));

/// The calls that an algorithm of a collective serves.
std::vector<Call> calls_of(std::string_view collective) {
    std::vector<Call> calls;
    for (int number = 0; number <= static_cast<int>(Call::kNeighborAlltoallw); ++number) {
        const auto call = static_cast<Call>(number);
        std::string_view name = to_string(call);
        if (name == "reduce_scatter_block") {
            name = "reduce_scatter";
        } else if (!name.ends_with("v") && !name.ends_with("w")) {
            // as it is
        } else {
            name.remove_suffix(1);
        }
        if (name == collective) {
            calls.push_back(call);
        }
    }
    return calls;
}

class Matrix {
 public:
    Matrix(Harness& h, std::uint64_t seed)
        : h_(h),
          nodes_(nodes_of_world()),
          dice_(seed),
          plain_(plain_groups(h.rank, h.ranks)),
          neighborhoods_(neighborhoods(h.rank, h.ranks)) {}
    ~Matrix() {
        release(plain_);
        release(neighborhoods_);
    }
    Matrix(const Matrix&) = delete;
    Matrix& operator=(const Matrix&) = delete;

    /// `cases` samples of each call by each algorithm that the parameter of its collective names.
    void run_all(int cases, std::string_view only, const char* list) {
        for (const config::Row& row : config::rows()) {
            std::string_view name = row.name;
            constexpr std::string_view kSuffix = "_algorithm";
            if (row.kind != config::Kind::kName || std::string_view(row.component) != "coll" ||
                !name.ends_with(kSuffix)) {
                continue;
            }
            name.remove_suffix(kSuffix.size());
            std::string_view words = row.words;
            while (!words.empty()) {
                const std::size_t bar = std::min(words.find('|'), words.size());
                const std::string word(words.substr(0, bar));
                words.remove_prefix(std::min(bar + 1, words.size()));
                run_word(row, name, word, cases, only);
                note(list, name, word);
            }
            choose(row, "auto");
        }
    }

    /// The same for names that are no words of a parameter: "COLLECTIVE:NAME,COLLECTIVE:NAME".
    void run_loaded(int cases, std::string_view loaded) {
        while (!loaded.empty()) {
            const std::string_view pair = loaded.substr(0, loaded.find(','));
            loaded.remove_prefix(std::min(pair.size() + 1, loaded.size()));
            const std::string_view name = pair.substr(0, pair.find(':'));
            const std::string word(pair.substr(name.size() + 1));
            for (const config::Row& row : config::rows()) {
                if (row.kind == config::Kind::kName &&
                    row.name == std::string(name) + "_algorithm") {
                    run_word(row, name, word, cases, "");
                    choose(row, "auto");
                }
            }
            for (std::size_t memory = 0; memory < std::size(kMemories); ++memory) {
                h_.check(served_[memory] > 0, "%s by %s never ran on %s memory",
                         std::string(name).c_str(), word.c_str(), kMemories[memory]);
            }
        }
    }

    /// How many of the samples had what; a run of all calls must have met each.
    void check_covered(bool all) {
        h_.check(!all || *std::min_element(covered_.begin(), covered_.end()) > 0,
                 "a feature was never tested");
        if (h_.rank == 0) {
            std::printf(
                "%d samples: %d in place, %d of datatypes with gaps, %d without data, "
                "%d mixed kinds of memory\n",
                covered_[0], covered_[1], covered_[2], covered_[3], covered_[4]);
        }
    }

    /// Non-blocking collectives on communicators that overlap, all under way at once, completed in
    /// any order.
    void run_together(int number) {
        std::vector<std::unique_ptr<Running>> running;
        for (int index = 0; index < number; ++index) {
            Case facts = draw(static_cast<Call>(dice_.below(17)));
            facts.form = Form::kNonblocking;
            const Group& group = plain_[dice_.below(plain_.size())];
            place(facts, group);
            running.push_back(std::make_unique<Running>(
                facts, elements_[dice_.below(elements_.size())], group, h_.gpu.get()));
            const int outcome = running.back()->begin();
            h_.check(outcome == MPI_SUCCESS, "%s: error %d", running.back()->describe().c_str(),
                     outcome);
        }
        complete(running);
    }

    /// Calls of very different sizes follow each other without a pause.
    void run_alternating(int rounds) {
        std::vector<std::unique_ptr<Running>> running;
        for (int round = 0; round < rounds; ++round) {
            for (const Call call : {Call::kAlltoall, Call::kAllreduce}) {
                Case facts;
                facts.call = call;
                facts.form = Form::kNonblocking;
                facts.send = facts.receive = gpu::Kind::kDevice;
                facts.count = round % 2 == 0 ? 2 : 8000;
                running.push_back(
                    std::make_unique<Running>(facts, elements_[0], plain_[0], h_.gpu.get()));
                const int outcome = running.back()->begin();
                h_.check(outcome == MPI_SUCCESS, "error %d", outcome);
            }
            if (running.size() >= 8) {
                complete(running);
            }
        }
        complete(running);
    }

    void run_allgathers(int rounds) {
        Case facts;
        facts.call = Call::kAllgather;
        facts.send = facts.receive = gpu::Kind::kDevice;
        facts.count = 1024;
        Running running(facts, elements_[0], plain_[0], h_.gpu.get());
        for (int round = 0; round < rounds; ++round) {
            const int outcome = running.begin();
            h_.check(outcome == MPI_SUCCESS, "error %d", outcome);
            const std::string wrong = running.check();
            h_.check(wrong.empty(), "round %d: %s", round, wrong.c_str());
        }
    }

 private:
    void run_word(const config::Row& row, std::string_view name, const std::string& word, int cases,
                  std::string_view only) {
        choose(row, word);
        const Served counter(name, word);
        served_ = {};
        for (const Call call : calls_of(name)) {
            if (only.empty() || only == to_string(call)) {
                run_call(call, cases, counter);
            }
        }
        check_served(name, word, counter.count(), only.empty());
    }

    /// What every algorithm can serve, on the whole world.
    void make_servable(Case& facts, std::size_t& element, int number) {
        element %= Elements::kMachine;
        facts.count += facts.count == 0 ? 7 : 0;
        // Of the kinds device and host, or a different one on each rank and side.
        kind_ = number == 1 ? 1 : 0;
        mixed_ = number == 2;
        other_ = number == 2 ? 1 : 0;
        const std::string_view name = to_string(facts.call);
        facts.in_place = facts.in_place && !name.starts_with("alltoall");
        if (word_.starts_with("fused_")) {
            // One kernel serves blocking calls on what a GPU can combine.
            facts.form = Form::kBlocking;
            element = 0;
        }
    }

    /// Appends to the list, on one rank, what there is and what ran.
    void note(const char* list, std::string_view name, std::string_view word) const {
        if (list == nullptr || h_.rank != 0 || word == "auto" || word == "staged") {
            return;
        }
        if (std::FILE* file = std::fopen(list, "a"); file != nullptr) {
            for (std::size_t memory = 0; memory < std::size(kMemories); ++memory) {
                const auto line = [&](const char* what) {
                    std::fprintf(file, "%s %s %s %s\n", what, std::string(name).c_str(),
                                 std::string(word).c_str(), kMemories[memory]);
                };
                line("wanted");
                if (served_[memory] > 0) {
                    line("ran");
                }
            }
            std::fclose(file);
        }
    }

    Case draw(Call call) {
        Case facts;
        facts.call = call;
        facts.form = static_cast<Form>(turn_++ % 3);
        facts.in_place = !on_neighbors(call) && call != Call::kBcast && dice_.below(3) == 0;
        facts.gaps = static_cast<int>(dice_.below(5)) % 3;
        facts.count = kCounts[dice_.below(std::size(kCounts))];
        facts.root = static_cast<int>(dice_.below(64));
        kind_ = dice_.below(std::size(kKinds));
        mixed_ = dice_.below(2) == 0;
        other_ = dice_.below(3) == 0 ? 1 + dice_.below(3) : 0;
        return facts;
    }

    /// What depends on the communicator: the root, and the kinds of memory of this rank.
    void place(Case& facts, const Group& group) {
        int rank = 0;
        int size = 0;
        MPI_Comm_rank(group.comm, &rank);
        MPI_Comm_size(group.comm, &size);
        facts.root %= size;
        const std::size_t mine = kind_ + (mixed_ ? static_cast<std::size_t>(rank) : 0);
        facts.send = kKinds[mine % std::size(kKinds)];
        facts.receive = kKinds[(mine + other_) % std::size(kKinds)];
    }

    /// Open MPI's own neighbourhood calls know no order among several edges between two ranks; its
    /// alltoallw on one rank places its block wrongly, and loses data in place now and then, under
    /// pml/ob1 as well.
    static bool stock_is_right(const Case& facts, const Group& group) {
        int size = 0;
        MPI_Comm_size(group.comm, &size);
        return on_neighbors(facts.call)
                   ? group.plain_order
                   : facts.call != Call::kAlltoallw || (size > 1 && !facts.in_place);
    }

    void run_call(Call call, int cases, const Served& counter) {
        for (int number = 0; number < cases; ++number) {
            Case facts = draw(call);
            const auto& groups = on_neighbors(call) ? neighborhoods_ : plain_;
            const bool servable = number < kServable;
            const bool world = !on_neighbors(call) && (servable || number % 2 == 0);
            const Group& group = groups[world ? 0 : dice_.below(groups.size())];
            std::size_t element = dice_.below(elements_.size());
            if (servable) {
                make_servable(facts, element, number);
            }
            if (word_ == "staged" && !stock_is_right(facts, group)) {
                continue;
            }
            place(facts, group);
            const unsigned long long before = counter.count();
            covered_[0] += 1;
            covered_[1] += facts.in_place ? 1 : 0;
            covered_[2] += facts.gaps != 0 ? 1 : 0;
            covered_[3] += facts.count == 0 ? 1 : 0;
            covered_[4] += facts.send != facts.receive ? 1 : 0;
            Running running(facts, elements_[element], group, h_.gpu.get());
            const int rounds = facts.form == Form::kPersistent ? 2 : 1;
            for (int round = 0; round < rounds; ++round) {
                const int outcome = running.begin();
                MPI_Wait(&running.request(), MPI_STATUS_IGNORE);
                const std::string wrong = running.check();
                h_.check(outcome == MPI_SUCCESS && wrong.empty(), "by %s: error %d, %s",
                         word_.c_str(), outcome, wrong.c_str());
            }
            if (servable) {
                served_[static_cast<std::size_t>(number)] += counter.count() - before;
            }
        }
    }

    void complete(std::vector<std::unique_ptr<Running>>& running) {
        std::vector<MPI_Request> requests;
        for (const auto& one : running) {
            requests.push_back(one->request());
        }
        for (std::size_t left = running.size(); left > 0; --left) {
            int index = 0;
            MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &index,
                        MPI_STATUS_IGNORE);
            Running& one = *running[static_cast<std::size_t>(index)];
            one.request() = MPI_REQUEST_NULL;
            const std::string wrong = one.check();
            h_.check(wrong.empty(), "together: %s", wrong.c_str());
        }
        running.clear();
    }

    /// Writes the control variable, as a tool would.
    void choose(const config::Row& row, const std::string& word) {
        MPI_Barrier(MPI_COMM_WORLD);
        int index = 0;
        int count = 0;
        MPI_T_cvar_handle handle = nullptr;
        const std::string name = std::string("coll_beeline_") + row.name;
        const bool written =
            MPI_T_cvar_get_index(name.c_str(), &index) == MPI_SUCCESS &&
            MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) == MPI_SUCCESS &&
            MPI_T_cvar_write(handle, word.c_str()) == MPI_SUCCESS;
        h_.check(written, "%s cannot be written", name.c_str());
        MPI_T_cvar_handle_free(&handle);
        word_ = word;
    }

    /// An algorithm that can serve the world was not passed over.
    void check_served(std::string_view name, std::string_view word, unsigned long long count,
                      bool all) {
        coll::plan::Request request;
        if (!all || h_.ranks == 1 || !coll::plan::find(name, request.collective)) {
            return;
        }
        const coll::plan::Algorithm* algorithm = coll::plan::find(request.collective, word);
        request.size = h_.ranks;
        request.node_of = nodes_;
        if (algorithm != nullptr && coll::plan::refuses(*algorithm, request) == nullptr) {
            h_.check(count > 0, "%s by %s was never used", std::string(name).c_str(),
                     std::string(word).c_str());
        }
    }

    Harness& h_;
    std::vector<int> nodes_;  ///< of each rank, in the order in which they are met
    Dice dice_;
    Elements elements_;
    std::vector<Group> plain_;
    std::vector<Group> neighborhoods_;
    std::string word_ = "auto";
    int turn_ = 0;
    std::array<unsigned long long, std::size(kMemories)> served_{};  ///< by the algorithm in force
    std::array<int, 5> covered_{};
    std::size_t kind_ = 0;
    bool mixed_ = false;
    std::size_t other_ = 0;
};

int number_after(int argc, char** argv, const char* word, int otherwise) {
    for (int index = 1; index + 1 < argc; ++index) {
        if (std::strcmp(argv[index], word) == 0) {
            return std::atoi(argv[index + 1]);
        }
    }
    return otherwise;
}

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    using namespace beeline::test;
    int level = 0;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    Harness h(&argc, &argv);
    const int cases = number_after(argc, argv, "cases", 6);
    const int seed = number_after(argc, argv, "seed", 1);
    const int allgathers = number_after(argc, argv, "allgathers", 0);
    std::string_view only;
    std::string_view loaded;
    const char* list = nullptr;
    for (int index = 1; index + 1 < argc; ++index) {
        only = std::string_view(argv[index]) == "only" ? argv[index + 1] : only;
        loaded = std::string_view(argv[index]) == "loaded" ? argv[index + 1] : loaded;
        list = std::string_view(argv[index]) == "list" ? argv[index + 1] : list;
    }
    if (h.rank == 0) {
        std::printf("seed %d\n", seed);
    }
    {
        Matrix matrix(h, static_cast<std::uint64_t>(seed));
        if (allgathers > 0) {
            matrix.run_allgathers(allgathers);
        } else if (!loaded.empty()) {
            matrix.run_loaded(cases, loaded);
        } else {
            matrix.run_all(cases, only, list);
            matrix.check_covered(only.empty() && cases > kServable);
            matrix.run_together(only.empty() ? 100 : 0);
            matrix.run_alternating(only.empty() ? 12 : 0);
        }
    }
    MPI_T_finalize();
    return h.finish();
}
