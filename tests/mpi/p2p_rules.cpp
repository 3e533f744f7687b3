// SPDX-License-Identifier: BSD-3-Clause
// What MPI says about matching, whatever the memory: order, wildcards, probe, cancel, truncation,
// self, communicators.
#include "harness.hpp"

namespace beeline::test {
namespace {

constexpr std::size_t kSmall = 100;
constexpr std::size_t kMiddle = 20000;
constexpr std::size_t kLarge = 1 << 20;

class Rules {
 public:
    Rules(Harness& harness, gpu::Kind kind)
        : h_(harness),
          kind_(kind),
          out_(harness.gpu.get(), kind, kLarge),
          in_(harness.gpu.get(), kind, kLarge),
          right_((harness.rank + 1) % harness.ranks),
          left_((harness.rank - 1 + harness.ranks) % harness.ranks) {}

    void run() {
        for (const std::size_t bytes : {std::size_t{0}, kSmall, kMiddle, kLarge}) {
            exchange(bytes);
            replace(bytes);
            to_self(bytes);
            persistent(bytes);
            unreceived_then_probed(bytes);
            truncate(bytes);
        }
        order();
        wildcard_sources();
        cancel();
        null_process();
        communicators();
        intercommunicator();
        test_calls();
    }

 private:
    std::uint64_t seed(int source, std::size_t bytes) const {
        return bench::make_seed(static_cast<unsigned>(bytes), static_cast<unsigned>(source), 7, 1);
    }
    void check_arrival(std::size_t bytes, int source, const char* what) {
        in_.expect(bytes, seed(source, bytes));
        h_.check(in_.intact(), "%s, %zu bytes, %s memory: wrong data or surroundings", what, bytes,
                 gpu::to_string(kind_));
    }
    void prepare(std::size_t bytes, std::size_t offset = 3) {
        out_.set(bytes, offset, seed(h_.rank, bytes));
        in_.poison(bytes, offset, seed(h_.rank, bytes));
    }

    void exchange(std::size_t bytes) {
        prepare(bytes);
        MPI_Status status;
        MPI_Sendrecv(out_.data(), static_cast<int>(bytes), MPI_BYTE, right_, 1, in_.data(),
                     static_cast<int>(bytes), MPI_BYTE, left_, 1, MPI_COMM_WORLD, &status);
        check_arrival(bytes, left_, "sendrecv");
        h_.check(status.MPI_SOURCE == left_ && status.MPI_TAG == 1, "sendrecv: wrong status");
    }

    void replace(std::size_t bytes) {
        in_.set(bytes, 5, seed(h_.rank, bytes));
        MPI_Sendrecv_replace(in_.data(), static_cast<int>(bytes), MPI_BYTE, right_, 2, left_, 2,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_arrival(bytes, left_, "sendrecv_replace");
    }

    void to_self(std::size_t bytes) {
        const int n = static_cast<int>(bytes);
        for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
            const int me = comm == MPI_COMM_SELF ? 0 : h_.rank;
            prepare(bytes);
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(in_.data(), n, MPI_BYTE, me, 3, comm, &request);
            MPI_Send(out_.data(), n, MPI_BYTE, me, 3, comm);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            check_arrival(bytes, h_.rank, "self, posted");

            prepare(bytes, 7);
            MPI_Issend(out_.data(), n, MPI_BYTE, me, 4, comm, &request);
            MPI_Status status;
            MPI_Probe(MPI_ANY_SOURCE, 4, comm, &status);
            h_.check(status.MPI_SOURCE == me, "self: probe found rank %d", status.MPI_SOURCE);
            MPI_Recv(in_.data(), n, MPI_BYTE, me, MPI_ANY_TAG, comm, &status);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            check_arrival(bytes, h_.rank, "self, unexpected");
        }
    }

    void persistent(std::size_t bytes) {
        const int n = static_cast<int>(bytes);
        prepare(bytes);
        MPI_Request requests[2];
        MPI_Recv_init(in_.data(), n, MPI_BYTE, left_, 5, MPI_COMM_WORLD, &requests[0]);
        MPI_Send_init(out_.data(), n, MPI_BYTE, right_, 5, MPI_COMM_WORLD, &requests[1]);
        for (int round = 0; round < 4; ++round) {
            in_.poison(bytes, 3, seed(round, bytes));
            MPI_Startall(2, requests);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            check_arrival(bytes, left_, "persistent");
        }
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
    }

