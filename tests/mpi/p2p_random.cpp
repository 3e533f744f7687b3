// SPDX-License-Identifier: BSD-3-Clause
// Runs random programs of messages and compares bytes, statuses and errors with what MPI says must
// arrive.
//   p2p_random [host] [device] [managed] [--programs N] [--seed S] [--first I] [--truncate PERCENT]
#include <unistd.h>

#include <array>
#include <csignal>

#include "arena.hpp"
#include "harness.hpp"
#include "program.hpp"

namespace beeline::test {
namespace {

constexpr int kUnusedTag = 5000;
constexpr unsigned kSecondsPerProgram = 60;
constexpr std::size_t kAttached = std::size_t{32} << 20;

char where[160] = "";

void hangs(int) {
    // Only what a signal handler may do.
    static_cast<void>(!write(STDOUT_FILENO, where, std::strlen(where)));
    _exit(3);
}

class Runner {
 public:
    Runner(Harness& harness, int truncate)
        : h_(harness), truncate_(truncate), attached_(kAttached) {
        for (const gpu::Kind kind : h_.kinds) {
            from_.emplace_back(h_.gpu.get(), kind);
            into_.emplace_back(h_.gpu.get(), kind);
        }
        for (const Shape& shape : shapes()) {
            types_.push_back(make_type(shape));
        }
        communicators_[0] = MPI_COMM_WORLD;
        MPI_Comm_dup(MPI_COMM_WORLD, &communicators_[1]);
        MPI_Comm_split(MPI_COMM_WORLD, 0, -h_.rank, &communicators_[2]);
        for (const MPI_Comm communicator : communicators_) {
            MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
        }
        MPI_Buffer_attach(attached_.data(), static_cast<int>(attached_.size()));
    }
    ~Runner() {
        void* address = nullptr;
        int size = 0;
        MPI_Buffer_detach(&address, &size);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        MPI_Comm_free(&communicators_[1]);
        MPI_Comm_free(&communicators_[2]);
        for (MPI_Datatype& type : types_) {
            MPI_Type_free(&type);
        }
    }
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;

    void run(std::uint64_t seed, unsigned number) {
        program_ = number;
        seed_ = bench::mix(seed * 1000003 + number);
        std::snprintf(where, sizeof where,
                      "FAIL p2p_random: rank %d: program %u hangs (--seed %llu --first %u)\n",
                      h_.rank, number, static_cast<unsigned long long>(seed), number);
        alarm(kSecondsPerProgram);
        std::vector<Phase> program =
            make_program(seed_, h_.ranks, static_cast<int>(h_.kinds.size()), truncate_);
        // What only this rank needs to know is drawn apart.
        Choices local(seed_ + static_cast<std::uint64_t>(h_.rank));
        for (phase_number_ = 0; phase_number_ < program.size(); ++phase_number_) {
            run_phase(program[phase_number_], local);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        alarm(0);
    }

 private:
    struct Posted {
        std::size_t index;  ///< in the phase's receives
        std::size_t offset;
        MPI_Status status;
        int result;
        bool told;  ///< false: lost, see complete()
    };
    struct Pending {
        MPI_Request request;
        Posted* receive;  ///< null for a send
    };

    static MPI_Datatype make_type(const Shape& shape) {
        std::vector<int> lengths;
        std::vector<MPI_Aint> starts;
        for (const Shape::Run& run : shape.runs) {
            lengths.push_back(static_cast<int>(run.bytes));
            starts.push_back(run.start);
        }
        MPI_Datatype bare = MPI_DATATYPE_NULL;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), starts.data(),
                                 MPI_BYTE, &bare);
        MPI_Type_create_resized(bare, shape.lower, static_cast<MPI_Aint>(shape.extent), &type);
        MPI_Type_free(&bare);
        MPI_Type_commit(&type);
        return type;
    }

    MPI_Datatype type_of(const Data& data) const {
        return data.shape == 0 ? MPI_BYTE : types_[static_cast<std::size_t>(data.shape)];
    }
    int rank_in(int communicator, int rank) const {
        if (rank == kAnything) {
            return MPI_ANY_SOURCE;
        }
        return communicator == 2 ? h_.ranks - 1 - rank : rank;
    }
    static int tag_of(const Receive& receive) {
        return receive.tag == kAnything ? MPI_ANY_TAG : receive.tag;
    }
    std::uint64_t payload(std::size_t message) const {
        return bench::make_seed(static_cast<unsigned>(phase_number_), program_, 1,
                                static_cast<unsigned>(message)) ^
               seed_;
    }

