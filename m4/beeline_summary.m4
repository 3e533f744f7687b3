# SPDX-License-Identifier: BSD-3-Clause
# BEELINE_SUMMARY: what was found, what is off, and what to install for it.
AC_DEFUN([BEELINE_SUMMARY], [
  AS_IF([test -n "$CUDA_TOOLKIT"], [beeline_say_cuda=$CUDA_TOOLKIT],
    [beeline_say_cuda="none (not needed to build or run)"])
  AS_IF([test $have_verbs = yes], [beeline_say_verbs="yes (libibverbs is looked for at run time)"],
    [beeline_say_verbs="off (--without-verbs)"])
  AS_IF([test "$have_gtest$have_rapidcheck" = yesyes], [beeline_say_tests=yes],
    [beeline_say_tests="off; for them: apt-get install libgtest-dev libgmock-dev librapidcheck-dev"])
  AS_IF([test "$have_cli11$have_json" = yesyes], [beeline_say_bench=yes],
    [beeline_say_bench="off; for it: apt-get install libcli11-dev nlohmann-json3-dev"])
  AS_IF([test "x$prefix" = xNONE], [beeline_say_prefix=$ac_default_prefix], [beeline_say_prefix=$prefix])
  AS_CASE([$with_component_dir],
    [no|yes|''], [beeline_say_components="LIBDIR/beeline-components (mpirun --tune PREFIX/share/beeline/beeline.conf)"],
    [beeline_say_components="$componentdir (found by mpirun without a flag)"])
  AC_MSG_NOTICE([
  Beeline $PACKAGE_VERSION
    Open MPI            $OMPI_VERSION
    UCX                 $UCX_VERSION
    GPUDirect RDMA      $beeline_say_verbs
    CUDA Toolkit        $beeline_say_cuda
    tests               $beeline_say_tests
    beeline-bench       $beeline_say_bench
    sanitizers          ${beeline_sanitizers:-none}
    warnings as errors  $enable_werror
    prefix              $beeline_say_prefix
    components          $beeline_say_components
  ])
])
