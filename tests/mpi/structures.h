/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes and offsets as C sees them. */
#ifndef BEELINE_TESTS_STRUCTURES_H
#define BEELINE_TESTS_STRUCTURES_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The number for the i-th row of structures.def; rows ends the table. */
extern const size_t beeline_c_numbers[];
extern const size_t beeline_c_rows;

#ifdef __cplusplus
}
#endif

#endif
