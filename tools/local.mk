# tools/: programs for users, and what they share.
MPI_PROGRAM_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX=1

noinst_LTLIBRARIES += libgpu.la
libgpu_la_SOURCES = tools/gpu/gpu.cpp tools/gpu/gpu.hpp tools/gpu/kinds.cpp tools/gpu/kinds.hpp
libgpu_la_LIBADD = -ldl

if HAVE_TOOL_LIBS
bin_PROGRAMS += beeline-bench
beeline_bench_SOURCES = \
	tools/beeline-bench/collective.cpp \
	tools/beeline-bench/main.cpp \
	tools/beeline-bench/measure.cpp tools/beeline-bench/measure.hpp \
	tools/beeline-bench/median.hpp \
	tools/beeline-bench/options.cpp tools/beeline-bench/options.hpp \
	tools/beeline-bench/paths.cpp tools/beeline-bench/paths.hpp \
	tools/beeline-bench/pattern.hpp \
	tools/beeline-bench/point_to_point.cpp \
	tools/beeline-bench/report.cpp tools/beeline-bench/report.hpp \
	tools/beeline-bench/synchronize.cpp \
	tools/beeline-bench/threaded.cpp \
	tools/beeline-bench/variable.cpp tools/beeline-bench/variable.hpp \
	tools/beeline-bench/workload.hpp
beeline_bench_CPPFLAGS = $(MPI_PROGRAM_CPPFLAGS)
beeline_bench_LDADD = libgpu.la $(OMPI_LIBS)
bin_PROGRAMS += beeline-plan
beeline_plan_SOURCES = tools/beeline-plan/main.cpp tools/beeline-plan/plan.hpp \
	tools/beeline-plan/show.cpp tools/beeline-plan/verify.cpp
beeline_plan_LDADD = libprove.la libcore.la

bin_PROGRAMS += beeline-tune
beeline_tune_SOURCES = \
	tools/beeline-bench/collective.cpp \
	tools/beeline-bench/options.cpp tools/beeline-bench/options.hpp \
	tools/beeline-bench/median.hpp \
	tools/beeline-bench/pattern.hpp \
	tools/beeline-bench/synchronize.cpp \
	tools/beeline-bench/variable.cpp tools/beeline-bench/variable.hpp \
	tools/beeline-bench/workload.hpp \
	tools/beeline-tune/candidates.cpp tools/beeline-tune/candidates.hpp \
	tools/beeline-tune/main.cpp \
	tools/beeline-tune/rules.cpp tools/beeline-tune/rules.hpp
beeline_tune_CPPFLAGS = $(MPI_PROGRAM_CPPFLAGS)
beeline_tune_LDADD = libcore.la libgpu.la $(OMPI_LIBS)

bin_PROGRAMS += beeline-info
beeline_info_SOURCES = \
	tools/beeline-info/host.cpp tools/beeline-info/host.hpp \
	tools/beeline-info/main.cpp \
	tools/beeline-info/settings.cpp tools/beeline-info/settings.hpp
beeline_info_CPPFLAGS = $(AM_CPPFLAGS)
beeline_info_LDADD = libcore.la -ldl
endif
