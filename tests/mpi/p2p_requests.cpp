// SPDX-License-Identifier: BSD-3-Clause
// Requests in all their states: persistent rounds, cancel, free while active, looking without
// taking, null and inactive ones, and messages to and from nobody.
#include <unistd.h>

#include "calls.hpp"
#include "harness.hpp"
#include "routes.hpp"

namespace beeline::test {
namespace {

constexpr std::size_t kLargest = 400000;
constexpr std::size_t kSizes[] = {0, 10, 3000, 20000, kLargest};
constexpr int kGoTag = 30000;

class Requests {
 public:
    Requests(Harness& harness, gpu::Kind kind)
        : h_(harness), kind_(kind), attached_(2 * kLargest + (1 << 16)) {
        for (int i = 0; i < 4; ++i) {
            areas_.push_back(std::make_unique<Area>(harness.gpu.get(), kind, kLargest));
        }
        MPI_Buffer_attach(attached_.data(), static_cast<int>(attached_.size()));
    }
    ~Requests() {
        void* address = nullptr;
        int size = 0;
        MPI_Buffer_detach(&address, &size);
    }
    Requests(const Requests&) = delete;
    Requests& operator=(const Requests&) = delete;

    void run() {
        null_requests();
        nobody();
        with_partners(h_.rank, h_.ranks, [this](int partner) {
            for (const Route& route : routes_.to(partner)) {
                route_ = route;
                lower_ = h_.rank < partner;
                for (const std::size_t bytes : kSizes) {
                    if (route.comm != MPI_COMM_WORLD && bytes % 20000 != 0) {
                        continue;  // fewer where only the communicator differs
                    }
                    rounds(bytes);
                    one_way(bytes, lower_);
                    one_way(bytes, !lower_);
                }
                partial_elements();
                some_of_many();
            }
        });
    }

 private:
    Area& area(std::size_t i) { return *areas_[i]; }
    void meet() const {
        MPI_Sendrecv(nullptr, 0, MPI_BYTE, route_.peer, kGoTag, nullptr, 0, MPI_BYTE, route_.peer,
                     kGoTag, route_.comm, MPI_STATUS_IGNORE);
    }
    void check_empty(const MPI_Status& status, const char* what) {
        int count = -1;
        int cancelled = -1;
        MPI_Get_count(&status, MPI_INT, &count);
        MPI_Test_cancelled(&status, &cancelled);
        h_.check(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG &&
                     count == 0 && cancelled == 0,
                 "%s: the status is not empty: source %d, tag %d, count %d", what,
                 status.MPI_SOURCE, status.MPI_TAG, count);
    }