    void run_phase(const Phase& phase, Choices& local) {
        lay_out(phase, local);
        pending_.clear();
        for (Posted& posted : posted_) {
            if (phase.receives[posted.index].early) {
                post(phase.receives[posted.index], posted);
            }
        }
        MPI_Request unwanted = MPI_REQUEST_NULL;
        int nothing = 0;
        if (phase.cancels) {
            MPI_Irecv(&nothing, 1, MPI_INT, MPI_ANY_SOURCE, kUnusedTag, communicators_[1],
                      &unwanted);
        }
        if (phase.barrier) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        for (std::size_t i = 0; i < phase.messages.size(); ++i) {
            if (phase.messages[i].source == h_.rank && phase.messages[i].call != Send::kSendrecv) {
                send(phase.messages[i], offsets_[i]);
            }
        }
        next_exchange_ = 0;
        for (Posted& posted : posted_) {
            if (!phase.receives[posted.index].early) {
                receive_late(phase, posted);
            }
        }
        while (const Message* message = next_exchange(phase, -1)) {
            exchange(message, nullptr, nullptr);
        }
        if (phase.cancels) {
            cancel(unwanted);
        }
        way_ = local.below(5);
        complete(way_);
        // The memory of sends whose request was freed is in use until they are received.
        MPI_Barrier(MPI_COMM_WORLD);
        judge(phase);
    }

    /// Places all data of this rank in the arenas and fills them.
    void lay_out(const Phase& phase, Choices& local) {
        for (std::size_t kind = 0; kind < h_.kinds.size(); ++kind) {
            from_[kind].reset();
            into_[kind].reset();
        }
        offsets_.assign(phase.messages.size(), 0);
        for (std::size_t i = 0; i < phase.messages.size(); ++i) {
            const Message& message = phase.messages[i];
            if (message.source == h_.rank) {
                offsets_[i] = from(message.data).take(message.data, local);
            }
        }
        posted_.clear();
        for (std::size_t i = 0; i < phase.receives.size(); ++i) {
            const Receive& receive = phase.receives[i];
            if (receive.destination == h_.rank) {
                Posted posted{
                    i, into(receive.data).take(receive.data, local), {}, MPI_SUCCESS, true};
                posted.status.MPI_ERROR = MPI_SUCCESS;
                posted_.push_back(posted);
            }
        }
        for (std::size_t kind = 0; kind < h_.kinds.size(); ++kind) {
            from_[kind].fill(local.next(), local.percent(20));
            into_[kind].fill(local.next(), local.percent(20));
        }
        for (std::size_t i = 0; i < phase.messages.size(); ++i) {
            const Message& message = phase.messages[i];
            if (message.source == h_.rank) {
                from(message.data).put(message.data, offsets_[i], payload(i), message.data.bytes());
            }
        }
        for (std::size_t kind = 0; kind < h_.kinds.size(); ++kind) {
            from_[kind].upload();
            into_[kind].upload();
        }
    }

    Arena& from(const Data& data) { return from_[static_cast<std::size_t>(data.memory)]; }
    Arena& into(const Data& data) { return into_[static_cast<std::size_t>(data.memory)]; }

    void post(const Receive& receive, Posted& posted) {
        void* const address = into(receive.data).address(posted.offset);
        const int count = static_cast<int>(receive.data.count);
        const MPI_Comm communicator =
            communicators_[static_cast<std::size_t>(receive.communicator)];
        const int source = rank_in(receive.communicator, receive.source);
        MPI_Request request = MPI_REQUEST_NULL;
        if (receive.call == Take::kRecvInit) {
            MPI_Recv_init(address, count, type_of(receive.data), source, tag_of(receive),
                          communicator, &request);
            MPI_Start(&request);
        } else {
            MPI_Irecv(address, count, type_of(receive.data), source, tag_of(receive), communicator,
                      &request);
        }
        pending_.push_back({request, &posted});
    }

