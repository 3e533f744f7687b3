// SPDX-License-Identifier: BSD-3-Clause
// Ring allreduce. Source: P. Patarasu, X. Yuan, "Bandwidth optimal all-reduce algorithms for
// clusters of workstations", J. Parallel Distrib. Comput. 69 (2009), which shows its 2(p-1)/p n
// bytes a rank are optimal.
//
// Steps 2(p-1): a reduce-scatter, then an allgather, p-1 each; a rank sends 2(p-1)/p n bytes and
// reduces (p-1)/p n. Not ordered: chunk c is reduced starting from rank c. With slices a chunk
// travels as several messages, so that sending one overlaps reducing the next. In place it needs
// scratch for two chunks; otherwise none: chunks land in the output and meet the input there.
#include "coll/pattern/ring.hpp"
#include "coll/plan/entries.hpp"

namespace beeline::coll::plan {
namespace {

class Ring {
 public:
    explicit Ring(const Request& request)
        : emit_(request, "ring", request.size, request.slices),
          size_(request.size),
          rank_(request.rank),
          steps_(request.size - 1),
          in_place_(request.in_place) {}

    Schedule build() {
        // Receives are posted one step ahead, so that a message never waits for its buffer.
        each_slice([&](std::uint32_t slice) { receive_partial(0, slice); });
        each_slice([&](std::uint32_t slice) { send_partial(0, slice); });
        for (int step = 0; step < steps_; ++step) {
            const bool last = step + 1 == steps_;
            each_slice([&](std::uint32_t slice) {
                last ? receive_result(0, slice) : receive_partial(step + 1, slice);
                reduce(step, slice);
                last ? send_result(0, slice) : send_partial(step + 1, slice);
            });
        }
        for (int step = 1; step < steps_; ++step) {
            each_slice([&](std::uint32_t slice) {
                receive_result(step, slice);
                send_result(step, slice);
            });
        }
        return emit_.take();
    }

 private:
    template <class Body>
    void each_slice(Body&& body) {
        for (std::uint32_t slice = 0; slice < emit_.slices(); ++slice) {
            body(slice);
        }
    }

    std::uint32_t chunk(int block, std::uint32_t slice) const noexcept {
        return index(block) * emit_.slices() + slice;
    }

    std::uint32_t received_chunk(int step, std::uint32_t slice) const noexcept {
        return chunk(pattern::ring_reduce_received(size_, rank_, step), slice);
    }

    Place landing(int step, std::uint32_t slice) {
        const std::uint32_t place = received_chunk(step, slice);
        return in_place_ ? emit_.slot(index(step % 2) * emit_.slices() + slice, place)
                         : emit_.output(place);
    }

    void receive_partial(int step, std::uint32_t slice) {
        emit_.receive(pattern::ring_previous(size_, rank_), landing(step, slice));
    }

    void send_partial(int step, std::uint32_t slice) {
        const std::uint32_t place = chunk(pattern::ring_reduce_sent(size_, rank_, step), slice);
        emit_.send(pattern::ring_next(size_, rank_),
                   step == 0 ? emit_.own(place) : emit_.output(place));
    }

    void reduce(int step, std::uint32_t slice) {
        const std::uint32_t place = received_chunk(step, slice);
        emit_.reduce(emit_.output(place), landing(step, slice), emit_.own(place));
    }

    void receive_result(int step, std::uint32_t slice) {
        emit_.receive(
            pattern::ring_previous(size_, rank_),
            emit_.output(chunk(pattern::ring_gather_received(size_, rank_, step), slice)));
    }

    void send_result(int step, std::uint32_t slice) {
        emit_.send(pattern::ring_next(size_, rank_),
                   emit_.output(chunk(pattern::ring_gather_sent(size_, rank_, step), slice)));
    }

    Emitter emit_;
    int size_;
    int rank_;
    int steps_;
    bool in_place_;
};

Schedule build(const Request& request) {
    if (request.size > 1) {
        return Ring(request).build();
    }
    Emitter emit(request, "ring");
    emit.copy(emit.output(), emit.own());
    return emit.take();
}

Cost cost(const Request& request, double bytes) noexcept {
    const double p = ranks(request);
    return {2 * (p - 1), 2 * (p - 1) / p * bytes, (p - 1) / p * bytes, 0, 0};
}

}  // namespace

constinit const Algorithm kAllreduceRing = {Collective::kAllreduce,
                                            "ring",
                                            "Patarasu and Yuan 2009",
                                            true,
                                            if_not_commutative,
                                            build,
                                            cost};

}  // namespace beeline::coll::plan
