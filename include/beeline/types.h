/* SPDX-License-Identifier: BSD-3-Clause
 * Small floating-point numbers for MPI programs, and the operations to reduce them with.
 *
 * MPI 3.1 has no datatypes for binary16, bfloat16 and the 8-bit formats of the Open Compute Project,
 * and predefined operations such as MPI_SUM accept predefined datatypes only. These functions give
 * both; link with -lbeeline_types. The datatypes and operations work with any MPI call and any MPI
 * library; Beeline reduces them by GPU kernels where the buffers are on a GPU.
 *
 * Handles exist from MPI_Init to MPI_Finalize and are the library's: do not free them. All functions
 * return the null handle outside that time or when MPI refuses. Thread-safe.
 */
#ifndef BEELINE_TYPES_H
#define BEELINE_TYPES_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* IEEE 754 binary16, two bytes. */
MPI_Datatype beeline_type_float16(void);
/* bfloat16: the upper half of a float, two bytes. */
MPI_Datatype beeline_type_bfloat16(void);
/* OCP 8-bit numbers. E4M3 has no infinities; E5M2 has. Finite results that are too large become the
 * largest finite number in both; an infinity in E5M2 stays. */
MPI_Datatype beeline_type_float8_e4m3(void);
MPI_Datatype beeline_type_float8_e5m2(void);

/* Commutative operations on the four datatypes. They compute in float and round to nearest, ties to
 * even; several operands that Beeline reduces at once are rounded once. Minimum and maximum treat
 * NaNs and zeros of two signs as MPI_MIN and MPI_MAX of Open MPI do floats. */
MPI_Op beeline_op_sum(void);
MPI_Op beeline_op_prod(void);
MPI_Op beeline_op_min(void);
MPI_Op beeline_op_max(void);

#ifdef __cplusplus
}
#endif

#endif
