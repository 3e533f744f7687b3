// SPDX-License-Identifier: BSD-3-Clause
// The contract between SoftCUDA's driver and the host twins of kernels.
//
// A twin is a kernel's source compiled for the CPU. cuModuleGetFunction("name") finds the symbol
// `softcuda_kernel_name` in the libraries listed in SOFTCUDA_KERNELS; SOFTCUDA_TWIN(name) defines
// it. Header-only, and uses nothing of SoftCUDA.
//
// Kernels are written grid-stride: on the software device each block has one thread, so blockDim is
// {1,1,1} whatever the launch asked for and __syncthreads() means nothing. Blocks of one launch may
// run at the same time on different host threads. A kernel must pass every pointer it dereferences
// through softcuda::translate: device addresses fault on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

/** Where device memory lies in this process: addresses in [base, base + span) are device memory,
 *  and address + alias is the same byte, readable and writable. */
struct SoftcudaArena {
    uint64_t base;
    uint64_t span;
    uint64_t alias;
};

/** One block of one launch. `block` is what the launch asked for. */
struct SoftcudaLaunch {
    unsigned grid[3];
    unsigned block[3];
    unsigned block_index[3];
    SoftcudaArena arena;
};

/** A host twin. `copy` takes cuLaunchKernel's parameters by value at launch (NULL: no memory),
 *  `run` executes one block and may be called by several threads at once, `drop` frees the copy.
 *  `brief` is not 0 when blocks wait for nothing and take microseconds: a launch of few of them on
 *  an idle stream may then run in the calling thread, as short copies do. */
struct SoftcudaKernel {
    void* (*copy)(void** params);
    void (*run)(void* args, const SoftcudaLaunch* launch);
    void (*drop)(void* args);
    int brief;
};

/** CUDA's built-in variables, per host thread, valid while a twin runs. */
struct SoftcudaDim {
    unsigned x;
    unsigned y;
    unsigned z;
};
inline thread_local SoftcudaDim gridDim{1, 1, 1};
inline thread_local SoftcudaDim blockDim{1, 1, 1};
inline thread_local SoftcudaDim blockIdx{0, 0, 0};
inline thread_local SoftcudaDim threadIdx{0, 0, 0};

namespace softcuda {

inline thread_local SoftcudaArena arena{0, 0, 0};

/** The address at which the CPU may dereference `pointer`: the alias of a device address, any other
 *  address unchanged. Inside a running twin only. */
template <class T>
inline T* translate(T* pointer) {
    const auto address = reinterpret_cast<uint64_t>(pointer);
    return address - arena.base < arena.span ? reinterpret_cast<T*>(address + arena.alias)
                                             : pointer;
}

/** The twin of a plain function: parameters are copied with the sizes its type gives. */
template <auto Function>
struct Twin;

template <class... Args, void (*Function)(Args...)>
struct Twin<Function> {
    using Copy = std::tuple<std::remove_cv_t<Args>...>;

    static void* copy(void** params) {
        return copy_each(params, std::index_sequence_for<Args...>());
    }

    static void run(void* args, const SoftcudaLaunch* launch) {
        gridDim = {launch->grid[0], launch->grid[1], launch->grid[2]};
        blockDim = {1, 1, 1};
        blockIdx = {launch->block_index[0], launch->block_index[1], launch->block_index[2]};
        threadIdx = {0, 0, 0};
        arena = launch->arena;
        std::apply(Function, *static_cast<Copy*>(args));
    }

    static void drop(void* args) { delete static_cast<Copy*>(args); }

 private:
    template <size_t... Index>
    static void* copy_each([[maybe_unused]] void** params, std::index_sequence<Index...>) {
        return new (std::nothrow) Copy(*static_cast<std::remove_cv_t<Args>*>(params[Index])...);
    }
};

}  // namespace softcuda

/** Defines the twin of the kernel `function`, a plain function in scope with C or C++ linkage,
 * under the name by which the driver looks it up. */
#define SOFTCUDA_TWIN(function) SOFTCUDA_TWIN_AS(function, 0)

/** The same for a kernel that is brief, see SoftcudaKernel. */
#define SOFTCUDA_BRIEF_TWIN(function) SOFTCUDA_TWIN_AS(function, 1)

#define SOFTCUDA_TWIN_AS(function, brief)                                                          \
    extern "C" {                                                                                   \
    extern __attribute__((visibility("default"))) const SoftcudaKernel softcuda_kernel_##function; \
    const SoftcudaKernel softcuda_kernel_##function = {softcuda::Twin<&function>::copy,            \
                                                       softcuda::Twin<&function>::run,             \
                                                       softcuda::Twin<&function>::drop, brief};    \
    }
