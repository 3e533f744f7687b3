# SPDX-License-Identifier: BSD-3-Clause
# BEELINE_CXX: C++20, hidden symbols, and the warnings the project is kept clean of.
AC_DEFUN([BEELINE_CXX], [
  AX_CXX_COMPILE_STDCXX([20], [noext], [mandatory])
  BEELINE_CXXFLAGS="-fvisibility=hidden -fvisibility-inlines-hidden -fno-gnu-unique -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-align -Woverloaded-virtual"
  AC_SUBST([BEELINE_CXXFLAGS])
  AX_PTHREAD([], [AC_MSG_ERROR([POSIX threads are needed and were not found])])
])
