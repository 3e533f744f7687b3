// SPDX-License-Identifier: BSD-3-Clause
// Open MPI 4.1's internals, includable from C++20. Every file of the plugin includes them through
// this header, and only what differs between versions of Open MPI lives here.
#pragma once

// What Open MPI's headers include themselves must not be seen first inside the extern "C" below.
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvolatile"

extern "C" {
#include "ompi_config.h"
#include "opal/threads/thread_usage.h"

// The header's own macro passes a void* where its function wants a void**, which C allows and C++
// refuses. The same call, with the conversion written out.
#undef OPAL_THREAD_COMPARE_EXCHANGE_STRONG_PTR
#define OPAL_THREAD_COMPARE_EXCHANGE_STRONG_PTR(place, expected, desired)                \
    opal_thread_compare_exchange_strong_ptr(                                             \
        reinterpret_cast<volatile intptr_t*>(place), reinterpret_cast<void**>(expected), \
        const_cast<void*>(static_cast<volatile void*>(desired)))

#include "mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/group/group.h"
#include "ompi/message/message.h"
#include "ompi/proc/proc.h"
#include "ompi/request/request.h"
#include "opal/datatype/opal_convertor.h"
}

// op.h calls ompi_datatype_copy_content_same_ddt with void* where the function wants char*.
static inline int32_t ompi_datatype_copy_content_same_ddt(const ompi_datatype_t* type, size_t count,
                                                          void* to, void* from) {
    return ompi_datatype_copy_content_same_ddt(type, count, static_cast<char*>(to),
                                               static_cast<char*>(from));
}

extern "C" {
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/base/coll_base_functions.h"
#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/pml/base/base.h"
#include "ompi/mca/pml/base/pml_base_bsend.h"
#include "ompi/mca/pml/base/pml_base_request.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/mca/rte/rte.h"
#include "ompi/mca/topo/base/base.h"
#include "ompi/mca/topo/topo.h"
#include "ompi/op/op.h"
#include "opal/mca/base/mca_base_component_repository.h"
#include "opal/mca/base/mca_base_pvar.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/mca/pmix/pmix.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/output.h"
}

#pragma GCC diagnostic pop

// OBJ_CLASS_INSTANCE without its casts: the constructor and the destructor take an opal_object_t*,
// and nothing is left to do at load time.
#define BEELINE_OBJ_CLASS_INSTANCE(name, parent, construct, destruct)                           \
    constinit opal_class_t name##_class = {#name, OBJ_CLASS(parent), construct, destruct,    0, \
                                           0,     nullptr,           nullptr,   sizeof(name)}

namespace beeline::plugin {

/// As REQUEST_COMPLETE(), but what the request holds may be read afterwards, also where another
/// thread completed it.
inline bool is_complete(const ompi_request_t* request) noexcept {
    return __atomic_load_n(&request->req_complete, __ATOMIC_ACQUIRE) == REQUEST_COMPLETED;
}

}  // namespace beeline::plugin

#if OMPI_MAJOR_VERSION != 4 || OMPI_MINOR_VERSION != 1
#error "Beeline is written for Open MPI 4.1"
#endif
