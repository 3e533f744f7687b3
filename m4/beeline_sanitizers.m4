# SPDX-License-Identifier: BSD-3-Clause
# BEELINE_SANITIZERS: --enable-asan, --enable-ubsan, --enable-tsan.
AC_DEFUN([BEELINE_SANITIZER], [
  AC_ARG_ENABLE([$1], [AS_HELP_STRING([--enable-$1], [build everything with -fsanitize=$2])],
    [], [enable_$1=no])
  AS_IF([test "x$enable_$1" = xyes], [
    beeline_sanitize="$beeline_sanitize -fsanitize=$2"
    beeline_sanitizers="${beeline_sanitizers:+$beeline_sanitizers }$1"
  ])
])
AC_DEFUN([BEELINE_SANITIZERS], [
  beeline_sanitize=
  beeline_sanitizers=
  BEELINE_SANITIZER([asan], [address])
  BEELINE_SANITIZER([ubsan], [undefined])
  BEELINE_SANITIZER([tsan], [thread])
  AS_IF([test "x$enable_asan$enable_tsan" = xyesyes],
    [AC_MSG_ERROR([--enable-asan and --enable-tsan exclude each other: choose one])])
  # Open MPI's inline functions have fences, which ThreadSanitizer does not follow.
  AS_IF([test "x$enable_tsan" = xyes], [beeline_sanitize="$beeline_sanitize -Wno-tsan"])
  AS_IF([test -n "$beeline_sanitize"], [
    CFLAGS="$CFLAGS $beeline_sanitize -fno-omit-frame-pointer"
    CXXFLAGS="$CXXFLAGS $beeline_sanitize -fno-omit-frame-pointer"
  ])
  AM_CONDITIONAL([SANITIZED], [test -n "$beeline_sanitize"])
])
