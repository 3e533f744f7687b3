# SPDX-License-Identifier: BSD-3-Clause
# BEELINE_OPENMPI: the headers a component needs (ompi/, opal/) and the directory Open MPI loads components from.
AC_DEFUN([BEELINE_OPENMPI], [
  AC_PATH_PROG([OMPI_INFO], [ompi_info])
  AC_PATH_PROG([MPICC], [mpicc])
  AC_PATH_PROG([MPICXX], [mpicxx])
  AC_PATH_PROG([MPIRUN], [mpirun])
  AS_IF([test -z "$OMPI_INFO" || test -z "$MPICC"], [AC_MSG_ERROR([Open MPI was not found: no ompi_info or mpicc on PATH.
  On Debian or Ubuntu: apt-get install openmpi-bin libopenmpi-dev])])
  beeline_ompi_incdirs=`$MPICC --showme:incdirs`
  OMPI_CPPFLAGS=
  for beeline_dir in $beeline_ompi_incdirs; do
    OMPI_CPPFLAGS="$OMPI_CPPFLAGS -isystem $beeline_dir"
  done
  beeline_ompi_libdirs=`$MPICC --showme:libdirs`
  OMPI_LIBS=
  for beeline_dir in $beeline_ompi_libdirs; do
    OMPI_LIBS="$OMPI_LIBS -L$beeline_dir"
  done
  OMPI_LIBS="$OMPI_LIBS -lmpi -lopen-pal"
  OMPI_COMPONENT_DIR=`$OMPI_INFO --path pkglibdir --parsable | sed 's/^path:pkglibdir://'`
  OMPI_VERSION=`$OMPI_INFO --version | sed -n '1s/^Open MPI v//p'`
  beeline_save_CPPFLAGS=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $OMPI_CPPFLAGS"
  AC_LANG_PUSH([C])
  AC_CHECK_HEADER([ompi/mca/pml/pml.h], [], [AC_MSG_ERROR([Open MPI $OMPI_VERSION was found, but not its developer headers
  (ompi/mca/pml/pml.h): it must be installed with --with-devel-headers, as Debian's libopenmpi-dev is])],
    [#include "ompi_config.h"])
  AC_LANG_POP([C])
  CPPFLAGS=$beeline_save_CPPFLAGS
  # Open MPI's inline free lists compare and swap 16 bytes where the processor can; gcc must be told that it may.
  OMPI_CXXFLAGS=
  AX_CHECK_COMPILE_FLAG([-mcx16], [OMPI_CXXFLAGS=-mcx16])
  AC_SUBST([OMPI_CXXFLAGS])
  AC_SUBST([OMPI_CPPFLAGS])
  AC_SUBST([OMPI_LIBS])
  AC_SUBST([OMPI_COMPONENT_DIR])
  AC_SUBST([OMPI_VERSION])

  AC_ARG_WITH([component-dir], [AS_HELP_STRING([--with-component-dir=DIR],
    [where the Open MPI components go: a directory, or "openmpi" for Open MPI's own (default: LIBDIR/beeline-components,
     selected with mpirun --tune)])], [], [with_component_dir=no])
  AS_CASE([$with_component_dir],
    [no|yes|''], [componentdir='${libdir}/beeline-components'],
    [openmpi], [componentdir=$OMPI_COMPONENT_DIR],
    [componentdir=$with_component_dir])
  corelibdir='${componentdir}/../beeline'
  AC_SUBST([componentdir])
  AC_SUBST([corelibdir])
])
