/* SPDX-License-Identifier: BSD-3-Clause */
/* Open MPI's structures, from its headers as they are, in C. */
#include "tests/mpi/structures.h"

#include "ompi_config.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/group/group.h"
#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/message/message.h"
#include "ompi/op/op.h"
#include "ompi/proc/proc.h"
#include "ompi/request/request.h"
#include "opal/datatype/opal_convertor.h"

const size_t beeline_c_numbers[] = {
#define STRUCTURE(type) sizeof(type),
#define MEMBER(type, member) offsetof(type, member),
#include "tests/mpi/structures.def"
#undef STRUCTURE
#undef MEMBER
};
const size_t beeline_c_rows = sizeof beeline_c_numbers / sizeof beeline_c_numbers[0];
