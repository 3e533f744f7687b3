# SPDX-License-Identifier: BSD-3-Clause
# BEELINE_WERROR: warnings are errors for those who work on the project (a git tree), not for those who install it.
AC_DEFUN([BEELINE_WERROR], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror],
    [treat warnings as errors (default: only in a git tree)])], [],
    [AS_IF([test -e "$srcdir/.git"], [enable_werror=yes], [enable_werror=no])])
  AS_IF([test "x$enable_werror" = xyes], [BEELINE_CXXFLAGS="$BEELINE_CXXFLAGS -Werror"])
])
