// SPDX-License-Identifier: BSD-3-Clause
// What a collective on device memory asks of the driver is what its schedule says: a launch for
// each reduction, a copy for each copy, and one for each message received.
//   coll_ledger [loaded FILES] device
// `loaded` tries instead what the files of coll_beeline_schedule_file bring, which is FILES.
#include <dlfcn.h>

#include <string_view>

#include "coll/kernel/types.hpp"
#include "coll/plan/transform.hpp"
#include "coll/select/schedule_files.hpp"
#include "coll/select/select.hpp"
#include "tests/mpi/coll_groups.hpp"
#include "tests/mpi/harness.hpp"

namespace beeline::test {
namespace {

using coll::plan::OpKind;
using coll::plan::Schedule;

/// Large enough for every message to go straight from device to device.
constexpr int kVector = 1 << 20;  // elements of 4 bytes
constexpr int kBlock = 1 << 18;

struct Counts {
    long long launches = 0;
    long long copies = 0;
    long long messages = 0;  ///< sent
    bool operator==(const Counts&) const = default;
};

/// SoftCUDA's counters of this process.
class Meter {
 public:
    Meter() {
        void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
        calls_ = library == nullptr ? nullptr
                                    : reinterpret_cast<unsigned long long (*)(const char*)>(
                                          dlsym(library, "softcuda_calls"));
        MPI_T_pvar_session_create(&session_);
        int variables = 0;
        MPI_T_pvar_get_num(&variables);
        for (int index = 0; index < variables; ++index) {
            add_message_counter(index);
        }
    }
    ~Meter() {
        for (MPI_T_pvar_handle& handle : messages_) {
            MPI_T_pvar_handle_free(session_, &handle);
        }
        MPI_T_pvar_session_free(&session_);
    }
    Meter(const Meter&) = delete;
    Meter& operator=(const Meter&) = delete;
    bool usable() const { return calls_ != nullptr; }
    Counts read() const {
        Counts counts;
        counts.launches = count("cuLaunchKernel");
        for (const char* name :
             {"cuMemcpyAsync", "cuMemcpyDtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyHtoDAsync"}) {
            counts.copies += count(name);
        }
        for (const MPI_T_pvar_handle handle : messages_) {
            unsigned long long value = 0;
            MPI_T_pvar_read(session_, handle, &value);
            counts.messages += static_cast<long long>(value);
        }
        return counts;
    }

