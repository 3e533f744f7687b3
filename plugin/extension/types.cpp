// SPDX-License-Identifier: BSD-3-Clause
// libbeeline_types.so: datatypes and operations made at first use, and freed by MPI_Finalize.
#include <beeline/types.h>

#include <cstdio>
#include <mutex>

#include "coll/kernel/reduce_host.hpp"
#include "plugin/extension/extension.hpp"

#define BEELINE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using beeline::coll::kernel::Op;
using beeline::coll::kernel::Type;

struct ExtensionType {
    Type type;
    const char* name;      ///< as the kernels call it
    const char* mpi_name;  ///< for debuggers and MPI_Type_get_name
    MPI_Datatype handle;
};
struct ExtensionOp {
    Op op;
    const char* name;
    MPI_Op handle;
};

constinit std::mutex mutex;
constinit ExtensionType types[] = {
    {Type::kF16, "f16", "beeline_type_float16", nullptr},
    {Type::kBf16, "bf16", "beeline_type_bfloat16", nullptr},
    {Type::kE4m3, "e4m3", "beeline_type_float8_e4m3", nullptr},
    {Type::kE5m2, "e5m2", "beeline_type_float8_e5m2", nullptr},
};
constinit ExtensionOp ops[] = {
    {Op::kSum, "sum", nullptr},
    {Op::kProd, "prod", nullptr},
    {Op::kMin, "min", nullptr},
    {Op::kMax, "max", nullptr},
};
constinit bool watches_finalize = false;

const ExtensionType* find(MPI_Datatype handle) noexcept {
    const std::lock_guard lock(mutex);
    for (const ExtensionType& known : types) {
        if (known.handle != nullptr && known.handle == handle) {
            return &known;
        }
    }
    return nullptr;
}

/// The operation as MPI libraries call it: on host memory.
template <Op op>
void reduce(void* in, void* inout, int* count, MPI_Datatype* handle) {
    const ExtensionType* known = find(*handle);
    if (known == nullptr) {
        std::fprintf(stderr,
                     "beeline_types: an operation of beeline/types.h was given a datatype that is "
                     "not of beeline/types.h\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
        return;
    }
    beeline::coll::kernel::reduce_host(known->type, op, in, inout, inout,
                                       static_cast<std::size_t>(*count));
}

MPI_User_function* function_of(Op op) noexcept {
    switch (op) {
        case Op::kSum:
            return reduce<Op::kSum>;
        case Op::kProd:
            return reduce<Op::kProd>;
        case Op::kMin:
            return reduce<Op::kMin>;
        default:
            return reduce<Op::kMax>;
    }
}

/// Called by MPI_Finalize before all else.
int free_handles(MPI_Comm, int, void*, void*) {
    const std::lock_guard lock(mutex);
    for (ExtensionType& known : types) {
        if (known.handle != nullptr) {
            MPI_Type_free(&known.handle);
            known.handle = nullptr;
        }
    }
    for (ExtensionOp& known : ops) {
        if (known.handle != nullptr) {
            MPI_Op_free(&known.handle);
            known.handle = nullptr;
        }
    }
    watches_finalize = false;
    return MPI_SUCCESS;
}

/// Whether handles can be made now, and will be freed.
bool is_ready() noexcept {
    int begun = 0;
    int ended = 0;
    MPI_Initialized(&begun);
    MPI_Finalized(&ended);
    if (begun == 0 || ended != 0) {
        return false;
    }
    if (!watches_finalize) {
        int key = MPI_KEYVAL_INVALID;
        if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_handles, &key, nullptr) !=
            MPI_SUCCESS) {
            return false;
        }
        watches_finalize = MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr) == MPI_SUCCESS;
        MPI_Comm_free_keyval(&key);
    }
    return watches_finalize;
}

MPI_Datatype type_of(std::size_t index) noexcept {
    const std::lock_guard lock(mutex);
    ExtensionType& known = types[index];
    if (known.handle == nullptr && is_ready()) {
        const bool two = beeline::coll::kernel::size_of(known.type) == 2;
        MPI_Datatype made = MPI_DATATYPE_NULL;
        if (MPI_Type_dup(two ? MPI_UINT16_T : MPI_UINT8_T, &made) == MPI_SUCCESS) {
            MPI_Type_set_name(made, known.mpi_name);
            known.handle = made;
        }
    }
    return known.handle != nullptr ? known.handle : MPI_DATATYPE_NULL;
}

MPI_Op op_of(std::size_t index) noexcept {
    const std::lock_guard lock(mutex);
    ExtensionOp& known = ops[index];
    if (known.handle == nullptr && is_ready()) {
        MPI_Op made = MPI_OP_NULL;
        if (MPI_Op_create(function_of(known.op), 1, &made) == MPI_SUCCESS) {
            known.handle = made;
        }
    }
    return known.handle != nullptr ? known.handle : MPI_OP_NULL;
}

}  // namespace

BEELINE_EXPORT MPI_Datatype beeline_type_float16(void) {
    return type_of(0);
}
BEELINE_EXPORT MPI_Datatype beeline_type_bfloat16(void) {
    return type_of(1);
}
BEELINE_EXPORT MPI_Datatype beeline_type_float8_e4m3(void) {
    return type_of(2);
}
BEELINE_EXPORT MPI_Datatype beeline_type_float8_e5m2(void) {
    return type_of(3);
}
BEELINE_EXPORT MPI_Op beeline_op_sum(void) {
    return op_of(0);
}
BEELINE_EXPORT MPI_Op beeline_op_prod(void) {
    return op_of(1);
}
BEELINE_EXPORT MPI_Op beeline_op_min(void) {
    return op_of(2);
}
BEELINE_EXPORT MPI_Op beeline_op_max(void) {
    return op_of(3);
}

// See kExtensionQuery.
BEELINE_EXPORT void beeline_extension_query_1(MPI_Datatype type, MPI_Op op, const char** type_name,
                                              const char** op_name) {
    const ExtensionType* known = find(type);
    *type_name = known != nullptr ? known->name : nullptr;
    *op_name = nullptr;
    const std::lock_guard lock(mutex);
    for (const ExtensionOp& candidate : ops) {
        if (candidate.handle != nullptr && candidate.handle == op) {
            *op_name = candidate.name;
        }
    }
}