    /// Completing nothing.
    void null_requests() {
        MPI_Request none[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        look_at_nothing(none, "null requests");
        // Persistent ones that are not started count as nothing, and stay.
        int value = 0;
        MPI_Request idle[3];
        MPI_Recv_init(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &idle[0]);
        MPI_Send_init(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &idle[1]);
        idle[2] = MPI_REQUEST_NULL;
        look_at_nothing(idle, "inactive requests");
        for (int i = 0; i < 2; ++i) {
            h_.check(idle[i] != MPI_REQUEST_NULL, "completing freed an inactive request");
            MPI_Request_free(&idle[i]);
            h_.check(idle[i] == MPI_REQUEST_NULL, "request_free left the handle");
        }
    }
    void look_at_nothing(MPI_Request* requests, const char* what) {
        MPI_Status statuses[3] = {untouched(), untouched(), untouched()};
        int flag = 0;
        int index = 0;
        int count = 0;
        int indices[3];
        MPI_Wait(&requests[0], &statuses[0]);
        check_empty(statuses[0], what);
        statuses[0] = untouched();
        MPI_Test(&requests[1], &flag, &statuses[0]);
        h_.check(flag != 0, "%s: test is false", what);
        check_empty(statuses[0], what);
        statuses[0] = untouched();
        MPI_Request_get_status(requests[0], &flag, &statuses[0]);
        h_.check(flag != 0, "%s: get_status is false", what);
        check_empty(statuses[0], what);
        MPI_Waitall(3, requests, statuses);
        check_empty(statuses[2], what);
        MPI_Testall(3, requests, &flag, statuses);
        h_.check(flag != 0, "%s: testall is false", what);
        MPI_Waitany(3, requests, &index, &statuses[0]);
        h_.check(index == MPI_UNDEFINED, "%s: waitany found %d", what, index);
        check_empty(statuses[0], what);
        flag = 0;
        MPI_Testany(3, requests, &index, &flag, &statuses[0]);
        h_.check(flag != 0 && index == MPI_UNDEFINED, "%s: testany found %d", what, index);
        MPI_Waitsome(3, requests, &count, indices, statuses);
        h_.check(count == MPI_UNDEFINED, "%s: waitsome found %d", what, count);
        count = 0;
        MPI_Testsome(3, requests, &count, indices, statuses);
        h_.check(count == MPI_UNDEFINED, "%s: testsome found %d", what, count);
        MPI_Waitall(0, nullptr, MPI_STATUSES_IGNORE);
        MPI_Waitany(0, nullptr, &index, MPI_STATUS_IGNORE);
        h_.check(index == MPI_UNDEFINED, "waitany of no requests found %d", index);
    }

    /// MPI_PROC_NULL by every call: at once, and nothing is touched.
    void nobody() {
        area(0).set(100, 0, 1);
        const Operands o{area(0).data(), 100, MPI_BYTE, MPI_PROC_NULL, 5, MPI_COMM_WORLD};
        for (const SendCall& call : kSendCalls) {
            MPI_Request request = MPI_REQUEST_NULL;
            const int result = start_send(call, o, &request);
            h_.check(result == MPI_SUCCESS && finish(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS,
                     "%s to nobody fails", call.name);
        }
        for (const ReceiveCall& call : kReceiveCalls) {
            if (call.wild) {
                continue;
            }
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Status status = untouched();
            MPI_Status seen = untouched();
            call.start(o, &request, &status, &seen);
            finish(&request, &status);
            int count = -1;
            MPI_Get_count(&status, MPI_BYTE, &count);
            h_.check(
                status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0,
                "%s from nobody: source %d, tag %d, count %d", call.name, status.MPI_SOURCE,
                status.MPI_TAG, count);
        }
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status = untouched();
        MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status);
        h_.check(message == MPI_MESSAGE_NO_PROC, "mprobe of nobody: not MPI_MESSAGE_NO_PROC");
        MPI_Mrecv(area(0).data(), 100, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        MPI_Sendrecv_replace(area(0).data(), 100, MPI_BYTE, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1,
                             MPI_COMM_WORLD, &status);
        h_.check(status.MPI_SOURCE == MPI_PROC_NULL, "sendrecv_replace with nobody: source %d",
                 status.MPI_SOURCE);
        h_.check(area(0).intact(), "a message from nobody changed %s memory",
                 gpu::to_string(kind_));
    }

    /// Persistent requests of every mode, both directions at once, with other data each round.
    void rounds(std::size_t bytes) {
        const int n = static_cast<int>(bytes);
        for (const SendCall& call : kSendCalls) {
            if (!call.persistent) {
                continue;
            }
            MPI_Request requests[2];
            MPI_Recv_init(area(1).data_for(bytes, 3), n, MPI_BYTE, route_.peer, 3, route_.comm,
                          &requests[0]);
            call.later(area(0).data_for(bytes, 5), n, MPI_BYTE, route_.peer, 3, route_.comm,
                       &requests[1]);
            for (unsigned round = 0; round < 3; ++round) {
                area(0).set(bytes, 5, seed(lower_, round, bytes));
                area(1).poison(bytes, 3, round);
                if (call.ready) {
                    MPI_Start(&requests[0]);
                    meet();
                    MPI_Start(&requests[1]);
                } else {
                    MPI_Startall(2, requests);
                }
                MPI_Status statuses[2] = {untouched(), untouched()};
                MPI_Waitall(2, requests, statuses);
                area(1).expect(bytes, seed(!lower_, round, bytes));
                h_.check(area(1).intact() && statuses[0].MPI_SOURCE == route_.peer,
                         "%s on %s, round %u of %zu bytes in %s memory is wrong", call.name,
                         route_.name, round, bytes, gpu::to_string(kind_));
            }
            MPI_Request_free(&requests[0]);
            MPI_Request_free(&requests[1]);
        }
    }
    static std::uint64_t seed(bool lower, unsigned round, std::size_t bytes) {
        return bench::make_seed(round, lower ? 1 : 2, 9, static_cast<unsigned>(bytes));
    }

    /// What only one side does.
    void one_way(std::size_t bytes, bool sends) {
        cancel_receives(bytes, sends);
        cancel_sends(bytes, sends);
        free_active(bytes, sends);
        look_without_taking(bytes, sends);
    }

    /// Cancelled before it is matched, the receive takes nothing and the next one gets the message;
    /// after, it is too late.
    void cancel_receives(std::size_t bytes, bool sends) {
        const int n = static_cast<int>(bytes);
        if (sends) {
            area(0).set(bytes, 1, bytes + 3);
            meet();
            MPI_Send(area(0).data(), n, MPI_BYTE, route_.peer, 4, route_.comm);
            return;
        }
        for (const ReceiveCall& call : kReceiveCalls) {
            if (!call.early || call.wild) {
                continue;
            }
            area(1).set(bytes, 2, 1);
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Status status = untouched();
            call.start({area(1).data(), n, MPI_BYTE, route_.peer, 4, route_.comm}, &request,
                       &status, &status);
            MPI_Cancel(&request);
            int cancelled = 0;
            MPI_Wait(&request, &status);
            MPI_Test_cancelled(&status, &cancelled);
            h_.check(cancelled != 0 && area(1).intact(), "%s was not cancelled", call.name);
            if (call.persistent) {
                MPI_Start(&request);  // it lives on
                MPI_Cancel(&request);
                MPI_Wait(&request, &status);
                MPI_Request_free(&request);
            }
        }
        area(1).poison(bytes, 2, 1);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(area(1).data(), n, MPI_BYTE, route_.peer, 4, route_.comm, &request);
        meet();
        int flag = 0;
        while (flag == 0) {
            MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
        }
        MPI_Cancel(&request);
        MPI_Status status = untouched();
        int cancelled = -1;
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &cancelled);
        area(1).expect(bytes, bytes + 3);
        h_.check(cancelled == 0 && area(1).intact(),
                 "a receive of %zu bytes cancelled too late is %s", bytes,
                 cancelled != 0 ? "cancelled" : "wrong");
    }

    /// MPI leaves it open whether a send can be cancelled; it is either, and the other side agrees.
    void cancel_sends(std::size_t bytes, bool sends) {
        const int n = static_cast<int>(bytes);
        if (!sends) {
            meet();
            int cancelled = 0;
            MPI_Request request = MPI_REQUEST_NULL;
            area(1).poison(bytes, 4, 2);
            MPI_Irecv(area(1).data(), n, MPI_BYTE, route_.peer, 5, route_.comm, &request);
            MPI_Recv(&cancelled, 1, MPI_INT, route_.peer, 6, route_.comm, MPI_STATUS_IGNORE);
            if (cancelled != 0) {
                MPI_Cancel(&request);
            }
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            if (cancelled == 0) {
                area(1).expect(bytes, bytes + 5);
            }
            h_.check(area(1).intact(), "a send of %zu bytes that was %scancelled: wrong data",
                     bytes, cancelled == 0 ? "not " : "");
            return;
        }
        area(0).set(bytes, 4, bytes + 5);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(area(0).data(), n, MPI_BYTE, route_.peer, 5, route_.comm, &request);
        const int result = MPI_Cancel(&request);
        meet();
        MPI_Status status = untouched();
        int cancelled = 0;
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &cancelled);
        h_.check(result == MPI_SUCCESS && request == MPI_REQUEST_NULL,
                 "cancelling a send of %zu bytes: result %d", bytes, result);
        MPI_Send(&cancelled, 1, MPI_INT, route_.peer, 6, route_.comm);
    }

