# bench/
if HAVE_BENCHMARK
check_PROGRAMS += bench/matching
bench_matching_SOURCES = bench/matching.cpp
bench_matching_CPPFLAGS = $(AM_CPPFLAGS) $(BENCHMARK_CFLAGS)
bench_matching_LDADD = libcore.la $(BENCHMARK_LIBS)
endif
check_PROGRAMS += bench/raw_copies
bench_raw_copies_SOURCES = bench/raw_copies.cpp
bench_raw_copies_LDADD = libgpu.la libcore.la
check_PROGRAMS += bench/message_costs
bench_message_costs_SOURCES = bench/message_costs.cpp
bench_message_costs_CPPFLAGS = $(MPI_PROGRAM_CPPFLAGS)
bench_message_costs_LDADD = $(OMPI_LIBS) -ldl
check_PROGRAMS += bench/overlap_run
bench_overlap_run_SOURCES = bench/overlap_run.cpp
bench_overlap_run_CPPFLAGS = $(MPI_PROGRAM_CPPFLAGS)
bench_overlap_run_LDADD = libgpu.la $(OMPI_LIBS)
EXTRA_DIST += bench/coll_compare bench/compare_lib.py bench/device_compare bench/host_compare bench/instructions bench/overlap bench/rdma_compare bench/svg_plot.py \
	docs/results/README.md
