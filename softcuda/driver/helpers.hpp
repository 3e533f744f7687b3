// SPDX-License-Identifier: BSD-3-Clause
// Helper threads for the blocks of a kernel.
#pragma once

namespace softcuda {

/** Runs `work(argument)` in `threads` threads at the same time, the caller's among them, and
 * returns when all are done. Threads are kept for later. */
void run_together(int threads, void (*work)(void*), void* argument);

/** Starts a detached thread that takes no signals: those are the application's. False: none to be
 *  had. */
bool start_thread(void* (*entry)(void*), void* argument);

}  // namespace softcuda