    /// Freed while they are under way, sends and receives end as if they were not.
    void free_active(std::size_t bytes, bool sends) {
        const int n = static_cast<int>(bytes);
        MPI_Request request = MPI_REQUEST_NULL;
        if (sends) {
            area(0).set(bytes, 1, bytes + 8);
            MPI_Issend(area(0).data(), n, MPI_BYTE, route_.peer, 7, route_.comm, &request);
            MPI_Request_free(&request);
            area(2).set(bytes, 6, bytes + 9);
            MPI_Send_init(area(2).data(), n, MPI_BYTE, route_.peer, 8, route_.comm, &request);
            MPI_Start(&request);
            MPI_Request_free(&request);
            h_.check(request == MPI_REQUEST_NULL, "freeing an active request left its handle");
            meet();
            meet();
            return;
        }
        meet();
        area(1).poison(bytes, 1, 1);
        area(3).poison(bytes, 2, 1);
        MPI_Recv(area(3).data(), n, MPI_BYTE, route_.peer, 8, route_.comm, MPI_STATUS_IGNORE);
        area(3).expect(bytes, bytes + 9);
        h_.check(area(3).intact(), "a freed persistent send of %zu bytes came wrong", bytes);
        MPI_Irecv(area(1).data(), n, MPI_BYTE, route_.peer, 7, route_.comm, &request);
        MPI_Request_free(&request);
        area(1).expect(bytes, bytes + 8);
        bool there = false;
        for (int tries = 0; !there && tries < 20000; ++tries) {
            int flag = 0;
            MPI_Iprobe(MPI_ANY_SOURCE, 999, route_.comm, &flag, MPI_STATUS_IGNORE);
            there = area(1).intact();
            usleep(there ? 0 : 200);
        }
        h_.check(there, "a freed receive of %zu bytes in %s memory never ended", bytes,
                 gpu::to_string(kind_));
        meet();
    }

