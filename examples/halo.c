// SPDX-License-Identifier: BSD-3-Clause
// Halo exchange of a 2-D grid on GPUs: each rank holds a block with a border of one cell, and every
// step fetches the four borders from its neighbours' device memory with nonblocking calls.
#include <cuda_runtime_api.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 256, PITCH = N + 2, STEPS = 20 };  // interior cells a side, cells a row, exchanges
enum { UP, DOWN, LEFT, RIGHT, SIDES };
enum { CELL = sizeof(double), ROW = N * CELL };

static void check_cuda(cudaError_t error, const char* what) {
    if (error != cudaSuccess) {
        fprintf(stderr, "halo: %s: %s\n", what, cudaGetErrorName(error));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}
#define CUDA(call) check_cuda((call), #call)

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

/// What an interior cell of `rank` holds at `step`.
static double cell(int rank, int row, int column, int step) {
    return rank * 1e6 + row * 1e3 + column + step * 0.25;
}

static double* at(double* grid, int row, int column) {
    return grid + row * PITCH + column;
}

/// The device buffers of a side: rows travel straight from and to the grid, columns through these.
struct Columns {
    double* out[SIDES];
    double* in[SIDES];
};

static void exchange(double* grid, const struct Columns* columns, const int neighbour[SIDES],
                     MPI_Comm comm, cudaStream_t stream) {
    double* send[SIDES] = {at(grid, 1, 1), at(grid, N, 1), columns->out[LEFT], columns->out[RIGHT]};
    double* receive[SIDES] = {at(grid, 0, 1), at(grid, N + 1, 1), columns->in[LEFT],
                              columns->in[RIGHT]};
    const int opposite[SIDES] = {DOWN, UP, RIGHT, LEFT};
    MPI_Request requests[2 * SIDES];
    CUDA(cudaMemcpy2DAsync(columns->out[LEFT], CELL, at(grid, 1, 1), PITCH * CELL, CELL, N,
                           cudaMemcpyDeviceToDevice, stream));
    CUDA(cudaMemcpy2DAsync(columns->out[RIGHT], CELL, at(grid, 1, N), PITCH * CELL, CELL, N,
                           cudaMemcpyDeviceToDevice, stream));
    // MPI knows nothing of the stream: what it sends must be complete.
    CUDA(cudaStreamSynchronize(stream));
    for (int side = 0; side < SIDES; ++side) {
        MPI_Irecv(receive[side], N, MPI_DOUBLE, neighbour[side], opposite[side], comm,
                  &requests[side]);
    }
    for (int side = 0; side < SIDES; ++side) {
        MPI_Isend(send[side], N, MPI_DOUBLE, neighbour[side], side, comm, &requests[SIDES + side]);
    }
    MPI_Waitall(2 * SIDES, requests, MPI_STATUSES_IGNORE);
    CUDA(cudaMemcpy2DAsync(at(grid, 1, 0), PITCH * CELL, columns->in[LEFT], CELL, CELL, N,
                           cudaMemcpyDeviceToDevice, stream));
    CUDA(cudaMemcpy2DAsync(at(grid, 1, N + 1), PITCH * CELL, columns->in[RIGHT], CELL, CELL, N,
                           cudaMemcpyDeviceToDevice, stream));
    CUDA(cudaStreamSynchronize(stream));
}

static int count_wrong(double* host, const int neighbour[SIDES], int step) {
    int wrong = 0;
    for (int i = 1; i <= N; ++i) {
        wrong += *at(host, 0, i) != cell(neighbour[UP], N, i, step);
        wrong += *at(host, N + 1, i) != cell(neighbour[DOWN], 1, i, step);
        wrong += *at(host, i, 0) != cell(neighbour[LEFT], i, N, step);
        wrong += *at(host, i, N + 1) != cell(neighbour[RIGHT], i, 1, step);
    }
    return wrong;
}

int main(int argc, char** argv) {
    int rank = 0;
    int ranks = 0;
    int shape[2] = {0, 0};
    const int periodic[2] = {1, 1};
    int neighbour[SIDES];
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, shape);
    MPI_Cart_create(MPI_COMM_WORLD, 2, shape, periodic, 0, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Cart_shift(comm, 0, 1, &neighbour[UP], &neighbour[DOWN]);
    MPI_Cart_shift(comm, 1, 1, &neighbour[LEFT], &neighbour[RIGHT]);
    choose_device();

    const size_t bytes = (size_t)PITCH * PITCH * CELL;
    struct Columns columns = {{NULL}, {NULL}};
    double* host = malloc(bytes);
    void* memory = NULL;
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc(&memory, bytes + 4 * ROW));
    double* grid = memory;
    for (int i = 0; i < 2; ++i) {
        columns.out[LEFT + i] = grid + (size_t)PITCH * PITCH + (size_t)i * N;
        columns.in[LEFT + i] = grid + (size_t)PITCH * PITCH + (size_t)(2 + i) * N;
    }

    int wrong = host == NULL;
    for (int step = 0; step < STEPS && host != NULL; ++step) {
        for (int i = 0; i < PITCH * PITCH; ++i) {
            host[i] = cell(rank, i / PITCH, i % PITCH, step);
        }
        CUDA(cudaMemcpy(grid, host, bytes, cudaMemcpyHostToDevice));
        exchange(grid, &columns, neighbour, comm, stream);
        CUDA(cudaMemcpy(host, grid, bytes, cudaMemcpyDeviceToHost));
        wrong += count_wrong(host, neighbour, step);
    }

    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, comm);
    if (rank == 0) {
        printf("halo: %s, %d x %d ranks, %d exchanges, %d wrong cells\n",
               wrong == 0 ? "PASS" : "FAIL", shape[0], shape[1], STEPS, wrong);
    }
    free(host);
    CUDA(cudaFree(memory));
    CUDA(cudaStreamDestroy(stream));
    MPI_Finalize();
    return wrong == 0 ? 0 : 1;
}
