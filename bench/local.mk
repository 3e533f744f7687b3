# bench/
if HAVE_BENCHMARK
check_PROGRAMS += bench/matching
bench_matching_SOURCES = bench/matching.cpp
bench_matching_CPPFLAGS = $(AM_CPPFLAGS) $(BENCHMARK_CFLAGS)
bench_matching_LDADD = libcore.la $(BENCHMARK_LIBS)
endif
EXTRA_DIST += bench/host_compare bench/svg_plot.py
