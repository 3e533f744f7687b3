// SPDX-License-Identifier: BSD-3-Clause
// What goes wrong is said the way MPI says it: error classes and handlers for wrong arguments,
// truncation by every protocol and receiving call, buffers for buffered sends, tags at the bound.
#include "calls.hpp"
#include "harness.hpp"
#include "routes.hpp"

namespace beeline::test {
namespace {

constexpr std::size_t kLargest = 600000;
constexpr int kGoTag = 30000;

int reported = 0;  // by count_error
int last_code = MPI_SUCCESS;

void count_error(MPI_Comm*, int* code, ...) {
    ++reported;
    last_code = *code;
}

class Errors {
 public:
    Errors(Harness& harness, gpu::Kind kind)
        : h_(harness),
          kind_(kind),
          out_(harness.gpu.get(), kind, kLargest),
          in_(harness.gpu.get(), kind, kLargest),
          right_((harness.rank + 1) % harness.ranks),
          left_((harness.rank - 1 + harness.ranks) % harness.ranks) {
        routes_.set_error_handler(MPI_ERRORS_RETURN);
    }
    ~Errors() { routes_.set_error_handler(MPI_ERRORS_ARE_FATAL); }
    Errors(const Errors&) = delete;
    Errors& operator=(const Errors&) = delete;

    void run() {
        arguments();
        probe_arguments();
        requests();
        largest_tag();
        handlers();
        attached_buffers();
        with_partners(h_.rank, h_.ranks, [this](int partner) {
            for (const Route& route : routes_.to(partner)) {
                route_ = route;
                truncations(h_.rank < partner);
                truncations(h_.rank > partner);
            }
        });
        among_others();
    }

 private:
    void expect_class(int code, int error_class, const char* call, const char* fault) {
        h_.check(class_of(code) == error_class, "%s with %s: error class %d instead of %d", call,
                 fault, class_of(code), error_class);
    }

    /// Every call with one wrong argument each. Nothing is sent.
    void arguments() {
        MPI_Datatype uncommitted = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(2, MPI_INT, &uncommitted);
        const Operands good{out_.data(), 1, MPI_INT, right_, 1, MPI_COMM_WORLD};
        struct Fault {
            const char* name;
            int error_class;
            Operands operands;
        };
        std::vector<Fault> faults(7, {"", 0, good});
        faults[0].name = "a negative count";
        faults[0].error_class = MPI_ERR_COUNT;
        faults[0].operands.count = -1;
        faults[1].name = "no datatype";
        faults[1].error_class = MPI_ERR_TYPE;
        faults[1].operands.type = MPI_DATATYPE_NULL;
        faults[2].name = "an uncommitted datatype";
        faults[2].error_class = MPI_ERR_TYPE;
        faults[2].operands.type = uncommitted;
        faults[3].name = "a rank too large";
        faults[3].error_class = MPI_ERR_RANK;
        faults[3].operands.peer = h_.ranks;
        faults[4].name = "a negative rank";
        faults[4].error_class = MPI_ERR_RANK;
        faults[4].operands.peer = -77;
        faults[5].name = "a negative tag";
        faults[5].error_class = MPI_ERR_TAG;
        faults[5].operands.tag = -77;
        faults[6].name = "no communicator";
        faults[6].error_class = MPI_ERR_COMM;
        faults[6].operands.comm = MPI_COMM_NULL;
        for (const Fault& fault : faults) {
            MPI_Request request = MPI_REQUEST_NULL;
            for (const SendCall& call : kSendCalls) {
                // Open MPI 4.1 looks at that in some of these calls only.
                if (call.persistent && fault.operands.type == uncommitted) {
                    continue;
                }
                expect_class(start_send(call, fault.operands, &request), fault.error_class,
                             call.name, fault.name);
            }
            const Operands& o = fault.operands;
            expect_class(
                MPI_Recv(o.buffer, o.count, o.type, o.peer, o.tag, o.comm, MPI_STATUS_IGNORE),
                fault.error_class, "recv", fault.name);
            expect_class(MPI_Irecv(o.buffer, o.count, o.type, o.peer, o.tag, o.comm, &request),
                         fault.error_class, "irecv", fault.name);
            expect_class(MPI_Recv_init(o.buffer, o.count, o.type, o.peer, o.tag, o.comm, &request),
                         fault.error_class, "recv_init", fault.name);
            expect_class(MPI_Sendrecv_replace(o.buffer, o.count, o.type, o.peer, o.tag, o.peer,
                                              o.tag, o.comm, MPI_STATUS_IGNORE),
                         fault.error_class, "sendrecv_replace", fault.name);
        }
        Operands wild = good;
        wild.tag = MPI_ANY_TAG;
        MPI_Request request = MPI_REQUEST_NULL;
        for (const SendCall& call : kSendCalls) {
            expect_class(start_send(call, wild, &request), MPI_ERR_TAG, call.name, "any tag");
        }
        wild = good;
        wild.peer = MPI_ANY_SOURCE;
        for (const SendCall& call : kSendCalls) {
            expect_class(start_send(call, wild, &request), MPI_ERR_RANK, call.name, "any rank");
        }
        MPI_Type_free(&uncommitted);
    }

