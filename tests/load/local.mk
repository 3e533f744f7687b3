# tests/load/: rules of the tree and of the built components.
check_PROGRAMS += tests/load/load_components
tests_load_load_components_SOURCES = tests/load/load_test.c
tests_load_load_components_CFLAGS = -Wall -Wextra
tests_load_load_components_LDADD = -ldl
load_scripts = tests/load/layers_test.sh tests/load/headers_test.sh tests/load/symbols_test.sh \
	tests/load/load_test.sh
TESTS += $(load_scripts)
EXTRA_DIST += $(load_scripts) tests/load/layers.awk
