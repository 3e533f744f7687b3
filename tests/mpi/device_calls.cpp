// SPDX-License-Identifier: BSD-3-Clause
// Collective calls on device memory that the matrix of collectives.cpp cannot state as "the same as
// on the host": many requests at once, restarted ones, allreduce by every type and operation,
// MPI_BOTTOM over several kinds of memory, sparse datatypes, and MPI_Pack and its like.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/mpi/harness.hpp"

#include <mpi-ext.h>

namespace {

using beeline::gpu::Buffer;
using beeline::gpu::Kind;
using beeline::test::Harness;

std::vector<int> read_ints(const Buffer& buffer, std::size_t count) {
    std::vector<int> values(count);
    buffer.read(0, values.data(), count * sizeof(int));
    return values;
}

void write_ints(Buffer& buffer, const std::vector<int>& values) {
    buffer.write(0, values.data(), values.size() * sizeof(int));
}

/// Sixteen non-blocking reductions under way together, completed in groups.
void many_requests(Harness& test) {
    constexpr int kRequests = 16;
    constexpr std::size_t kCount = 333;
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<MPI_Request> requests(kRequests, MPI_REQUEST_NULL);
    for (int i = 0; i < kRequests; ++i) {
        buffers.push_back(
            std::make_unique<Buffer>(test.gpu.get(), Kind::kDevice, kCount * sizeof(int)));
        write_ints(*buffers.back(), std::vector<int>(kCount, test.rank + i));
        MPI_Iallreduce(MPI_IN_PLACE, buffers.back()->at(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                       &requests[static_cast<std::size_t>(i)]);
    }
    int flag = 0;
    MPI_Status status;
    MPI_Request_get_status(requests[0], &flag, &status);
    int index = MPI_UNDEFINED;
    MPI_Waitany(kRequests, requests.data(), &index, &status);
    test.check(index >= 0 && index < kRequests, "MPI_Waitany returned %d", index);
    MPI_Waitall(kRequests, requests.data(), MPI_STATUSES_IGNORE);
    const int ranks = test.ranks * (test.ranks - 1) / 2;
    for (int i = 0; i < kRequests; ++i) {
        const auto want = std::vector<int>(kCount, ranks + test.ranks * i);
        test.check(read_ints(*buffers[static_cast<std::size_t>(i)], kCount) == want,
                   "request %d of %d", i, kRequests);
    }
}

/// Persistent calls read the device anew at each start.
void restarted_requests(Harness& test) {
    constexpr std::size_t kCount = 100;
    Buffer from(test.gpu.get(), Kind::kDevice, kCount * sizeof(int));
    Buffer sum(test.gpu.get(), Kind::kDevice, kCount * sizeof(int));
    Buffer copy(test.gpu.get(), Kind::kDevice, kCount * sizeof(int));
    MPI_Request requests[2];
    MPIX_Allreduce_init(from.at(), sum.at(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                        MPI_INFO_NULL, &requests[0]);
    MPIX_Bcast_init(copy.at(), kCount, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int round = 1; round <= 5; ++round) {
        write_ints(from, std::vector<int>(kCount, round * (test.rank + 1)));
        write_ints(copy, std::vector<int>(kCount, test.rank == 0 ? round : -1));
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        const int want = round * test.ranks * (test.ranks + 1) / 2;
        test.check(read_ints(sum, kCount) == std::vector<int>(kCount, want), "sum of round %d",
                   round);
        test.check(read_ints(copy, kCount) == std::vector<int>(kCount, round), "bcast of round %d",
                   round);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

struct NamedType {
    const char* name;
    MPI_Datatype type;
    bool floating;
};

struct NamedOp {
    const char* name;
    MPI_Op op;
    bool for_floating;
};

/// Allreduce of one type with one operation against a chain of MPI_Reduce_local on the host.
void allreduce_one(Harness& test, const NamedType& type, const NamedOp& op, std::size_t count,
                   bool in_place) {
    int size = 0;
    MPI_Type_size(type.type, &size);
    const std::size_t bytes = count * static_cast<std::size_t>(size);
    const auto values = [&](int rank) {
        std::vector<unsigned char> all(bytes);
        for (std::size_t i = 0; i < bytes; i += static_cast<std::size_t>(size)) {
            const auto value = static_cast<unsigned char>((i + static_cast<std::size_t>(rank)) % 3);
            if (type.floating) {  // whole numbers, so that sums and products are exact in any order
                const double wide = value;
                const float narrow = value;
                std::memcpy(&all[i], size == 4 ? static_cast<const void*>(&narrow) : &wide,
                            static_cast<std::size_t>(size));
            } else {
                all[i] = value;
            }
        }
        return all;
    };
    std::vector<unsigned char> want = values(test.ranks - 1);
    for (int rank = test.ranks - 2; rank >= 0; --rank) {
        MPI_Reduce_local(values(rank).data(), want.data(), static_cast<int>(count), type.type,
                         op.op);
    }
    Buffer from(test.gpu.get(), Kind::kDevice, bytes);
    Buffer to(test.gpu.get(), Kind::kDevice, bytes);
    (in_place ? to : from).write(0, values(test.rank).data(), bytes);
    MPI_Allreduce(in_place ? MPI_IN_PLACE : from.at(), to.at(), static_cast<int>(count), type.type,
                  op.op, MPI_COMM_WORLD);
    std::vector<unsigned char> have(bytes);
    to.read(0, have.data(), bytes);
    test.check(have == want, "allreduce %s %s x %zu%s", type.name, op.name, count,
               in_place ? " in place" : "");
}

void allreduce_types(Harness& test) {
    const NamedType types[] = {
        {"int8", MPI_INT8_T, false},
        {"uint8", MPI_UINT8_T, false},
        {"int16", MPI_INT16_T, false},
        {"uint16", MPI_UINT16_T, false},
        {"int", MPI_INT, false},
        {"unsigned", MPI_UNSIGNED, false},
        {"long", MPI_LONG, false},
        {"unsigned long", MPI_UNSIGNED_LONG, false},
        {"long long", MPI_LONG_LONG, false},
        {"uint64", MPI_UINT64_T, false},
        {"float", MPI_FLOAT, true},
        {"double", MPI_DOUBLE, true},
    };
    const NamedOp ops[] = {
        {"sum", MPI_SUM, true},    {"prod", MPI_PROD, true},  {"min", MPI_MIN, true},
        {"max", MPI_MAX, true},    {"band", MPI_BAND, false}, {"bor", MPI_BOR, false},
        {"bxor", MPI_BXOR, false}, {"land", MPI_LAND, false}, {"lor", MPI_LOR, false},
        {"lxor", MPI_LXOR, false},
    };
    for (const NamedType& type : types) {
        for (const NamedOp& op : ops) {
            if (op.for_floating || !type.floating) {
                allreduce_one(test, type, op, 1, false);
                allreduce_one(test, type, op, 1023, true);
            }
        }
        allreduce_one(test, type, ops[0], 300000, false);
    }
    // What no kernel knows goes through the host.
    const NamedType wide{"long double", MPI_LONG_DOUBLE, false};
    Buffer buffer(test.gpu.get(), Kind::kDevice, 10 * sizeof(long double));
    std::vector<long double> values(10, 1.5L);
    buffer.write(0, values.data(), buffer.size());
    MPI_Allreduce(MPI_IN_PLACE, buffer.at(), 10, wide.type, MPI_SUM, MPI_COMM_WORLD);
    buffer.read(0, values.data(), buffer.size());
    test.check(std::all_of(values.begin(), values.end(),
                           [&](long double v) { return v == 1.5L * test.ranks; }),
               "allreduce %s", wide.name);
}

/// In place, each rank's result replaces the head of a vector of the sum of all counts.
void reduce_scatter_in_place(Harness& test) {
    std::vector<int> counts(static_cast<std::size_t>(test.ranks));
    for (std::size_t i = 0; i < counts.size(); ++i) {
        counts[i] = static_cast<int>(i) * 5 + 1;
    }
    const auto sum = static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), 0));
    const auto mine = static_cast<std::size_t>(test.rank);
    const auto before =
        static_cast<std::size_t>(std::accumulate(counts.begin(), counts.begin() + test.rank, 0));
    // Exactly as large as needed, so that reading further would be outside the allocation.
    Buffer buffer(test.gpu.get(), Kind::kDevice, sum * sizeof(int));
    std::vector<int> values(sum);
    std::iota(values.begin(), values.end(), test.rank);
    write_ints(buffer, values);
    MPI_Reduce_scatter(MPI_IN_PLACE, buffer.at(), counts.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const std::vector<int> have = read_ints(buffer, static_cast<std::size_t>(counts[mine]));
    for (std::size_t i = 0; i < have.size(); ++i) {
        const int want =
            test.ranks * static_cast<int>(before + i) + test.ranks * (test.ranks - 1) / 2;
        test.check(have[i] == want, "reduce_scatter in place: element %zu is %d, not %d", i,
                   have[i], want);
    }
}

/// One structure relative to MPI_BOTTOM with members in host and in device memory.
void bottom(Harness& test) {
    int host[4] = {test.rank, test.rank, test.rank, test.rank};
    Buffer device(test.gpu.get(), Kind::kDevice, sizeof host);
    device.write(0, host, sizeof host);
    MPI_Aint addresses[2];
    MPI_Get_address(host, &addresses[0]);
    MPI_Get_address(device.at(), &addresses[1]);
    const int lengths[] = {4, 4};
    const MPI_Datatype parts[] = {MPI_INT, MPI_INT};
    MPI_Datatype both = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(2, lengths, addresses, parts, &both);
    MPI_Type_commit(&both);
    const int root = test.ranks - 1;
    MPI_Bcast(MPI_BOTTOM, 1, both, root, MPI_COMM_WORLD);
    MPI_Type_free(&both);
    const std::vector<int> want(4, root);
    test.check(std::equal(want.begin(), want.end(), host), "bcast of MPI_BOTTOM: host part");
    test.check(read_ints(device, 4) == want, "bcast of MPI_BOTTOM: device part");
}

/// One byte in each MiB: the host copy must hold the data, not the span.
void sparse(Harness& test) {
    constexpr int kBlocks = 64;
    constexpr std::size_t kStride = 1U << 20;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_hvector(kBlocks, 1, kStride, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    Buffer buffer(test.gpu.get(), Kind::kDevice, kBlocks * kStride);
    for (std::size_t i = 0; i < kBlocks; ++i) {
        const auto value = static_cast<unsigned char>(test.rank == 0 ? i : 255);
        buffer.write(i * kStride, &value, 1);
    }
    MPI_Bcast(buffer.at(), 1, type, 0, MPI_COMM_WORLD);
    for (std::size_t i = 0; i < kBlocks; ++i) {
        unsigned char value = 0;
        buffer.read(i * kStride, &value, 1);
        test.check(value == i, "sparse bcast: block %zu is %d", i, value);
    }
    MPI_Type_free(&type);
}

/// Pack and unpack every second int between the given kinds of memory, at a position above zero.
void pack_between(Harness& test, Kind data_kind, Kind packed_kind) {
    constexpr int kCount = 50;
    constexpr int kRoom = 4 + kCount * 4 + 12;
    MPI_Datatype every_second = MPI_DATATYPE_NULL;
    MPI_Type_vector(kCount, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);
    std::vector<int> values(2 * kCount);
    std::iota(values.begin(), values.end(), 1000 * test.rank);
    Buffer data(test.gpu.get(), data_kind, values.size() * sizeof(int));
    write_ints(data, values);
    Buffer packed(test.gpu.get(), packed_kind, kRoom);
    packed.write(0, std::vector<unsigned char>(kRoom, 0xEE).data(), kRoom);
    int position = 4;
    MPI_Pack(data.at(), 1, every_second, packed.at(), kRoom, &position, MPI_COMM_WORLD);
    test.check(position == 4 + kCount * 4, "MPI_Pack left the position at %d", position);
    const std::vector<int> have = read_ints(packed, kRoom / 4);
    for (int i = 0; i < kCount; ++i) {
        const auto at = static_cast<std::size_t>(i);
        test.check(have[at + 1] == values[2 * at], "MPI_Pack: element %d", i);
    }
    test.check(have[0] == static_cast<int>(0xEEEEEEEE) && have.back() == have[0],
               "MPI_Pack wrote outside its range");
    write_ints(data, std::vector<int>(values.size(), -1));
    position = 4;
    MPI_Unpack(packed.at(), kRoom, &position, data.at(), 1, every_second, MPI_COMM_WORLD);
    test.check(position == 4 + kCount * 4, "MPI_Unpack left the position at %d", position);
    const std::vector<int> back = read_ints(data, values.size());
    for (std::size_t i = 0; i < back.size(); ++i) {
        test.check(back[i] == (i % 2 == 0 ? values[i] : -1), "MPI_Unpack: element %zu", i);
    }
    MPI_Aint where = 0;
    write_ints(data, values);
    MPI_Pack_external("external32", data.at(), 1, every_second, packed.at(), kRoom, &where);
    test.check(where == kCount * 4, "MPI_Pack_external left the position at %ld",
               static_cast<long>(where));
    write_ints(data, std::vector<int>(values.size(), -1));
    where = 0;
    MPI_Unpack_external("external32", packed.at(), kRoom, &where, data.at(), 1, every_second);
    const std::vector<int> again = read_ints(data, values.size());
    for (std::size_t i = 0; i < again.size(); ++i) {
        test.check(again[i] == (i % 2 == 0 ? values[i] : -1), "MPI_Unpack_external: element %zu",
                   i);
    }
    MPI_Type_free(&every_second);
}

void sendrecv_replace(Harness& test) {
    const int right = (test.rank + 1) % test.ranks;
    const int left = (test.rank + test.ranks - 1) % test.ranks;
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{100000}}) {
        Buffer buffer(test.gpu.get(), Kind::kDevice, (count + 1) * sizeof(int));
        write_ints(buffer, std::vector<int>(count + 1, test.rank));
        MPI_Status status;
        MPI_Sendrecv_replace(buffer.at(), static_cast<int>(count), MPI_INT, right, 5, left, 5,
                             MPI_COMM_WORLD, &status);
        std::vector<int> want(count, left);
        want.push_back(test.rank);
        test.check(read_ints(buffer, count + 1) == want && status.MPI_SOURCE == left,
                   "MPI_Sendrecv_replace of %zu", count);
    }
}

}  // namespace

int main(int argc, char** argv) {
    Harness test(&argc, &argv);
    if (!test.gpu) {
        test.check(false, "say \"device\": everything here needs a GPU");
        return test.finish();
    }
    many_requests(test);
    restarted_requests(test);
    allreduce_types(test);
    reduce_scatter_in_place(test);
    bottom(test);
    sparse(test);
    for (const Kind data : {Kind::kHost, Kind::kDevice}) {
        for (const Kind packed : {Kind::kHost, Kind::kDevice}) {
            pack_between(test, data, packed);
        }
    }
    sendrecv_replace(test);
    return test.finish();
}