    void probe_arguments() {
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status;
        int flag = 0;
        const MPI_Comm comm = MPI_COMM_WORLD;
        const auto each = [&](int peer, int tag, int error_class, const char* fault) {
            expect_class(MPI_Probe(peer, tag, comm, &status), error_class, "probe", fault);
            expect_class(MPI_Iprobe(peer, tag, comm, &flag, &status), error_class, "iprobe", fault);
            expect_class(MPI_Mprobe(peer, tag, comm, &message, &status), error_class, "mprobe",
                         fault);
            expect_class(MPI_Improbe(peer, tag, comm, &flag, &message, &status), error_class,
                         "improbe", fault);
        };
        each(h_.ranks, 1, MPI_ERR_RANK, "a rank too large");
        each(-77, 1, MPI_ERR_RANK, "a negative rank");
        each(0, -77, MPI_ERR_TAG, "a negative tag");
    }

    /// Calls about requests that are none.
    void requests() {
        MPI_Request request = MPI_REQUEST_NULL;
        expect_class(MPI_Start(&request), MPI_ERR_REQUEST, "start", "no request");
        expect_class(MPI_Startall(1, &request), MPI_ERR_REQUEST, "startall", "no request");
        expect_class(MPI_Cancel(&request), MPI_ERR_REQUEST, "cancel", "no request");
        expect_class(MPI_Request_free(&request), MPI_ERR_REQUEST, "request_free", "no request");
        expect_class(MPI_Start(nullptr), MPI_ERR_REQUEST, "start", "a null pointer");
        expect_class(MPI_Waitall(-1, &request, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "waitall",
                     "a negative count");
    }

    /// Tags up to MPI_TAG_UB work; one above it, where that is a number, is an error.
    void largest_tag() {
        int* bound = nullptr;
        int found = 0;
        MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&bound), &found);
        h_.check(found != 0 && *bound >= 32767, "MPI_TAG_UB is %d", found != 0 ? *bound : -1);
        if (found == 0) {
            return;
        }
        int sent = h_.rank;
        int got = -1;
        MPI_Status status = untouched();
        MPI_Sendrecv(&sent, 1, MPI_INT, right_, *bound, &got, 1, MPI_INT, left_, MPI_ANY_TAG,
                     MPI_COMM_WORLD, &status);
        h_.check(got == left_ && status.MPI_TAG == *bound, "the largest tag came as %d from %d",
                 status.MPI_TAG, got);
        if (*bound < INT32_MAX) {
            expect_class(MPI_Send(&sent, 1, MPI_INT, right_, *bound + 1, MPI_COMM_WORLD),
                         MPI_ERR_TAG, "send", "a tag too large");
        }
    }

    /// A handler of one's own hears of each error once, with its code, and only on its
    /// communicator.
    void handlers() {
        MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
        MPI_Comm copy = MPI_COMM_NULL;
        MPI_Comm_create_errhandler(count_error, &handler);
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Comm_set_errhandler(copy, handler);
        reported = 0;
        MPI_Send(out_.data(), 1, MPI_BYTE, h_.ranks, 1, copy);
        h_.check(reported == 1 && class_of(last_code) == MPI_ERR_RANK,
                 "a wrong rank was reported %d times, class %d", reported, class_of(last_code));
        MPI_Send(out_.data(), 1, MPI_BYTE, h_.ranks, 1, MPI_COMM_WORLD);
        h_.check(reported == 1, "an error of another communicator was reported");
        out_.set(5000, 0, 1);
        in_.poison(5000, 0, 1);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(in_.data(), 100, MPI_BYTE, left_, 1, copy, &request);
        MPI_Send(out_.data(), 5000, MPI_BYTE, right_, 1, copy);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        h_.check(reported == 2 && class_of(last_code) == MPI_ERR_TRUNCATE,
                 "a truncated message was reported %d times, class %d", reported - 1,
                 class_of(last_code));
        MPI_Comm_free(&copy);
        MPI_Errhandler_free(&handler);
        MPI_Barrier(MPI_COMM_WORLD);
    }