 private:
    /// Beeline counts what each path of its PML sends.
    void add_message_counter(int index) {
        char name[256] = "";
        int name_length = sizeof name;
        int ignored = 0;
        int kind = 0;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_T_enum words = nullptr;
        MPI_T_pvar_get_info(index, name, &name_length, &ignored, &kind, &type, &words, nullptr,
                            &ignored, &ignored, &ignored, &ignored, &ignored);
        if (std::string_view(name).starts_with("pml_beeline_messages_")) {
            MPI_T_pvar_handle handle = nullptr;
            int count = 0;
            MPI_T_pvar_handle_alloc(session_, index, nullptr, &handle, &count);
            messages_.push_back(handle);
        }
    }
    long long count(const char* name) const { return static_cast<long long>(calls_(name)); }
    unsigned long long (*calls_)(const char*) = nullptr;
    MPI_T_pvar_session session_ = nullptr;
    std::vector<MPI_T_pvar_handle> messages_;
};

bool find_call(coll::plan::Collective collective, Call& call) {
    for (int number = 0; number <= static_cast<int>(Call::kNeighborAlltoallw); ++number) {
        call = static_cast<Call>(number);
        // reduce_scatter_block has equal blocks, as the other calls here.
        const std::string_view name =
            call == Call::kReduceScatterBlock ? "reduce_scatter" : to_string(call);
        if (call != Call::kReduceScatter && name == coll::plan::to_string(collective)) {
            return true;
        }
    }
    return false;
}

bool force(std::string_view collective, const char* word) {
    int index = 0;
    int count = 0;
    MPI_T_cvar_handle handle = nullptr;
    const std::string name = "coll_beeline_" + std::string(collective) + "_algorithm";
    const bool done = MPI_T_cvar_get_index(name.c_str(), &index) == MPI_SUCCESS &&
                      MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) == MPI_SUCCESS &&
                      MPI_T_cvar_write(handle, word) == MPI_SUCCESS;
    MPI_T_cvar_handle_free(&handle);
    return done;
}

/// The schedule that the plugin runs for this call.
Schedule schedule_of(const coll::plan::Algorithm& algorithm, const coll::plan::Request& request) {
    return coll::plan::join(coll::plan::split(algorithm.build(request)), coll::kernel::kMostInputs);
}

Counts counts_of(const Schedule& schedule) {
    Counts counts;
    counts.launches = static_cast<long long>(coll::plan::count_reductions(schedule));
    for (const coll::plan::Op& op : schedule.ops) {
        counts.copies += op.kind == OpKind::kCopy || op.kind == OpKind::kReceive ? 1 : 0;
        counts.messages += op.kind == OpKind::kSend ? 1 : 0;
    }
    return counts;
}

void run(Harness& h, const Meter& meter, const Elements& elements,
         const coll::plan::Algorithm& algorithm, const coll::select::Tuning& tuning) {
    Call call = Call::kBarrier;
    const coll::plan::Collective collective = algorithm.collective;
    if (!find_call(collective, call) || call == Call::kBarrier || on_neighbors(call)) {
        return;
    }
    const bool vector = coll::plan::on_vector(collective);
    const std::vector<int> nodes(static_cast<std::size_t>(h.ranks), 0);
    coll::select::Facts facts;
    facts.request.collective = collective;
    facts.request.size = h.ranks;
    facts.request.root = h.ranks - 1;
    facts.request.node_of = nodes;
    facts.bytes = (vector ? kVector : kBlock) * 4.0;
    if (coll::plan::refuses(algorithm, facts.request) != nullptr) {
        return;
    }
    config::Params params;
    const std::string row_name = std::string(coll::plan::to_string(collective)) + "_algorithm";
    for (const config::Row& row : config::rows()) {
        if (row_name == row.name) {
            config::set(params, row, algorithm.name);
        }
    }
    const coll::select::Settings settings{&params, &tuning};
    const coll::select::Choice choice = coll::select::choose(facts, settings);
    h.check(choice.algorithm == &algorithm, "%s: the choice cannot be forced", algorithm.name);
    coll::plan::Request request = facts.request;
    request.rank = h.rank;
    request.slices = choice.slices;
    const Counts wanted = counts_of(schedule_of(algorithm, request));

    MPI_Barrier(MPI_COMM_WORLD);
    h.check(force(coll::plan::to_string(collective), algorithm.name), "cannot be forced");
    const Group world{"the world", MPI_COMM_WORLD, {}, {}, {}, true};
    Case what;
    what.call = call;
    what.send = what.receive = gpu::Kind::kDevice;
    what.count = vector ? kVector : kBlock;
    what.root = request.root;
    Running running(what, elements[0], world, h.gpu.get());
    // The second time everything that is made once is there.
    Counts spent;
    for (int round = 0; round < 2; ++round) {
        MPI_Barrier(MPI_COMM_WORLD);
        const Counts before = meter.read();
        h.check(running.begin() == MPI_SUCCESS, "an error");
        const Counts after = meter.read();
        spent = {after.launches - before.launches, after.copies - before.copies,
                 after.messages - before.messages};
        const std::string wrong = running.check();
        h.check(wrong.empty(), "%s", wrong.c_str());
    }
    h.check(spent == wanted,
            "%s %s: %lld launches, %lld copies, %lld messages; its schedule has %lld, %lld, %lld",
            to_string(call), algorithm.name, spent.launches, spent.copies, spent.messages,
            wanted.launches, wanted.copies, wanted.messages);
    if (h.rank == 0) {
        std::printf("%s by %s: %lld launches, %lld copies, %lld messages\n", to_string(call),
                    algorithm.name, wanted.launches, wanted.copies, wanted.messages);
    }
    force(coll::plan::to_string(collective), "auto");
}

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    using namespace beeline::test;
    int level = 0;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    Harness h(&argc, &argv);
    {
        const Meter meter;
        const Elements elements;
        h.check(meter.usable(), "the driver is not SoftCUDA");
        beeline::coll::select::ScheduleFiles files;
        const bool loaded = argc > 2 && std::string_view(argv[1]) == "loaded";
        files.load(loaded ? argv[2] : "");
        h.check(files.problems().empty(), "a file is refused");
        beeline::coll::select::Tuning tuning;
        files.offer(tuning);
        const auto built_in = beeline::coll::plan::algorithms();
        std::vector<const beeline::coll::plan::Algorithm*> all(built_in.begin(), built_in.end());
        for (const auto* algorithm : loaded ? tuning.loaded : all) {
            if (meter.usable()) {
                run(h, meter, elements, *algorithm, tuning);
            }
        }
    }
    MPI_T_finalize();
    return h.finish();
}
