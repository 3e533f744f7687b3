// SPDX-License-Identifier: BSD-3-Clause
// Ping-pong between two ranks' GPU buffers: MPI is given device pointers and nothing else.
#include <cuda_runtime_api.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 4 << 20, WARM_UP = 5, ROUNDS = 50 };

static void check_cuda(cudaError_t error, const char* what) {
    if (error != cudaSuccess) {
        fprintf(stderr, "pingpong: %s: %s (%s)\n", what, cudaGetErrorName(error),
                cudaGetErrorString(error));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}
#define CUDA(call) check_cuda((call), #call)

/// Each rank of a node takes its own GPU, as far as there are enough.
static void choose_device(void) {
    MPI_Comm node;
    int local = 0;
    int devices = 0;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local);
    MPI_Comm_free(&node);
    CUDA(cudaGetDeviceCount(&devices));
    CUDA(cudaSetDevice(local % devices));
}

static unsigned char value_at(int index, int seed) {
    return (unsigned char)(index * 13 + index / 256 + seed);
}

/// Puts the pattern of `seed` into the device buffer.
static void fill(void* device, unsigned char* scratch, int bytes, int seed) {
    for (int i = 0; i < bytes; ++i) {
        scratch[i] = value_at(i, seed);
    }
    CUDA(cudaMemcpy(device, scratch, (size_t)bytes, cudaMemcpyHostToDevice));
}

/// Counts the bytes of the device buffer that are not the pattern of `seed`.
static int count_wrong(const void* device, unsigned char* scratch, int bytes, int seed) {
    int wrong = 0;
    CUDA(cudaMemcpy(scratch, device, (size_t)bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < bytes; ++i) {
        wrong += scratch[i] != value_at(i, seed);
    }
    return wrong;
}

/// One way and back, `rounds` times. Returns the seconds that took.
static double exchange(int rank, const void* out, void* in, int bytes, int rounds) {
    const double start = MPI_Wtime();
    for (int i = 0; i < rounds; ++i) {
        if (rank == 0) {
            MPI_Send(out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(in, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
    }
    return MPI_Wtime() - start;
}

int main(int argc, char** argv) {
    int rank = 0;
    int ranks = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        if (rank == 0) {
            fprintf(stderr, "pingpong: needs 2 ranks, has %d: mpirun -n 2 ...\n", ranks);
        }
        MPI_Finalize();
        return 2;
    }
    choose_device();

    void* out = NULL;
    void* in = NULL;
    unsigned char* scratch = malloc(MAX_BYTES);
    if (scratch == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    CUDA(cudaMalloc(&out, MAX_BYTES));
    CUDA(cudaMalloc(&in, MAX_BYTES));

    int wrong = 0;
    if (rank == 0) {
        printf("%10s %14s %14s\n", "bytes", "latency us", "MB/s");
    }
    for (int bytes = 1; bytes <= MAX_BYTES; bytes *= 4) {
        exchange(rank, out, in, bytes, WARM_UP);
        MPI_Barrier(MPI_COMM_WORLD);
        const double seconds = exchange(rank, out, in, bytes, ROUNDS);
        // Once more with data that no earlier message carried.
        fill(out, scratch, bytes, rank + bytes);
        CUDA(cudaMemset(in, 0, (size_t)bytes));
        CUDA(cudaDeviceSynchronize());
        exchange(rank, out, in, bytes, 1);
        wrong += count_wrong(in, scratch, bytes, 1 - rank + bytes);
        if (rank == 0) {
            const double one_way = seconds / (2.0 * ROUNDS);
            printf("%10d %14.2f %14.1f\n", bytes, one_way * 1e6, bytes / one_way * 1e-6);
        }
    }

    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("pingpong: %s, %d wrong bytes in device buffers\n", wrong == 0 ? "PASS" : "FAIL",
               wrong);
    }
    free(scratch);
    CUDA(cudaFree(out));
    CUDA(cudaFree(in));
    MPI_Finalize();
    return wrong == 0 ? 0 : 1;
}
