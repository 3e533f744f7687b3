// SPDX-License-Identifier: BSD-3-Clause
// Runs random programs of messages and compares bytes, statuses and errors with what MPI says must
// arrive.
//   p2p_random [KIND OF MEMORY...] [--programs N] [--seed S] [--first I] [--truncate PERCENT]
#include <unistd.h>

#include <array>
#include <csignal>

#include "judge.hpp"

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

class Runner : private Judge {
 public:
    Runner(Harness& harness, int truncate)
        : Judge(harness), truncate_(truncate), attached_(kAttached) {
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
    /// One number for what all ranks received, on rank 0.
    std::uint64_t digest() const {
        std::uint64_t all = 0;
        MPI_Reduce(&digest_, &all, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
        return all;
    }

 private:
    struct Pending {
        MPI_Request request;
        Posted* receive;  ///< null for a send
    };

    static int tag_of(const Receive& receive) {
        return receive.tag == kAnything ? MPI_ANY_TAG : receive.tag;
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
        way_ = local.below(kWaysToComplete);
        end_all();
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
                Posted posted{i, into(receive.data).take(receive.data, local), {}};
                posted.end.status = blank_status();
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
                         posted != nullptr ? &posted->end.status : &unused);
        if (posted != nullptr) {
            posted->end.result = result;
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
                posted.end.result =
                    MPI_Recv(address, count, type, source, tag, comm, &posted.end.status);
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
                posted.end.result = MPI_Mrecv(address, count, type, &message, &posted.end.status);
                check_same(seen, posted.end.status, receive);
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
        posted.end.result =
            MPI_Recv(address, count, type, seen.MPI_SOURCE, seen.MPI_TAG, comm, &posted.end.status);
        check_same(seen, posted.end.status, receive);
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

    void end_all() {
        std::vector<MPI_Request> requests;
        for (const Pending& pending : pending_) {
            requests.push_back(pending.request);
        }
        const std::vector<Ended> ended = complete(way_, std::move(requests));
        for (std::size_t i = 0; i < pending_.size(); ++i) {
            if (pending_[i].receive != nullptr) {
                pending_[i].receive->end = ended[i];
            }
        }
    }

    const int truncate_;
    std::array<MPI_Comm, kCommunicators> communicators_{};
    std::vector<unsigned char> attached_;
    std::vector<std::size_t> offsets_;
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
        const unsigned long long digest = runner.digest();
        if (harness.rank == 0) {
            std::printf("p2p_random: digest %016llx\n", digest);
            std::fflush(stdout);
        }
    }
    return harness.finish();
}