    /// Probes and get_status tell without taking; what is not there is not found.
    void look_without_taking(std::size_t bytes, bool sends) {
        const int n = static_cast<int>(bytes);
        if (sends) {
            meet();
            area(0).set(bytes, 3, bytes + 11);
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Isend(area(0).data(), n, MPI_BYTE, route_.peer, 9, route_.comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            return;
        }
        int flag = 1;
        MPI_Status status = untouched();
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Iprobe(route_.peer, 9, route_.comm, &flag, &status);
        h_.check(flag == 0, "iprobe found a message that was not sent");
        flag = 1;
        MPI_Improbe(MPI_ANY_SOURCE, 9, route_.comm, &flag, &message, &status);
        h_.check(flag == 0, "improbe found a message that was not sent");
        area(1).poison(bytes, 3, 1);
        MPI_Request request = MPI_REQUEST_NULL;
        meet();
        for (int i = 0; i < 3; ++i) {
            int count = -1;
            MPI_Probe(route_.peer, 9, route_.comm, &status);
            MPI_Get_count(&status, MPI_BYTE, &count);
            h_.check(count == n, "probe %d of %zu bytes says %d", i, bytes, count);
        }
        MPI_Irecv(area(1).data(), n, MPI_BYTE, MPI_ANY_SOURCE, 9, route_.comm, &request);
        flag = 0;
        while (flag == 0) {
            MPI_Request_get_status(request, &flag, &status);
        }
        h_.check(request != MPI_REQUEST_NULL && status.MPI_SOURCE == route_.peer,
                 "get_status: source %d", status.MPI_SOURCE);
        MPI_Status again = untouched();
        MPI_Test(&request, &flag, &again);
        h_.check(flag != 0 && request == MPI_REQUEST_NULL &&
                     again.MPI_SOURCE == status.MPI_SOURCE && again.MPI_TAG == status.MPI_TAG,
                 "test after get_status: flag %d, tag %d", flag, again.MPI_TAG);
        area(1).expect(bytes, bytes + 11);
        h_.check(area(1).intact(), "a probed message of %zu bytes is wrong", bytes);
    }

    /// Less than a whole number of elements: count undefined, basic elements counted.
    void partial_elements() {
        MPI_Datatype pair = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(2, MPI_INT, &pair);
        MPI_Type_commit(&pair);
        for (const int ints : {0, 1, 2, 3, 6, 7}) {
            MPI_Status status = untouched();
            area(0).set(40, 0, 1);
            area(1).poison(40, 0, 1);
            MPI_Sendrecv(area(0).data(), ints, MPI_INT, route_.peer, 11, area(1).data(), 5, pair,
                         route_.peer, 11, route_.comm, &status);
            int count = -1;
            int elements = -1;
            MPI_Count wide = -1;
            MPI_Get_count(&status, pair, &count);
            MPI_Get_elements(&status, pair, &elements);
            MPI_Get_elements_x(&status, pair, &wide);
            h_.check(count == (ints % 2 == 0 ? ints / 2 : MPI_UNDEFINED) && elements == ints &&
                         wide == ints,
                     "%d ints into pairs: count %d, elements %d, %lld", ints, count, elements,
                     static_cast<long long>(wide));
        }
        MPI_Type_free(&pair);
    }

    /// The calls that complete some of many: each request is told once, with its own status.
    void some_of_many() {
        constexpr int kCount = 12;
        for (int way = 0; way < 4; ++way) {
            int got[kCount];
            int sent[kCount];
            MPI_Request receives[kCount];
            MPI_Request sends[kCount];
            int told[kCount] = {};
            for (int i = 0; i < kCount; ++i) {
                sent[i] = 100 * way + i;
                got[i] = -1;
                MPI_Irecv(&got[i], 1, MPI_INT, route_.peer, 20 + i, route_.comm, &receives[i]);
            }
            for (int i = kCount - 1; i >= 0; --i) {
                MPI_Isend(&sent[i], 1, MPI_INT, route_.peer, 20 + i, route_.comm, &sends[i]);
            }
            for (int done = 0; done < kCount;) {
                int indices[kCount];
                MPI_Status statuses[kCount];
                int count = 0;
                complete_some(way, receives, count, indices, statuses);
                for (int i = 0; i < count; ++i) {
                    ++told[indices[i]];
                    h_.check(statuses[i].MPI_TAG == 20 + indices[i] &&
                                 statuses[i].MPI_SOURCE == route_.peer,
                             "way %d: request %d has tag %d", way, indices[i], statuses[i].MPI_TAG);
                }
                done += count;
            }
            MPI_Waitall(kCount, sends, MPI_STATUSES_IGNORE);
            for (int i = 0; i < kCount; ++i) {
                h_.check(told[i] == 1 && got[i] == sent[i] && receives[i] == MPI_REQUEST_NULL,
                         "way %d: request %d was told %d times and got %d", way, i, told[i],
                         got[i]);
            }
        }
    }
    static void complete_some(int way, MPI_Request (&requests)[12], int& count, int* indices,
                              MPI_Status* statuses) {
        int flag = 1;
        switch (way) {
            case 0:
                MPI_Waitany(12, requests, indices, statuses);
                count = 1;
                return;
            case 1:
                MPI_Testany(12, requests, indices, &flag, statuses);
                count = flag != 0 ? 1 : 0;
                return;
            case 2:
                MPI_Waitsome(12, requests, &count, indices, statuses);
                return;
            default:
                MPI_Testsome(12, requests, &count, indices, statuses);
                return;
        }
    }

    Harness& h_;
    gpu::Kind kind_;
    Routes routes_;
    Route route_{};
    bool lower_ = false;
    std::vector<std::unique_ptr<Area>> areas_;
    std::vector<unsigned char> attached_;
};

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    beeline::test::Harness harness(&argc, &argv);
    for (const beeline::gpu::Kind kind : harness.kinds) {
        beeline::test::Requests(harness, kind).run();
    }
    return harness.finish();
}