    void send(const Message& message, std::size_t offset) {
        const void* const address = from(message.data).address(offset);
        const int count = static_cast<int>(message.data.count);
        const MPI_Datatype type = type_of(message.data);
        const int to = rank_in(message.communicator, message.destination);
        const int tag = message.tag;
        const MPI_Comm comm = communicators_[static_cast<std::size_t>(message.communicator)];
        MPI_Request request = MPI_REQUEST_NULL;
        int result = MPI_SUCCESS;
        switch (message.call) {
            case Send::kIsend:
            case Send::kIsendFree:
                result = MPI_Isend(address, count, type, to, tag, comm, &request);
                break;
            case Send::kIssend:
                result = MPI_Issend(address, count, type, to, tag, comm, &request);
                break;
            case Send::kIbsend:
                result = MPI_Ibsend(address, count, type, to, tag, comm, &request);
                break;
            case Send::kBsend:
                result = MPI_Bsend(address, count, type, to, tag, comm);
                break;
            case Send::kSendInit:
                MPI_Send_init(address, count, type, to, tag, comm, &request);
                result = MPI_Start(&request);
                break;
            case Send::kSsendInit:
                MPI_Ssend_init(address, count, type, to, tag, comm, &request);
                result = MPI_Start(&request);
                break;
            case Send::kSend:
                result = MPI_Send(address, count, type, to, tag, comm);
                break;
            case Send::kSsend:
                result = MPI_Ssend(address, count, type, to, tag, comm);
                break;
            case Send::kRsend:
                result = MPI_Rsend(address, count, type, to, tag, comm);
                break;
            case Send::kSendrecv:
                break;
        }
        h_.check(result == MPI_SUCCESS, "program %u phase %zu: %s of %zu bytes to %d: error %d",
                 program_, phase_number_, kSendNames[static_cast<std::size_t>(message.call)],
                 message.data.bytes(), message.destination, result);
        if (message.call == Send::kIsendFree && request != MPI_REQUEST_NULL) {
            MPI_Request_free(&request);
        } else if (request != MPI_REQUEST_NULL) {
            pending_.push_back({request, nullptr});
        }
    }

    /// The next message of this rank that is sent by sendrecv, if it is of `communicator` (-1:
    /// any).
    const Message* next_exchange(const Phase& phase, int communicator) {
        for (; next_exchange_ < phase.messages.size(); ++next_exchange_) {
            const Message& message = phase.messages[next_exchange_];
            if (message.source == h_.rank && message.call == Send::kSendrecv) {
                if (communicator >= 0 && communicator != message.communicator) {
                    return nullptr;
                }
                exchanged_ = next_exchange_++;
                return &message;
            }
        }
        return nullptr;
    }

    /// Either side may be missing, not both.
    void exchange(const Message* message, const Receive* receive, Posted* posted) {
        const int number = message != nullptr ? message->communicator : receive->communicator;
        const void* out = nullptr;
        void* in = nullptr;
        Data none;
        const Data& sent = message != nullptr ? message->data : none;
        const Data& taken = receive != nullptr ? receive->data : none;
        int to = MPI_PROC_NULL;
        int source = MPI_PROC_NULL;
        MPI_Status unused;
        if (message != nullptr) {
            out = from(sent).address(offsets_[exchanged_]);
            to = rank_in(number, message->destination);
        }
        if (receive != nullptr) {
            in = into(taken).address(posted->offset);
            source = rank_in(number, receive->source);
        }
        const int result =
            MPI_Sendrecv(out, static_cast<int>(sent.count), type_of(sent), to,
                         message != nullptr ? message->tag : 0, in, static_cast<int>(taken.count),
                         type_of(taken), source, receive != nullptr ? tag_of(*receive) : 0,
                         communicators_[static_cast<std::size_t>(number)],
                         posted != nullptr ? &posted->status : &unused);
        if (posted != nullptr) {
            posted->result = result;
        }
    }

