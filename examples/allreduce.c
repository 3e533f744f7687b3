// SPDX-License-Identifier: BSD-3-Clause
// Sum over all ranks of vectors that live on their GPUs, with the CUDA driver API alone.
#include <cuda.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_COUNT = 1 << 20, ROUNDS = 10 };

static void check_cuda(CUresult result, const char* what) {
    if (result != CUDA_SUCCESS) {
        const char* name = "unknown result";
        cuGetErrorName(result, &name);
        fprintf(stderr, "allreduce: %s: %s\n", what, name);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}
#define CUDA(call) check_cuda((call), #call)

/// Makes the primary context of this rank's GPU current.
static void choose_device(void) {
    MPI_Comm node;
    CUcontext context;
    CUdevice device;
    int local = 0;
    int devices = 0;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local);
    MPI_Comm_free(&node);
    CUDA(cuInit(0));
    CUDA(cuDeviceGetCount(&devices));
    CUDA(cuDeviceGet(&device, local % devices));
    CUDA(cuDevicePrimaryCtxRetain(&context, device));
    CUDA(cuCtxSetCurrent(context));
}

/// Small whole numbers, whose sums floats hold exactly in whatever order they are added.
static float contribution(int rank, int index) {
    return (float)((rank + 1) * (index % 61 + 1));
}

static void fill(CUdeviceptr device, float* scratch, int count, int rank) {
    for (int i = 0; i < count; ++i) {
        scratch[i] = contribution(rank, i);
    }
    CUDA(cuMemcpyHtoD(device, scratch, (size_t)count * sizeof(float)));
    CUDA(cuCtxSynchronize());
}

static int count_wrong(CUdeviceptr device, float* scratch, int count, int ranks) {
    int wrong = 0;
    CUDA(cuMemcpyDtoH(scratch, device, (size_t)count * sizeof(float)));
    for (int i = 0; i < count; ++i) {
        // The contributions are 1, 2 ... ranks times the same number.
        const float expected = contribution(0, i) * (float)(ranks * (ranks + 1) / 2);
        wrong += scratch[i] != expected;
    }
    return wrong;
}

int main(int argc, char** argv) {
    int rank = 0;
    int ranks = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    choose_device();

    CUdeviceptr in = 0;
    CUdeviceptr out = 0;
    float* scratch = malloc(MAX_COUNT * sizeof(float));
    if (scratch == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    CUDA(cuMemAlloc(&in, MAX_COUNT * sizeof(float)));
    CUDA(cuMemAlloc(&out, MAX_COUNT * sizeof(float)));

    int wrong = 0;
    if (rank == 0) {
        printf("%10s %14s\n", "bytes", "time us");
    }
    for (int count = 1; count <= MAX_COUNT; count *= 16) {
        void* const from = (void*)in;
        void* const to = (void*)out;
        fill(in, scratch, count, rank);
        MPI_Allreduce(from, to, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        wrong += count_wrong(out, scratch, count, ranks);

        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        for (int i = 0; i < ROUNDS; ++i) {
            MPI_Allreduce(from, to, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        }
        const double seconds = (MPI_Wtime() - start) / ROUNDS;

        MPI_Allreduce(MPI_IN_PLACE, from, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        wrong += count_wrong(in, scratch, count, ranks);
        if (rank == 0) {
            printf("%10zu %14.2f\n", (size_t)count * sizeof(float), seconds * 1e6);
        }
    }

    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("allreduce: %s, %d ranks, %d wrong sums in device buffers\n",
               wrong == 0 ? "PASS" : "FAIL", ranks, wrong);
    }
    free(scratch);
    CUDA(cuMemFree(in));
    CUDA(cuMemFree(out));
    MPI_Finalize();
    return wrong == 0 ? 0 : 1;
}
