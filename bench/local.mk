# bench/
EXTRA_DIST += bench/host_compare bench/svg_plot.py
