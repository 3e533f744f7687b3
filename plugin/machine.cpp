// SPDX-License-Identifier: BSD-3-Clause
// From Open MPI's numbers to the kernels' types and operations. Open MPI itself says by its table
// of functions which operations a datatype has.
#include "plugin/machine.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cfloat>
#include <cstring>
#include <type_traits>

#include "plugin/extension/extension.hpp"

namespace beeline::plugin {
namespace {

using beeline::coll::kernel::Op;
using beeline::coll::kernel::Type;

__extension__ typedef __float128 Float128;

/// The type of C integers and floating-point numbers of this size and sign.
template <class T>
constexpr std::optional<Type> machine_type() noexcept {
    if constexpr (std::is_same_v<T, long double>) {
        return sizeof(T) == 16 && LDBL_MANT_DIG == 64 ? std::optional(Type::kF80) : std::nullopt;
    } else if constexpr (std::is_same_v<T, Float128>) {
        return Type::kF128;
    } else if constexpr (std::is_floating_point_v<T>) {
        return sizeof(T) == 4 ? Type::kF32 : Type::kF64;
    } else {
        constexpr bool kSigned = std::is_signed_v<T>;
        switch (sizeof(T)) {
            case 1:
                return kSigned ? Type::kI8 : Type::kU8;
            case 2:
                return kSigned ? Type::kI16 : Type::kU16;
            case 4:
                return kSigned ? Type::kI32 : Type::kU32;
            default:
                return kSigned ? Type::kI64 : Type::kU64;
        }
    }
}

/// A pair of Fortran's: two numbers of one type.
template <class T>
constexpr std::optional<Type> pair_of() noexcept {
    switch (machine_type<T>().value()) {
        case Type::kI32:
            return Type::kI32I32;
        case Type::kF32:
            return Type::kF32F32;
        case Type::kF64:
            return Type::kF64F64;
        default:
            return std::nullopt;
    }
}

/// What Open MPI's functions take REAL*16 for, right or wrong: one result, whoever computes it.
constexpr std::optional<Type> real16() noexcept {
#if OMPI_HAVE_FORTRAN_REAL16
    return machine_type<ompi_fortran_real16_t>();
#else
    return std::nullopt;
#endif
}

/// By OMPI_OP_BASE_TYPE_*.
std::optional<Type> type_of_class(int type_class) noexcept {
    switch (type_class) {
#define BEELINE_MAP(open_mpi, machine) \
    case OMPI_OP_BASE_TYPE_##open_mpi: \
        return machine;
#include "plugin/machine.def"
#undef BEELINE_MAP
        default:
            return std::nullopt;
    }
}

std::optional<Op> op_of_index(int index) noexcept {
    switch (index) {
#define BEELINE_MAP(open_mpi, machine)    \
    case OMPI_OP_BASE_FORTRAN_##open_mpi: \
        return Op::machine;
        BEELINE_MAP(SUM, kSum)
        BEELINE_MAP(PROD, kProd)
        BEELINE_MAP(MIN, kMin)
        BEELINE_MAP(MAX, kMax)
        BEELINE_MAP(BAND, kBand)
        BEELINE_MAP(BOR, kBor)
        BEELINE_MAP(BXOR, kBxor)
        BEELINE_MAP(LAND, kLand)
        BEELINE_MAP(LOR, kLor)
        BEELINE_MAP(LXOR, kLxor)
        BEELINE_MAP(MINLOC, kMinloc)
        BEELINE_MAP(MAXLOC, kMaxloc)
#undef BEELINE_MAP
        default:
            return std::nullopt;
    }
}

/// What libbeeline_types knows of a datatype and an operation that are not predefined.
struct Extension {
    std::optional<Type> type;
    std::optional<Op> op;
};

Extension extension_of(const ompi_datatype_t* type, ompi_op_t* op) noexcept {
    static constinit std::atomic<ExtensionQuery> found{nullptr};
    Extension extension;
    if (type->super.size > 2) {
        return extension;  // of one or two bytes all
    }
    ExtensionQuery query = found.load(std::memory_order_relaxed);
    if (query == nullptr) {
        query = reinterpret_cast<ExtensionQuery>(dlsym(RTLD_DEFAULT, kExtensionQuery));
        if (query == nullptr) {
            return extension;
        }
        found.store(query, std::memory_order_relaxed);
    }
    const char* type_name = nullptr;
    const char* op_name = nullptr;
    query(const_cast<ompi_datatype_t*>(type), op, &type_name, &op_name);
    for (const Type candidate : beeline::coll::kernel::kAllTypes) {
        if (type_name != nullptr && std::strcmp(type_name, to_string(candidate)) == 0) {
            extension.type = candidate;
        }
    }
    for (const Op candidate : beeline::coll::kernel::kAllOps) {
        if (op_name != nullptr && std::strcmp(op_name, to_string(candidate)) == 0) {
            extension.op = candidate;
        }
    }
    return extension;
}

int class_of(const ompi_datatype_t* type) noexcept {
    return type->id >= 0 && type->id < OMPI_DATATYPE_MAX_PREDEFINED ? ompi_op_ddt_map[type->id]
                                                                    : -1;
}

}  // namespace

std::optional<Type> machine_type_of(const ompi_datatype_t* type) noexcept {
    if (!ompi_datatype_is_predefined(type)) {
        return extension_of(type, MPI_OP_NULL).type;
    }
    const auto machine = type_of_class(class_of(type));
    // Whoever moves elements by their extent must find it here.
    const auto extent = type->super.ub - type->super.lb;
    const bool same =
        machine && beeline::coll::kernel::size_of(*machine) == static_cast<std::size_t>(extent);
    return same ? machine : std::nullopt;
}

std::optional<Op> machine_op_of(ompi_op_t* op, const ompi_datatype_t* type) noexcept {
    if (!ompi_datatype_is_predefined(type)) {
        const Extension extension = extension_of(type, op);
        return extension.type ? extension.op : std::nullopt;
    }
    const auto machine = machine_type_of(type);
    if (!machine || !ompi_op_is_intrinsic(op) ||
        op->o_func.intrinsic.fns[class_of(type)] == nullptr) {
        return std::nullopt;
    }
    const auto machine_op = op_of_index(op->o_f_to_c_index);
    const bool known = machine_op && beeline::coll::kernel::supported(*machine, *machine_op);
    return known ? machine_op : std::nullopt;
}

}  // namespace beeline::plugin
