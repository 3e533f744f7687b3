# plugin/: the boundary to Open MPI. Two components, each with one exported symbol, over one private
# library that keeps all state once. The components find it relative to themselves, so the whole can
# be installed anywhere, and are linked to the file that was just built rather than to an installed one.
plugin_cppflags = $(AM_CPPFLAGS) -DOMPI_SKIP_MPICXX=1 -isystem $(top_srcdir)/plugin/compat/include $(OMPI_CPPFLAGS)
# What the sanitizers call is in the program alone.
if SANITIZED
no_undefined =
else
no_undefined = -Wl,-z,defs
endif
plugin_ldflags = -module -avoid-version -shared $(no_undefined) \
	-Wl,--version-script=$(top_srcdir)/plugin/exports.map -Wl,-rpath,'$$ORIGIN/../beeline' \
	-Wl,--no-as-needed,.libs/libbeeline.so
plugin_libadd = $(OMPI_LIBS) -ldl
plugin_depends = libbeeline.la $(top_srcdir)/plugin/exports.map
plugin_common_sources = \
	plugin/compat/include/ompi/mpi/fortran/base/fint_2_int.h plugin/compat/ompi.hpp \
	plugin/gpu_fact.cpp plugin/gpu_fact.hpp plugin/guard.hpp plugin/params.cpp plugin/params.hpp \
	plugin/staging.cpp plugin/staging.hpp plugin/types.cpp plugin/types.hpp

corelib_LTLIBRARIES = libbeeline.la
libbeeline_la_SOURCES =
nodist_EXTRA_libbeeline_la_SOURCES = links_as_cxx.cpp
libbeeline_la_LDFLAGS = -avoid-version -shared $(no_undefined) -Wl,-Bsymbolic-functions \
	-Wl,--version-script=$(top_srcdir)/plugin/libbeeline.map
libbeeline_la_LIBADD = libcore.la
libbeeline_la_DEPENDENCIES = libcore.la $(top_srcdir)/plugin/libbeeline.map

component_LTLIBRARIES = mca_coll_beeline.la mca_pml_beeline.la
mca_pml_beeline_la_SOURCES = $(plugin_common_sources) \
	plugin/pml/component.cpp plugin/pml/messages.cpp plugin/pml/module.hpp plugin/pml/probes.cpp \
	plugin/pml/processes.cpp plugin/pml/report.cpp plugin/pml/request.cpp plugin/pml/request.hpp
mca_pml_beeline_la_CPPFLAGS = $(plugin_cppflags)
mca_pml_beeline_la_CXXFLAGS = $(AM_CXXFLAGS) $(OMPI_CXXFLAGS)
mca_pml_beeline_la_LDFLAGS = $(plugin_ldflags)
mca_pml_beeline_la_LIBADD = $(plugin_libadd)
mca_pml_beeline_la_DEPENDENCIES = $(plugin_depends)
mca_coll_beeline_la_SOURCES = $(plugin_common_sources) \
	plugin/coll/component.cpp plugin/coll/entries.def plugin/coll/module.cpp plugin/coll/handed.hpp plugin/coll/module.hpp \
	plugin/coll/report.cpp plugin/coll/report.hpp plugin/coll/request.cpp plugin/coll/request.hpp \
	plugin/coll/fused_call.cpp plugin/coll/fused_call.hpp \
	plugin/coll/flat.cpp plugin/coll/flat.hpp plugin/coll/resolve.cpp plugin/coll/resolve.hpp \
	plugin/coll/schedule_call.cpp plugin/coll/schedule_call.hpp \
	plugin/coll/schedule_request.cpp plugin/coll/schedule_request.hpp \
	plugin/coll/neighbors.cpp \
	plugin/coll/parameters.cpp plugin/coll/parameters.hpp plugin/coll/scheduled.hpp plugin/coll/schedules.cpp plugin/coll/schedules.hpp \
	plugin/coll/shapes.hpp \
	plugin/coll/staged_call.hpp plugin/coll/transport.cpp plugin/coll/transport.hpp \
	plugin/coll/wrap.hpp plugin/extension/extension.hpp \
	plugin/machine.cpp plugin/machine.def plugin/machine.hpp \
	plugin/preload/calls.hpp plugin/preload/handlers.cpp plugin/preload/handlers.hpp
mca_coll_beeline_la_CPPFLAGS = $(plugin_cppflags)
mca_coll_beeline_la_CXXFLAGS = $(AM_CXXFLAGS) $(OMPI_CXXFLAGS)
mca_coll_beeline_la_LDFLAGS = $(plugin_ldflags)
mca_coll_beeline_la_LIBADD = $(plugin_libadd)
mca_coll_beeline_la_DEPENDENCIES = $(plugin_depends)

# No version and no library it needs: see plugin/preload/preload.cpp.
corelib_LTLIBRARIES += libbeeline_preload.la
libbeeline_preload_la_SOURCES = plugin/preload/calls.hpp plugin/preload/preload.cpp
libbeeline_preload_la_CPPFLAGS = $(plugin_cppflags)
libbeeline_preload_la_LDFLAGS = -module -avoid-version -shared -Wl,--as-needed

# Datatypes for programs: include/beeline/types.h.
lib_LTLIBRARIES = libbeeline_types.la
beelineincludedir = $(includedir)/beeline
beelineinclude_HEADERS = include/beeline/types.h
libbeeline_types_la_SOURCES = plugin/extension/extension.hpp plugin/extension/types.cpp coll/kernel/reduce_host.cpp
libbeeline_types_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/include $(MPI_PROGRAM_CPPFLAGS)
libbeeline_types_la_CXXFLAGS = $(kernel_cxxflags)
libbeeline_types_la_LDFLAGS = -version-info 0:0:0 -shared $(no_undefined) -export-symbols-regex '^beeline_'
libbeeline_types_la_LIBADD = $(OMPI_LIBS)

# Written at installation, so that `make install prefix=...` names the place it installs to.
plugin_substitute = sed -e 's|@componentdir[@]|$(componentdir)|' -e 's|@corelibdir[@]|$(corelibdir)|'
install-data-local: install-beeline-conf
install-beeline-conf:
	$(MKDIR_P) "$(DESTDIR)$(pkgdatadir)"
	$(plugin_substitute) $(top_srcdir)/plugin/beeline.conf.in > "$(DESTDIR)$(pkgdatadir)/beeline.conf"
uninstall-local: uninstall-beeline-conf
uninstall-beeline-conf:
	rm -f "$(DESTDIR)$(pkgdatadir)/beeline.conf"
.PHONY: install-beeline-conf uninstall-beeline-conf
EXTRA_DIST += plugin/beeline.conf.in plugin/exports.map plugin/libbeeline.map