    /// Two messages wait; the second is looked at first, by its tag, and taken out with mprobe.
    void unreceived_then_probed(std::size_t bytes) {
        const int n = static_cast<int>(bytes);
        prepare(bytes);
        MPI_Request requests[2];
        MPI_Isend(out_.data(), n, MPI_BYTE, right_, 6, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out_.data(), n, MPI_BYTE, right_, 7, MPI_COMM_WORLD, &requests[1]);
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status;
        MPI_Mprobe(left_, 7, MPI_COMM_WORLD, &message, &status);
        int flag = 0;
        MPI_Iprobe(left_, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        h_.check(flag == 0, "a message taken by mprobe is still found by iprobe");
        int count = -1;
        MPI_Get_count(&status, MPI_BYTE, &count);
        h_.check(count == n, "mprobe: %d bytes instead of %d", count, n);
        MPI_Recv(in_.data(), n, MPI_BYTE, left_, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_arrival(bytes, left_, "the message that was not probed");
        in_.poison(bytes, 11, seed(h_.rank, bytes));
        MPI_Mrecv(in_.data(), n, MPI_BYTE, &message, &status);
        check_arrival(bytes, left_, "the message that was probed");
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }

    void truncate(std::size_t bytes) {
        if (bytes == 0) {
            return;
        }
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        prepare(bytes);
        const std::size_t room = bytes / 2;
        MPI_Request requests[2];
        MPI_Irecv(in_.data(), static_cast<int>(room), MPI_BYTE, left_, 8, MPI_COMM_WORLD,
                  &requests[0]);
        MPI_Isend(out_.data(), static_cast<int>(bytes), MPI_BYTE, right_, 8, MPI_COMM_WORLD,
                  &requests[1]);
        const int result = MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        int error_class = MPI_SUCCESS;
        MPI_Error_class(result, &error_class);
        h_.check(error_class == MPI_ERR_TRUNCATE, "a message of %zu bytes into %zu: error class %d",
                 bytes, room, error_class);
        h_.check(MPI_Wait(&requests[1], MPI_STATUS_IGNORE) == MPI_SUCCESS,
                 "the sender of a truncated message sees an error");
        // What arrived of the payload is undefined, but nothing behind the room may change.
        MPI_Sendrecv(out_.data(), static_cast<int>(bytes), MPI_BYTE, right_, 9, in_.data(),
                     static_cast<int>(bytes), MPI_BYTE, left_, 9, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        check_arrival(bytes, left_, "the message after a truncated one");
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    }

    /// Messages of very different protocols between two ranks arrive in the order they were sent.
    void order() {
        constexpr int kMessages = 60;
        constexpr std::size_t kSteps[] = {4, kLarge, 40, kMiddle, 0, 400};
        MPI_Request requests[kMessages];
        out_.set(kLarge, 1, 99);
        for (int i = 0; i < kMessages; ++i) {
            MPI_Isend(out_.data(), static_cast<int>(kSteps[i % 6]), MPI_BYTE, right_, 10 + i % 3,
                      MPI_COMM_WORLD, &requests[i]);
        }
        for (int i = 0; i < kMessages; ++i) {
            const std::size_t bytes = kSteps[i % 6];
            MPI_Status status;
            int count = -1;
            in_.poison(bytes, 1, 5);
            MPI_Recv(in_.data(), static_cast<int>(kLarge), MPI_BYTE, left_, MPI_ANY_TAG,
                     MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_BYTE, &count);
            h_.check(count == static_cast<int>(bytes) && status.MPI_TAG == 10 + i % 3,
                     "message %d of a mixed series: %d bytes with tag %d", i, count,
                     status.MPI_TAG);
            in_.expect(bytes, 99);
            h_.check(in_.intact(), "message %d of a mixed series: wrong data", i);
        }
        MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE);
    }

    /// Rank 0 takes from anyone; each source's messages must come in order.
    void wildcard_sources() {
        constexpr int kEach = 50;
        MPI_Barrier(MPI_COMM_WORLD);
        if (h_.rank != 0) {
            for (int i = 0; i < kEach; ++i) {
                out_.set(kSmall, 2,
                         bench::make_seed(static_cast<unsigned>(i), 1, 1, 1) +
                             static_cast<unsigned>(h_.rank));
                MPI_Send(out_.data(), kSmall, MPI_BYTE, 0, i, MPI_COMM_WORLD);
            }
        } else {
            std::vector<int> next(static_cast<std::size_t>(h_.ranks), 0);
            for (int i = 0; i < kEach * (h_.ranks - 1); ++i) {
                MPI_Status status;
                in_.poison(kSmall, 2, 6);
                MPI_Recv(in_.data(), kSmall, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                         &status);
                int& expected = next[static_cast<std::size_t>(status.MPI_SOURCE)];
                h_.check(status.MPI_TAG == expected, "from rank %d: message %d instead of %d",
                         status.MPI_SOURCE, status.MPI_TAG, expected);
                in_.expect(kSmall, bench::make_seed(static_cast<unsigned>(expected), 1, 1, 1) +
                                       static_cast<unsigned>(status.MPI_SOURCE));
                h_.check(in_.intact(), "from rank %d: wrong data", status.MPI_SOURCE);
                ++expected;
            }
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }

    void cancel() {
        prepare(kSmall);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(in_.data(), kSmall, MPI_BYTE, left_, 77, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Status status;
        MPI_Wait(&request, &status);
        int cancelled = 0;
        MPI_Test_cancelled(&status, &cancelled);
        h_.check(cancelled != 0, "a receive nobody sent to was not cancelled");
        h_.check(in_.intact(), "a cancelled receive changed its buffer");
        exchange(kSmall);
    }

    void null_process() {
        prepare(kSmall);
        MPI_Status status;
        MPI_Send(out_.data(), kSmall, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
        MPI_Recv(in_.data(), kSmall, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
        int count = -1;
        MPI_Get_count(&status, MPI_BYTE, &count);
        h_.check(count == 0 && status.MPI_SOURCE == MPI_PROC_NULL && in_.intact(),
                 "a receive from MPI_PROC_NULL did something");
    }

    /// The same ranks and tag in another communicator are another conversation.
    void communicators() {
        MPI_Comm copy = MPI_COMM_NULL;
        MPI_Comm reversed = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Comm_split(MPI_COMM_WORLD, 0, -h_.rank, &reversed);
        int mine[3] = {h_.rank, h_.rank + 1000, h_.rank + 2000};
        int got[3] = {-1, -1, -1};
        MPI_Request requests[6];
        const int last = h_.ranks - 1;
        MPI_Irecv(&got[2], 1, MPI_INT, last - left_, 1, reversed, &requests[0]);
        MPI_Irecv(&got[1], 1, MPI_INT, left_, 1, copy, &requests[1]);
        MPI_Irecv(&got[0], 1, MPI_INT, left_, 1, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(&mine[0], 1, MPI_INT, right_, 1, MPI_COMM_WORLD, &requests[3]);
        MPI_Isend(&mine[1], 1, MPI_INT, right_, 1, copy, &requests[4]);
        MPI_Isend(&mine[2], 1, MPI_INT, last - right_, 1, reversed, &requests[5]);
        MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
        h_.check(got[0] == left_ && got[1] == left_ + 1000 && got[2] == left_ + 2000,
                 "communicators mix: %d %d %d from rank %d", got[0], got[1], got[2], left_);
        MPI_Comm_free(&reversed);
        MPI_Comm_free(&copy);
    }

    void intercommunicator() {
        const int side = h_.rank % 2;
        MPI_Comm half = MPI_COMM_NULL;
        MPI_Comm bridge = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, side, h_.rank, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 12, &bridge);
        int me = 0;
        int remote = 0;
        MPI_Comm_rank(half, &me);
        MPI_Comm_remote_size(bridge, &remote);
        if (me < remote) {
            const int partner = 2 * me + 1 - side;
            for (const std::size_t bytes : {kSmall, kMiddle, kLarge}) {
                prepare(bytes);
                MPI_Status status;
                MPI_Sendrecv(out_.data(), static_cast<int>(bytes), MPI_BYTE, me, 1, in_.data(),
                             static_cast<int>(bytes), MPI_BYTE, MPI_ANY_SOURCE, 1, bridge, &status);
                check_arrival(bytes, partner, "inter-communicator");
                h_.check(status.MPI_SOURCE == me, "inter-communicator: source %d instead of %d",
                         status.MPI_SOURCE, me);
            }
        }
        MPI_Comm_free(&bridge);
        MPI_Comm_free(&half);
    }

    /// Test, Testall, Waitany and Waitsome drive the messages as Wait does.
    void test_calls() {
        constexpr int kRequests = 4;
        MPI_Request requests[2 * kRequests];
        prepare(kMiddle);
        for (int i = 0; i < kRequests; ++i) {
            MPI_Irecv(in_.data(), i == 0 ? kMiddle : 0, MPI_BYTE, left_, 20 + i, MPI_COMM_WORLD,
                      &requests[i]);
            MPI_Isend(out_.data(), i == 0 ? kMiddle : 0, MPI_BYTE, right_, 20 + i, MPI_COMM_WORLD,
                      &requests[kRequests + i]);
        }
        int flag = 0;
        while (flag == 0) {
            MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
        }
        int index = 0;
        MPI_Waitany(kRequests, requests, &index, MPI_STATUS_IGNORE);
        h_.check(index > 0 && index < kRequests, "waitany returned %d", index);
        int finished = 0;
        int indices[2 * kRequests];
        MPI_Waitsome(2 * kRequests, requests, &finished, indices, MPI_STATUSES_IGNORE);
        h_.check(finished > 0, "waitsome finished %d", finished);
        flag = 0;
        while (flag == 0) {
            MPI_Testall(2 * kRequests, requests, &flag, MPI_STATUSES_IGNORE);
        }
        check_arrival(kMiddle, left_, "test");
    }

    Harness& h_;
    gpu::Kind kind_;
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
        beeline::test::Rules(harness, kind).run();
    }
    return harness.finish();
}