    void receive_late(const Phase& phase, Posted& posted) {
        const Receive& receive = phase.receives[posted.index];
        void* const address = into(receive.data).address(posted.offset);
        const int count = static_cast<int>(receive.data.count);
        const MPI_Datatype type = type_of(receive.data);
        const MPI_Comm comm = communicators_[static_cast<std::size_t>(receive.communicator)];
        const int source = rank_in(receive.communicator, receive.source);
        const int tag = tag_of(receive);
        MPI_Status seen;
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Request request = MPI_REQUEST_NULL;
        int flag = 0;
        switch (receive.call) {
            case Take::kIrecv:
            case Take::kRecvInit:
                post(receive, posted);
                return;
            case Take::kRecv:
                posted.result = MPI_Recv(address, count, type, source, tag, comm, &posted.status);
                return;
            case Take::kProbe:
                MPI_Probe(source, tag, comm, &seen);
                break;
            case Take::kIprobe:
                while (flag == 0) {
                    MPI_Iprobe(source, tag, comm, &flag, &seen);
                }
                break;
            case Take::kMprobe:
                MPI_Mprobe(source, tag, comm, &message, &seen);
                posted.result = MPI_Mrecv(address, count, type, &message, &posted.status);
                check_same(seen, posted.status, receive);
                return;
            case Take::kImprobe:
                while (flag == 0) {
                    MPI_Improbe(source, tag, comm, &flag, &message, &seen);
                }
                MPI_Imrecv(address, count, type, &message, &request);
                pending_.push_back({request, &posted});
                return;
            case Take::kSendrecv:
                exchange(next_exchange(phase, receive.communicator), &receive, &posted);
                return;
        }
        posted.result =
            MPI_Recv(address, count, type, seen.MPI_SOURCE, seen.MPI_TAG, comm, &posted.status);
        check_same(seen, posted.status, receive);
    }

    void check_same(const MPI_Status& probed, const MPI_Status& received, const Receive& receive) {
        h_.check(probed.MPI_SOURCE == received.MPI_SOURCE && probed.MPI_TAG == received.MPI_TAG,
                 "program %u phase %zu: %s found source %d tag %d, the receive got %d and %d",
                 program_, phase_number_, kTakeNames[static_cast<std::size_t>(receive.call)],
                 probed.MPI_SOURCE, probed.MPI_TAG, received.MPI_SOURCE, received.MPI_TAG);
    }

    void cancel(MPI_Request& request) {
        MPI_Status status;
        int flag = 0;
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &flag);
        h_.check(flag != 0, "program %u: a receive nobody sends to was not cancelled", program_);
    }

    /// Ends everything under way, by one of MPI's ways. When MPI_Waitany returns an error, Open MPI
    /// frees all requests that have failed by then, so that others than the one returned are never
    /// told.
    void complete(int way) {
        std::vector<MPI_Request> requests;
        for (const Pending& pending : pending_) {
            requests.push_back(pending.request);
        }
        MPI_Status blank{};
        blank.MPI_ERROR = MPI_SUCCESS;
        std::vector<MPI_Status> statuses(requests.size() + 1, blank);
        std::vector<int> results(requests.size() + 1, MPI_SUCCESS);
        std::vector<bool> told(requests.size() + 1, way != 2);
        const int count = static_cast<int>(requests.size());
        int flag = 0;
        int index = 0;
        MPI_Status status = blank;
        switch (way) {
            case 0:
                MPI_Waitall(count, requests.data(), statuses.data());
                break;
            case 1:
                while (flag == 0) {
                    MPI_Testall(count, requests.data(), &flag, statuses.data());
                }
                break;
            case 2:
                for (int i = 0; i < count; ++i) {
                    status = blank;
                    const int result = MPI_Waitany(count, requests.data(), &index, &status);
                    if (index == MPI_UNDEFINED) {
                        break;
                    }
                    statuses[static_cast<std::size_t>(index)] = status;
                    results[static_cast<std::size_t>(index)] = result;
                    told[static_cast<std::size_t>(index)] = true;
                }
                break;
            case 3:
                complete_some(requests, statuses);
                break;
            default:
                for (std::size_t i = requests.size(); i > 0; --i) {
                    flag = 0;
                    while (flag == 0) {
                        results[i - 1] = MPI_Test(&requests[i - 1], &flag, &statuses[i - 1]);
                    }
                }
                break;
        }
        for (std::size_t i = 0; i < pending_.size(); ++i) {
            if (statuses[i].MPI_ERROR == MPI_ERR_PENDING) {
                // An error of another request ended the wait early, as MPI allows.
                statuses[i] = blank;
                results[i] = MPI_Wait(&requests[i], &statuses[i]);
            }
            if (requests[i] != MPI_REQUEST_NULL) {  // a persistent one
                MPI_Request_free(&requests[i]);
            }
            if (pending_[i].receive != nullptr) {
                pending_[i].receive->told = told[i];
                pending_[i].receive->status = statuses[i];
                pending_[i].receive->result =
                    results[i] != MPI_SUCCESS ? results[i] : statuses[i].MPI_ERROR;
            }
        }
    }

