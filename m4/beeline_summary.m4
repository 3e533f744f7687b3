# SPDX-License-Identifier: BSD-3-Clause
# BEELINE_SUMMARY: what was found, what is off, and what to install for it.
AC_DEFUN([BEELINE_SUMMARY], [
  AC_MSG_NOTICE([
  Beeline $PACKAGE_VERSION
    Open MPI            $OMPI_VERSION
    UCX                 $UCX_VERSION
    CUDA Toolkit        `test -n "$CUDA_TOOLKIT" && echo "$CUDA_TOOLKIT" || echo "none (not needed to build or run)"`
    tests               `test "$have_gtest$have_rapidcheck" = yesyes && echo yes || echo "off: apt-get install libgtest-dev libgmock-dev librapidcheck-dev"`
    beeline-bench       `test "$have_cli11$have_json" = yesyes && echo yes || echo "off: apt-get install libcli11-dev nlohmann-json3-dev"`
    sanitizers         `test -n "$beeline_sanitizers" && echo "$beeline_sanitizers" || echo " none"`
    warnings as errors  $enable_werror
    prefix              $prefix
  ])
])
