// SPDX-License-Identifier: BSD-3-Clause
// Stream capture, as far as needed to see who breaks it: work put in a capturing stream is taken
// out of execution, and calls a capture forbids invalidate it.
//
// There are no graphs to replay: cuGraphInstantiate does not exist here, so a program that needs
// one finds that out when it looks the entry up.
#pragma once

#include "softcuda/driver/driver.hpp"
#include "softcuda/driver/stream.hpp"

namespace softcuda {

/** For calls that may not touch a capturing stream: invalidates its capture and says so. */
CUresult refuse_in_capture(CUstream_st& stream);

/** For work that a capturing stream records: sets *captured and returns CUDA_SUCCESS when it was
 *  taken, or the error of an invalidated capture. */
CUresult capture_instead(CUstream_st& stream, bool* captured);

/** For calls that no capture in this thread's reach allows (allocation, queries): CUDA_SUCCESS when
 *  there is none, else invalidates the captures. */
CUresult check_no_capture();

/** Ends the capture of a stream that is going away. */
void abandon_capture(CUstream_st& stream);

}  // namespace softcuda
