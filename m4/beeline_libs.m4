# SPDX-License-Identifier: BSD-3-Clause
# One macro for each library. Needed ones stop configure with the package to install; optional ones are reported.
AC_DEFUN([BEELINE_UCX], [
  PKG_CHECK_MODULES([UCX], [ucx >= 1.12], [],
    [AC_MSG_ERROR([UCX 1.12 or newer was not found. On Debian or Ubuntu: apt-get install libucx-dev])])
  UCX_VERSION=`$PKG_CONFIG --modversion ucx`
])
AC_DEFUN([BEELINE_HWLOC], [
  PKG_CHECK_MODULES([HWLOC], [hwloc >= 2.0], [have_hwloc=yes], [have_hwloc=no])
])
# Only the headers: the library is looked for at run time. BEELINE_HAVE_VERBS is 1 where src/mover/verbs is built.
AC_DEFUN([BEELINE_VERBS], [
  AC_ARG_WITH([verbs], [AS_HELP_STRING([--without-verbs],
    [build without GPUDirect RDMA between nodes])], [], [with_verbs=yes])
  have_verbs=no
  BEELINE_VERBS_CPPFLAGS=-DBEELINE_HAVE_VERBS=0
  AS_IF([test "x$with_verbs" != xno], [
    PKG_CHECK_MODULES([VERBS], [libibverbs >= 1.12], [have_verbs=yes], [AC_MSG_ERROR(m4_normalize([
      the headers of libibverbs (rdma-core 34 or newer) were not found. On Debian or Ubuntu: apt-get install
      libibverbs-dev; or configure --without-verbs to build without GPUDirect RDMA between nodes]))])
    BEELINE_VERBS_CPPFLAGS="-DBEELINE_HAVE_VERBS=1 $VERBS_CFLAGS"
  ])
  AC_SUBST([BEELINE_VERBS_CPPFLAGS])
  AM_CONDITIONAL([HAVE_VERBS], [test "x$have_verbs" = xyes])
])
AC_DEFUN([BEELINE_TEST_LIBS], [
  PKG_CHECK_MODULES([GTEST], [gtest_main gmock], [have_gtest=yes], [have_gtest=no])
  AC_CHECK_HEADER([rapidcheck.h], [have_rapidcheck=yes], [have_rapidcheck=no])
  PKG_CHECK_MODULES([BENCHMARK], [benchmark], [have_benchmark=yes], [have_benchmark=no])
  AM_CONDITIONAL([HAVE_BENCHMARK], [test "x$have_benchmark" = xyes])
  AM_CONDITIONAL([HAVE_GTEST], [test "x$have_gtest" = xyes && test "x$have_rapidcheck" = xyes])
])
AC_DEFUN([BEELINE_TOOL_LIBS], [
  AC_CHECK_HEADER([CLI/CLI.hpp], [have_cli11=yes], [have_cli11=no])
  AC_CHECK_HEADER([nlohmann/json.hpp], [have_json=yes], [have_json=no])
  # Files of schedules in JSON are read where it is there; BEELINE_HAVE_JSON is 1 then.
  AM_CONDITIONAL([HAVE_JSON], [test "x$have_json" = xyes])
  AS_IF([test "x$have_json" = xyes], [BEELINE_JSON_CPPFLAGS=-DBEELINE_HAVE_JSON=1],
    [BEELINE_JSON_CPPFLAGS=-DBEELINE_HAVE_JSON=0])
  AC_SUBST([BEELINE_JSON_CPPFLAGS])
  AM_CONDITIONAL([HAVE_TOOL_LIBS], [test "x$have_cli11" = xyes && test "x$have_json" = xyes])
])
