// SPDX-License-Identifier: BSD-3-Clause
// Our reductions on the CPU against Open MPI's own (MPI_Reduce_local), bit by bit, for every
// predefined datatype and operation: what is defined at all, wrap-around, NaNs, signed zeros, ties,
// truth values other than 0 and 1. Results that are NaN by computing (sum, prod) may have any
// payload.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "coll/kernel/reduce_host.hpp"
#include "plugin/machine.hpp"
#include "tests/support/op_values.hpp"

namespace {

using beeline::coll::kernel::Op;
using beeline::coll::kernel::Type;
using beeline::test::Bytes;

int failures = 0;
long compared = 0;

struct NamedType {
    const char* name;
    MPI_Datatype type;
};
struct NamedOp {
    const char* name;
    MPI_Op op;
};

#define BEELINE_NAMED(handle) \
    { #handle, handle }
std::vector<NamedType> all_types() {
    return {
        BEELINE_NAMED(MPI_CHAR),
        BEELINE_NAMED(MPI_SIGNED_CHAR),
        BEELINE_NAMED(MPI_UNSIGNED_CHAR),
        BEELINE_NAMED(MPI_BYTE),
        BEELINE_NAMED(MPI_WCHAR),
        BEELINE_NAMED(MPI_SHORT),
        BEELINE_NAMED(MPI_UNSIGNED_SHORT),
        BEELINE_NAMED(MPI_INT),
        BEELINE_NAMED(MPI_UNSIGNED),
        BEELINE_NAMED(MPI_LONG),
        BEELINE_NAMED(MPI_UNSIGNED_LONG),
        BEELINE_NAMED(MPI_LONG_LONG),
        BEELINE_NAMED(MPI_UNSIGNED_LONG_LONG),
        BEELINE_NAMED(MPI_INT8_T),
        BEELINE_NAMED(MPI_UINT8_T),
        BEELINE_NAMED(MPI_INT16_T),
        BEELINE_NAMED(MPI_UINT16_T),
        BEELINE_NAMED(MPI_INT32_T),
        BEELINE_NAMED(MPI_UINT32_T),
        BEELINE_NAMED(MPI_INT64_T),
        BEELINE_NAMED(MPI_UINT64_T),
        BEELINE_NAMED(MPI_AINT),
        BEELINE_NAMED(MPI_OFFSET),
        BEELINE_NAMED(MPI_COUNT),
        BEELINE_NAMED(MPI_FLOAT),
        BEELINE_NAMED(MPI_DOUBLE),
        BEELINE_NAMED(MPI_LONG_DOUBLE),
        BEELINE_NAMED(MPI_C_BOOL),
        BEELINE_NAMED(MPI_CXX_BOOL),
        BEELINE_NAMED(MPI_C_FLOAT_COMPLEX),
        BEELINE_NAMED(MPI_C_DOUBLE_COMPLEX),
        BEELINE_NAMED(MPI_C_LONG_DOUBLE_COMPLEX),
        BEELINE_NAMED(MPI_CXX_FLOAT_COMPLEX),
        BEELINE_NAMED(MPI_CXX_DOUBLE_COMPLEX),
        BEELINE_NAMED(MPI_CXX_LONG_DOUBLE_COMPLEX),
        BEELINE_NAMED(MPI_FLOAT_INT),
        BEELINE_NAMED(MPI_DOUBLE_INT),
        BEELINE_NAMED(MPI_LONG_INT),
        BEELINE_NAMED(MPI_2INT),
        BEELINE_NAMED(MPI_SHORT_INT),
        BEELINE_NAMED(MPI_LONG_DOUBLE_INT),
        BEELINE_NAMED(MPI_CHARACTER),
        BEELINE_NAMED(MPI_LOGICAL),
        BEELINE_NAMED(MPI_INTEGER),
        BEELINE_NAMED(MPI_REAL),
        BEELINE_NAMED(MPI_DOUBLE_PRECISION),
        BEELINE_NAMED(MPI_COMPLEX),
        BEELINE_NAMED(MPI_DOUBLE_COMPLEX),
        BEELINE_NAMED(MPI_2REAL),
        BEELINE_NAMED(MPI_2DOUBLE_PRECISION),
        BEELINE_NAMED(MPI_2INTEGER),
        BEELINE_NAMED(MPI_INTEGER1),
        BEELINE_NAMED(MPI_INTEGER2),
        BEELINE_NAMED(MPI_INTEGER4),
        BEELINE_NAMED(MPI_INTEGER8),
        BEELINE_NAMED(MPI_REAL4),
        BEELINE_NAMED(MPI_REAL8),
        BEELINE_NAMED(MPI_REAL16),
        BEELINE_NAMED(MPI_COMPLEX8),
        BEELINE_NAMED(MPI_COMPLEX16),
        BEELINE_NAMED(MPI_COMPLEX32),
        BEELINE_NAMED(MPI_PACKED),
    };
}

std::vector<NamedOp> all_ops() {
    return {BEELINE_NAMED(MPI_SUM),     BEELINE_NAMED(MPI_PROD),   BEELINE_NAMED(MPI_MIN),
            BEELINE_NAMED(MPI_MAX),     BEELINE_NAMED(MPI_BAND),   BEELINE_NAMED(MPI_BOR),
            BEELINE_NAMED(MPI_BXOR),    BEELINE_NAMED(MPI_LAND),   BEELINE_NAMED(MPI_LOR),
            BEELINE_NAMED(MPI_LXOR),    BEELINE_NAMED(MPI_MINLOC), BEELINE_NAMED(MPI_MAXLOC),
            BEELINE_NAMED(MPI_REPLACE), BEELINE_NAMED(MPI_NO_OP)};
}

template <class Number>
bool same_number(const unsigned char* a, const unsigned char* b) {
    Number x;
    Number y;
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    return (std::isnan(x) && std::isnan(y)) ||
           std::memcmp(a, b, sizeof x == 16 ? 10 : sizeof x) == 0;
}

/// Open MPI 4.1 compares unsigned long as if it had a sign, which MPI does not mean: where that
/// makes a difference we differ.
bool open_mpi_errs(const NamedType& type, Op op, const unsigned char* left,
                   const unsigned char* right) {
    return type.type == MPI_UNSIGNED_LONG && (op == Op::kMin || op == Op::kMax) &&
           ((left[7] ^ right[7]) & 0x80) != 0;
}

/// Element against element. `computed`: the result of arithmetic.
bool same(Type type, bool computed, const unsigned char* a, const unsigned char* b) {
    const std::size_t size = beeline::coll::kernel::size_of(type);
    switch (type) {
        case Type::kF80:
            return computed ? same_number<long double>(a, b) : std::memcmp(a, b, 10) == 0;
        case Type::kF80I32:
            return std::memcmp(a, b, 10) == 0 && std::memcmp(a + 16, b + 16, 4) == 0;
        case Type::kComplexF80:
            return same_number<long double>(a, b) && same_number<long double>(a + 16, b + 16);
        case Type::kComplexF32:
            return same_number<float>(a, b) && same_number<float>(a + 4, b + 4);
        case Type::kComplexF64:
            return same_number<double>(a, b) && same_number<double>(a + 8, b + 8);
        case Type::kF32:
            return computed ? same_number<float>(a, b) : std::memcmp(a, b, size) == 0;
        case Type::kF64:
            return computed ? same_number<double>(a, b) : std::memcmp(a, b, size) == 0;
        default:
            return std::memcmp(a, b, size) == 0;
    }
}

void print_hex(const char* what, const unsigned char* bytes, std::size_t size) {
    std::printf("    %-8s", what);
    for (std::size_t i = size; i-- > 0;) {
        std::printf("%02x", bytes[i]);
    }
    std::printf("\n");
}

void compare(const NamedType& type, const NamedOp& op, Type machine, Op machine_op) {
    Bytes left;
    Bytes right;
    beeline::test::operands(machine, left, right);
    const std::size_t size = beeline::coll::kernel::size_of(machine);
    const std::size_t count = left.size() / size;
    Bytes theirs = right;
    if (MPI_Reduce_local(left.data(), theirs.data(), static_cast<int>(count), type.type, op.op) !=
        MPI_SUCCESS) {
        std::printf("%s on %s: Open MPI refuses it, we do not\n", op.name, type.name);
        ++failures;
        return;
    }
    Bytes ours = right;
    beeline::coll::kernel::reduce_host(machine, machine_op, left.data(), ours.data(), ours.data(),
                                       count);
    const bool computed = machine_op == Op::kSum || machine_op == Op::kProd;
    compared += static_cast<long>(count);
    int shown = 0;
    for (std::size_t at = 0; at < ours.size() && shown < 3; at += size) {
        if (!same(machine, computed, &ours[at], &theirs[at]) &&
            !open_mpi_errs(type, machine_op, &left[at], &right[at])) {
            if (shown++ == 0) {
                ++failures;
            }
            std::printf("%s on %s (%s), element %zu:\n", op.name, type.name,
                        beeline::coll::kernel::to_string(machine), at / size);
            print_hex("left", &left[at], size);
            print_hex("right", &right[at], size);
            print_hex("ours", &ours[at], size);
            print_hex("Open MPI", &theirs[at], size);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int pairs = 0;
    for (const NamedType& type : all_types()) {
        if (type.type == MPI_DATATYPE_NULL) {
            continue;
        }
        const auto machine = beeline::plugin::machine_type_of(type.type);
        for (const NamedOp& op : all_ops()) {
            const auto machine_op = beeline::plugin::machine_op_of(op.op, type.type);
            if (machine && machine_op) {
                ++pairs;
                compare(type, op, *machine, *machine_op);
                continue;
            }
            unsigned char none[64] = {};
            unsigned char result[64] = {};
            if (MPI_Reduce_local(none, result, 1, type.type, op.op) == MPI_SUCCESS) {
                std::printf("%s on %s: Open MPI does it, we do not\n", op.name, type.name);
                ++failures;
            }
        }
    }
    std::printf("op_rules: %d pairs of datatype and operation, %ld elements, %d failures\n", pairs,
                compared, failures);
    MPI_Finalize();
    // 15 integer types with 10 operations alone are more.
    return failures == 0 && pairs > 150 ? 0 : 1;
}
