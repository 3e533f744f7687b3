/* SPDX-License-Identifier: BSD-3-Clause */
/* Stands in for a header of this name that ompi/op/op.h wants and that packages leave out: the
 * conversions between C's int and Fortran's INTEGER, which are the same type on every supported
 * platform. */
#ifndef BEELINE_COMPAT_FINT_2_INT_H
#define BEELINE_COMPAT_FINT_2_INT_H

#define OMPI_INT_2_FINT(value) (value)
#define OMPI_FINT_2_INT(value) (value)
#define OMPI_PFINT_2_PINT(pointer) (pointer)

#endif