    static void complete_some(std::vector<MPI_Request>& requests,
                              std::vector<MPI_Status>& statuses) {
        std::vector<MPI_Status> some(statuses.size(), statuses[0]);
        std::vector<int> indices(statuses.size(), 0);
        for (;;) {
            int done = 0;
            for (MPI_Status& status : some) {
                status.MPI_ERROR = MPI_SUCCESS;
            }
            MPI_Waitsome(static_cast<int>(requests.size()), requests.data(), &done, indices.data(),
                         some.data());
            if (done == MPI_UNDEFINED) {
                return;
            }
            for (std::size_t i = 0; i < static_cast<std::size_t>(done); ++i) {
                statuses[static_cast<std::size_t>(indices[i])] = some[i];
            }
        }
    }

    /// Compares with the model, in the order in which the receives were posted.
    void judge(const Phase& phase) {
        for (std::size_t kind = 0; kind < h_.kinds.size(); ++kind) {
            into_[kind].download();
            from_[kind].download();
        }
        std::vector<bool> seen(phase.messages.size(), false);
        for (const Posted& posted : posted_) {
            judge(phase, posted, seen);
        }
        for (std::size_t kind = 0; kind < h_.kinds.size(); ++kind) {
            h_.check(into_[kind].intact(),
                     "program %u phase %zu: %s memory received into differs at byte %zu%s",
                     program_, phase_number_, gpu::to_string(into_[kind].kind()),
                     into_[kind].first_difference(),
                     owner(phase, kind, into_[kind].first_difference()).c_str());
            h_.check(from_[kind].intact(),
                     "program %u phase %zu: %s memory sent from changed at byte %zu", program_,
                     phase_number_, gpu::to_string(from_[kind].kind()),
                     from_[kind].first_difference());
        }
    }

    void judge(const Phase& phase, const Posted& posted, std::vector<bool>& seen) {
        const Receive& receive = phase.receives[posted.index];
        const int source = posted.status.MPI_SOURCE;
        int index = receive.message;
        if (index < 0) {
            // Whatever came: the next message of its source.
            for (std::size_t i = 0; i < phase.messages.size() && index < 0; ++i) {
                const Message& message = phase.messages[i];
                if (!seen[i] && message.destination == h_.rank &&
                    message.communicator == receive.communicator &&
                    rank_in(receive.communicator, message.source) == source) {
                    index = static_cast<int>(i);
                }
            }
        }
        if (index < 0) {
            h_.check(false, "program %u phase %zu: a message from %d too many", program_,
                     phase_number_, source);
            return;
        }
        const auto at = static_cast<std::size_t>(index);
        const Message& message = phase.messages[at];
        seen[at] = true;
        const std::size_t bytes = message.data.bytes();
        const bool fits = bytes <= receive.data.bytes();
        if (!fits && !posted.told) {
            into(receive.data).accept(receive.data, posted.offset);
            return;
        }
        h_.check(source == rank_in(receive.communicator, message.source) &&
                     posted.status.MPI_TAG == message.tag,
                 "program %u phase %zu: %s got source %d and tag %d instead of %d and %d", program_,
                 phase_number_, kTakeNames[static_cast<std::size_t>(receive.call)], source,
                 posted.status.MPI_TAG, rank_in(receive.communicator, message.source), message.tag);
        int error_class = MPI_SUCCESS;
        MPI_Error_class(posted.result, &error_class);
        h_.check(
            error_class == (fits ? MPI_SUCCESS : MPI_ERR_TRUNCATE),
            "program %u phase %zu, completion %d: %s -> %s, %zu bytes into %zu: error class %d",
            program_, phase_number_, way_, kSendNames[static_cast<std::size_t>(message.call)],
            kTakeNames[static_cast<std::size_t>(receive.call)], bytes, receive.data.bytes(),
            error_class);
        if (!fits) {
            into(receive.data).accept(receive.data, posted.offset);
            return;
        }
        judge_count(receive, posted, bytes);
        into(receive.data).put(receive.data, posted.offset, payload(at), bytes);
    }