    /// No buffer, one too small, one at a time; and what is in it arrives before it is given back.
    void attached_buffers() {
        constexpr int kBytes = 4000;
        const MPI_Comm world = MPI_COMM_WORLD;
        out_.set(kBytes, 1, 77);
        in_.poison(kBytes, 1, 1);
        MPI_Request request = MPI_REQUEST_NULL;
        void* address = nullptr;
        int size = -1;
        expect_class(MPI_Bsend(out_.data(), kBytes, MPI_BYTE, right_, 1, world), MPI_ERR_BUFFER,
                     "bsend", "no buffer");
        std::vector<unsigned char> room(kBytes + MPI_BSEND_OVERHEAD + 100);
        h_.check(MPI_Buffer_attach(room.data(), static_cast<int>(room.size())) == MPI_SUCCESS,
                 "a buffer was not attached");
        h_.check(MPI_Buffer_attach(room.data(), static_cast<int>(room.size())) != MPI_SUCCESS,
                 "a second buffer was attached");
        expect_class(MPI_Bsend(out_.data(), 3 * kBytes, MPI_BYTE, right_, 1, world), MPI_ERR_BUFFER,
                     "bsend", "too small a buffer");
        MPI_Barrier(world);
        h_.check(MPI_Bsend(out_.data(), kBytes, MPI_BYTE, right_, 1, world) == MPI_SUCCESS,
                 "a bsend that fits fails");
        MPI_Irecv(in_.data(), kBytes, MPI_BYTE, left_, 1, world, &request);
        MPI_Buffer_detach(&address, &size);
        h_.check(address == room.data() && size == static_cast<int>(room.size()),
                 "the buffer given back is another, of %d bytes", size);
        std::fill(room.begin(), room.end(), static_cast<unsigned char>(0));
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        in_.expect(kBytes, 77);
        h_.check(in_.intact(), "a buffered message was overwritten, %s memory",
                 gpu::to_string(kind_));
    }

    /// A message longer than the receive, by each receiving call and each protocol, posted and
    /// unexpected; then one that fits.
    void truncations(bool sends) {
        constexpr std::size_t kSizes[] = {4, 100, 3000, 20000, 150000, kLargest};
        unsigned number = 0;
        for (const std::size_t bytes : kSizes) {
            for (const ReceiveCall& call : kReceiveCalls) {
                // All calls on the world, every third on the others.
                if (++number % 3 != 0 && route_.comm != MPI_COMM_WORLD) {
                    continue;
                }
                const std::size_t room = number % 4 == 0 ? 0 : bytes / 2 + number % 2;
                if (sends) {
                    send_truncated(bytes, number);
                } else {
                    receive_truncated(call, bytes, room, number);
                }
            }
        }
    }
    void send_truncated(std::size_t bytes, unsigned number) {
        const int n = static_cast<int>(bytes);
        out_.set(bytes, number % 5, number);
        MPI_Recv(nullptr, 0, MPI_BYTE, route_.peer, kGoTag, route_.comm, MPI_STATUS_IGNORE);
        MPI_Request requests[3];
        const auto isend = number % 2 == 0 ? MPI_Issend : MPI_Isend;
        isend(out_.data(), n, MPI_BYTE, route_.peer, 8, route_.comm, &requests[0]);
        MPI_Isend(out_.data(), n, MPI_BYTE, route_.peer, 9, route_.comm, &requests[1]);
        MPI_Isend(nullptr, 0, MPI_BYTE, route_.peer, kGoTag, route_.comm, &requests[2]);
        h_.check(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS,
                 "the sender of a truncated message sees an error, %zu bytes", bytes);
        h_.check(out_.intact(), "the sender's data changed");
    }
    void receive_truncated(const ReceiveCall& call, std::size_t bytes, std::size_t room,
                           unsigned number) {
        // The image beyond the room must stay; the area is larger, so that an overrun shows.
        in_.poison(bytes, number % 7, number);
        const Operands o{in_.data(), static_cast<int>(room), MPI_BYTE, route_.peer, 8, route_.comm};
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Status status = untouched();
        MPI_Status seen = untouched();
        int result = MPI_SUCCESS;
        const bool posted = call.early && number % 2 == 1;
        if (posted) {
            result = call.start(o, &request, &status, &seen);
        }
        MPI_Send(nullptr, 0, MPI_BYTE, route_.peer, kGoTag, route_.comm);
        MPI_Recv(nullptr, 0, MPI_BYTE, route_.peer, kGoTag, route_.comm, MPI_STATUS_IGNORE);
        if (!posted) {
            result = call.start(o, &request, &status, &seen);
        }
        if (request != MPI_REQUEST_NULL) {
            result = finish(&request, &status);
        }
        h_.check(class_of(result) == MPI_ERR_TRUNCATE,
                 "%s, %s, %s memory, %zu bytes into %zu: error class %d", call.name, route_.name,
                 gpu::to_string(kind_), bytes, room, class_of(result));
        h_.check(status.MPI_SOURCE == route_.peer && status.MPI_TAG == 8,
                 "%s of a truncated message: source %d and tag %d", call.name, status.MPI_SOURCE,
                 status.MPI_TAG);
        in_.accept(room);
        h_.check(in_.intact(), "%s, %s memory, %zu bytes into %zu wrote beyond its room", call.name,
                 gpu::to_string(kind_), bytes, room);
        in_.poison(bytes, 2, number);
        MPI_Recv(in_.data(), static_cast<int>(bytes), MPI_BYTE, route_.peer, 9, route_.comm,
                 &status);
        in_.expect(bytes, number);
        h_.check(in_.intact(), "the message after a truncated one of %zu bytes is wrong", bytes);
    }

