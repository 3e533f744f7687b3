// SPDX-License-Identifier: BSD-3-Clause
// Copies of large ranges that are mostly untouched: what takes no memory at the source takes none
// at the target.
#pragma once

#include <cstdint>

namespace softcuda {

/** Where the bytes of a range of device memory lie in a memory file, so that its holes can be
 *  asked for. */
struct Backing {
    int fd = -1;          // -1: host memory, or device memory of which this is not known
    uint64_t offset = 0;  // of the range in the file
};

/** The file behind device memory at `address`; fd is -1 when there is none. */
Backing backing_of(uint64_t address);

/** Copies like memmove, but without making pages out of holes: neither reads those of the source
 *  nor writes zeros to those of the target. In memory without a file, zeros count as holes. The
 *  two ranges must not overlap. */
void copy_sparse(char* to, const Backing& target, const char* from, const Backing& source,
                 uint64_t bytes);

/** Fills what is not a hole. */
void fill_data(char* to, const Backing& target, int value, uint64_t bytes);

}  // namespace softcuda
