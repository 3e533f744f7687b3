// SPDX-License-Identifier: BSD-3-Clause
// What SoftCUDA's libcuda.so.1 offers beyond the CUDA driver API, for C and C++: counts for tests.
//
// A real driver has none of these; look them up with dlsym, so that the same test still runs on
// one. All of them answer for the calling process and may be called at any time, also before
// cuInit.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/** Calls so far of the driver entry `name`, without its revision ("cuMemAlloc", not
 *  "cuMemAlloc_v2"); of all entries when `name` is NULL. 0 for a name the driver does not have. */
unsigned long long softcuda_calls(const char* name);

/** Of these calls, those that answered with an error; CUDA_ERROR_NOT_READY is none. */
unsigned long long softcuda_errors(const char* name);

/** Sets every count of softcuda_calls and softcuda_errors to zero. */
void softcuda_calls_reset(void);

/** Memory mappings of other processes open now: cuIpcOpenMemHandle less closed ones, each mapping
 *  counted once however often it was opened. */
int softcuda_open_ipc_handles(void);

/** Device, host and managed allocations alive now. */
unsigned long long softcuda_live_allocations(void);

/** What real hardware leaves undefined and SoftCUDA saw: memory freed while another process had it
 *  open. */
unsigned long long softcuda_violations(void);

/** The address at which this process may read and write the device memory at `pointer`; `pointer`
 *  itself when it is not a device address. For tools and tests: no real driver has such a thing. */
void* softcuda_translate(const void* pointer);

#ifdef __cplusplus
}
#endif