    /// One error among several requests: the others' statuses say so.
    void among_others() {
        constexpr int kCount = 5;
        constexpr int kBytes = 2000;
        MPI_Request requests[2 * kCount];
        MPI_Status statuses[2 * kCount];
        std::vector<std::unique_ptr<Area>> areas;
        out_.set(kBytes, 0, 5);
        for (int i = 0; i < kCount; ++i) {
            areas.push_back(std::make_unique<Area>(h_.gpu.get(), kind_, kBytes));
            areas[static_cast<std::size_t>(i)]->poison(kBytes, 0, 3);
            MPI_Irecv(areas[static_cast<std::size_t>(i)]->data(), i == 2 ? 100 : kBytes, MPI_BYTE,
                      left_, 40 + i, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < kCount; ++i) {
            MPI_Isend(out_.data(), kBytes, MPI_BYTE, right_, 40 + i, MPI_COMM_WORLD,
                      &requests[kCount + i]);
            statuses[i] = statuses[kCount + i] = untouched();
        }
        int result = MPI_Waitall(2 * kCount, requests, statuses);
        h_.check(class_of(result) == MPI_ERR_IN_STATUS, "waitall with one error: class %d",
                 class_of(result));
        for (int i = 0; i < 2 * kCount; ++i) {
            // MPI lets a wait end early; what it left is waited for.
            if (class_of(statuses[i].MPI_ERROR) == MPI_ERR_PENDING) {
                result = MPI_Wait(&requests[i], &statuses[i]);
                statuses[i].MPI_ERROR = result;
            }
            const int expected = i == 2 ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
            h_.check(class_of(statuses[i].MPI_ERROR) == expected,
                     "request %d of a waitall: class %d instead of %d", i,
                     class_of(statuses[i].MPI_ERROR), expected);
            h_.check(requests[i] == MPI_REQUEST_NULL, "request %d of a waitall is left", i);
        }
        for (int i = 0; i < kCount; ++i) {
            Area& area = *areas[static_cast<std::size_t>(i)];
            if (i == 2) {
                area.accept(100);
            } else {
                area.expect(kBytes, 5);
            }
            h_.check(area.intact(), "message %d beside a truncated one is wrong", i);
        }
    }

    Harness& h_;
    gpu::Kind kind_;
    Routes routes_;
    Route route_{};
    Area out_;
    Area in_;
    int right_;
    int left_;
};

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    beeline::test::Harness harness(&argc, &argv);
    for (const beeline::gpu::Kind kind : harness.kinds) {
        beeline::test::Errors(harness, kind).run();
    }
    return harness.finish();
}