    void judge_count(const Receive& receive, const Posted& posted, std::size_t bytes) {
        const std::size_t packed = shapes()[static_cast<std::size_t>(receive.data.shape)].packed();
        const int expected = bytes % packed == 0 ? static_cast<int>(bytes / packed) : MPI_UNDEFINED;
        int count = -1;
        int elements = -1;
        int cancelled = -1;
        MPI_Get_count(&posted.status, type_of(receive.data), &count);
        MPI_Get_elements(&posted.status, type_of(receive.data), &elements);
        MPI_Test_cancelled(&posted.status, &cancelled);
        h_.check(count == expected && elements == static_cast<int>(bytes) && cancelled == 0,
                 "program %u phase %zu: %s of %zu bytes: count %d instead of %d, elements %d",
                 program_, phase_number_, kTakeNames[static_cast<std::size_t>(receive.call)], bytes,
                 count, expected, elements);
    }

    /// Says which message belongs at a byte of the arena.
    std::string owner(const Phase& phase, std::size_t kind, std::size_t byte) const {
        const Posted* last = nullptr;
        for (const Posted& posted : posted_) {
            if (phase.receives[posted.index].data.memory == static_cast<int>(kind) &&
                posted.offset <= byte + 12) {
                last = &posted;
            }
        }
        if (last == nullptr || phase.receives[last->index].message < 0) {
            return "";
        }
        const Receive& receive = phase.receives[last->index];
        const Message& message = phase.messages[static_cast<std::size_t>(receive.message)];
        char text[200];
        std::snprintf(text, sizeof text, ": %s by %d from %s (%zu %s) -> %s (%zu %s at %zu)",
                      kSendNames[static_cast<std::size_t>(message.call)], message.source,
                      gpu::to_string(h_.kinds[static_cast<std::size_t>(message.data.memory)]),
                      message.data.count,
                      shapes()[static_cast<std::size_t>(message.data.shape)].name,
                      kTakeNames[static_cast<std::size_t>(receive.call)], receive.data.count,
                      shapes()[static_cast<std::size_t>(receive.data.shape)].name, last->offset);
        return text;
    }

    Harness& h_;
    const int truncate_;
    std::vector<Arena> from_;
    std::vector<Arena> into_;
    std::vector<MPI_Datatype> types_;
    std::array<MPI_Comm, kCommunicators> communicators_{};
    std::vector<unsigned char> attached_;
    unsigned program_ = 0;
    std::size_t phase_number_ = 0;
    int way_ = 0;  ///< in which the requests were completed
    std::uint64_t seed_ = 0;
    std::vector<std::size_t> offsets_;
    std::vector<Posted> posted_;
    std::vector<Pending> pending_;
    std::size_t next_exchange_ = 0;
    std::size_t exchanged_ = 0;
};

unsigned long option(int argc, char** argv, const char* name, unsigned long otherwise) {
    for (int i = 1; i + 1 < argc; ++i) {
        if (std::strcmp(argv[i], name) == 0) {
            return std::strtoul(argv[i + 1], nullptr, 0);
        }
    }
    return otherwise;
}

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    beeline::test::Harness harness(&argc, &argv);
    const unsigned long programs = beeline::test::option(argc, argv, "--programs", 100);
    const unsigned long seed = beeline::test::option(argc, argv, "--seed", 1);
    const unsigned long first = beeline::test::option(argc, argv, "--first", 0);
    const unsigned long truncate = beeline::test::option(argc, argv, "--truncate", 5);
    if (harness.rank == 0) {
        std::printf("p2p_random: programs %lu to %lu of seed %lu\n", first, first + programs - 1,
                    seed);
        std::fflush(stdout);
    }
    std::signal(SIGALRM, beeline::test::hangs);
    {
        beeline::test::Runner runner(harness, static_cast<int>(truncate));
        for (unsigned long i = first; i < first + programs; ++i) {
            runner.run(seed, static_cast<unsigned>(i));
        }
    }
    return harness.finish();
}
