// SPDX-License-Identifier: BSD-3-Clause
// The two tables from Open MPI's numbers to the kernels' types and operations.
#include "plugin/machine.hpp"

extern "C" {
#include "opal/datatype/opal_datatype_internal.h"
}

namespace beeline::plugin {

using beeline::coll::kernel::Op;
using beeline::coll::kernel::Type;

std::optional<Type> machine_type_of(const ompi_datatype_t* type) noexcept {
    if (!ompi_datatype_is_predefined(type)) {
        return std::nullopt;
    }
    switch (type->super.id) {
        case OPAL_DATATYPE_INT1:
            return Type::kI8;
        case OPAL_DATATYPE_UINT1:
            return Type::kU8;
        case OPAL_DATATYPE_INT2:
            return Type::kI16;
        case OPAL_DATATYPE_UINT2:
            return Type::kU16;
        case OPAL_DATATYPE_INT4:
            return Type::kI32;
        case OPAL_DATATYPE_UINT4:
            return Type::kU32;
        case OPAL_DATATYPE_INT8:
        case OPAL_DATATYPE_LONG:
            return Type::kI64;
        case OPAL_DATATYPE_UINT8:
        case OPAL_DATATYPE_UNSIGNED_LONG:
            return Type::kU64;
        case OPAL_DATATYPE_FLOAT4:
            return Type::kF32;
        case OPAL_DATATYPE_FLOAT8:
            return Type::kF64;
        default:
            return std::nullopt;
    }
}

std::optional<Op> machine_op_of(ompi_op_t* op, const ompi_datatype_t* type) noexcept {
    if (!ompi_op_is_intrinsic(op)) {
        return std::nullopt;
    }
    const bool fortran =
        (type->super.flags & OMPI_DATATYPE_FLAG_DATA_FORTRAN) == OMPI_DATATYPE_FLAG_DATA_FORTRAN;
    const auto unless_fortran = [&](Op logical) {
        return fortran ? std::nullopt : std::optional<Op>(logical);
    };
    switch (op->o_f_to_c_index) {
        case OMPI_OP_BASE_FORTRAN_SUM:
            return Op::kSum;
        case OMPI_OP_BASE_FORTRAN_PROD:
            return Op::kProd;
        case OMPI_OP_BASE_FORTRAN_MIN:
            return Op::kMin;
        case OMPI_OP_BASE_FORTRAN_MAX:
            return Op::kMax;
        case OMPI_OP_BASE_FORTRAN_BAND:
            return Op::kBand;
        case OMPI_OP_BASE_FORTRAN_BOR:
            return Op::kBor;
        case OMPI_OP_BASE_FORTRAN_BXOR:
            return Op::kBxor;
        case OMPI_OP_BASE_FORTRAN_LAND:
            return unless_fortran(Op::kLand);
        case OMPI_OP_BASE_FORTRAN_LOR:
            return unless_fortran(Op::kLor);
        case OMPI_OP_BASE_FORTRAN_LXOR:
            return unless_fortran(Op::kLxor);
        default:
            return std::nullopt;
    }
}

}  // namespace beeline::plugin
