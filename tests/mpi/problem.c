// SPDX-License-Identifier: BSD-3-Clause
// The problem that Beeline solves, as a program: one rank sends device memory, another receives
// into device memory. A stock Open MPI without CUDA support reads the pointers with the CPU and
// dies.
#include <cuda.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 4096 };

static void check_cuda(CUresult result, const char* what) {
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "problem: %s gave %d\n", what, (int)result);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}
#define CUDA(call) check_cuda((call), #call)

int main(int argc, char** argv) {
    int rank = 0;
    int devices = 0;
    CUcontext context;
    CUdeviceptr memory = 0;
    char bytes[BYTES];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CUDA(cuInit(0));
    CUDA(cuDeviceGetCount(&devices));
    CUDA(cuDevicePrimaryCtxRetain(&context, rank % devices));
    CUDA(cuCtxSetCurrent(context));
    CUDA(cuMemAlloc(&memory, BYTES));
    memset(bytes, rank == 0 ? 'x' : 0, BYTES);
    CUDA(cuMemcpyHtoD(memory, bytes, BYTES));
    CUDA(cuCtxSynchronize());
    printf("problem: rank %d is ready\n", rank);
    fflush(stdout);
    if (rank == 0) {
        MPI_Send((void*)memory, BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv((void*)memory, BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CUDA(cuMemcpyDtoH(bytes, memory, BYTES));
        int wrong = 0;
        for (int i = 0; i < BYTES; ++i) {
            wrong += bytes[i] != 'x';
        }
        printf("problem: %s\n", wrong == 0 ? "delivered" : "wrong data");
    }
    MPI_Finalize();
    return 0;
}
