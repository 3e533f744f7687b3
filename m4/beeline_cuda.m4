# SPDX-License-Identifier: BSD-3-Clause
# BEELINE_CUDA: the CUDA Toolkit is optional. Beeline's own declarations of the driver API are always used to
# build it; with a toolkit they are compared with cuda.h by a test, and the kernels' PTX is regenerated and compared.
AC_DEFUN([BEELINE_CUDA], [
  AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda=DIR],
    [CUDA Toolkit to check against (default: /usr/local/cuda if there; --without-cuda: none)])],
    [], [with_cuda=check])
  CUDA_TOOLKIT=
  AS_IF([test "x$with_cuda" != xno], [
    AS_CASE([$with_cuda], [check|yes], [beeline_cuda_dir=/usr/local/cuda], [beeline_cuda_dir=$with_cuda])
    AS_IF([test -r "$beeline_cuda_dir/include/cuda.h"], [CUDA_TOOLKIT=$beeline_cuda_dir],
      [AS_IF([test "x$with_cuda" != xcheck],
        [AC_MSG_ERROR([--with-cuda=$with_cuda: no include/cuda.h under $beeline_cuda_dir])])])
  ])
  NVCC=
  AS_IF([test -x "$CUDA_TOOLKIT/bin/nvcc"], [NVCC=$CUDA_TOOLKIT/bin/nvcc])
  AC_SUBST([CUDA_TOOLKIT])
  AC_SUBST([NVCC])
  AM_CONDITIONAL([HAVE_CUDA_TOOLKIT], [test -n "$CUDA_TOOLKIT"])
  AM_CONDITIONAL([HAVE_NVCC], [test -n "$NVCC"])
])
