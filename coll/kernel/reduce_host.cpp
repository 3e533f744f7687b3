// SPDX-License-Identifier: BSD-3-Clause
// Reductions on the CPU, made vectors of by the compiler.
#include "coll/kernel/reduce_host.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "coll/kernel/functors.hpp"

namespace beeline::coll::kernel {
namespace {

using Two = void (*)(const void*, const void*, void*, std::size_t) noexcept;
using Many = void (*)(std::span<const void* const>, void*, std::size_t) noexcept;

template <class T, class Functor>
void run_two(const void* left, const void* right, void* out, std::size_t count) noexcept {
    reduce_anywhere<T, Functor>(left, right, out, count, 0, 1);
}

/// Block by block, each combined in the first-level cache.
template <class T, class Functor>
void run_many(std::span<const void* const> inputs, void* out, std::size_t count) noexcept {
    using A = Arithmetic<T>;
    constexpr std::size_t kBlock = 4096 / sizeof(typename A::Value);
    typename A::Value value[kBlock];
    for (std::size_t done = 0; done < count; done += kBlock) {
        const std::size_t here = std::min(kBlock, count - done);
        BEELINE_INDEPENDENT
        for (std::size_t i = 0; i < here; ++i) {
            value[i] = Functor::apply(A::load(read_bytes<T>(inputs[0], done + i)),
                                      A::load(read_bytes<T>(inputs[1], done + i)));
        }
        for (const void* input : inputs.subspan(2)) {
            BEELINE_INDEPENDENT
            for (std::size_t i = 0; i < here; ++i) {
                value[i] = Functor::apply(value[i], A::load(read_bytes<T>(input, done + i)));
            }
        }
        BEELINE_INDEPENDENT
        for (std::size_t i = 0; i < here; ++i) {
            write_bytes(out, done + i, A::store(value[i]));
        }
    }
}

template <Op op>
struct FunctorOf;
#define BEELINE_FUNCTOR(name, Functor) \
    template <>                        \
    struct FunctorOf<Op::name> {       \
        using type = Functor;          \
    };
BEELINE_FUNCTOR(kSum, OpSum)
BEELINE_FUNCTOR(kProd, OpProd)
BEELINE_FUNCTOR(kMin, OpMin)
BEELINE_FUNCTOR(kMax, OpMax)
BEELINE_FUNCTOR(kBand, OpBand)
BEELINE_FUNCTOR(kBor, OpBor)
BEELINE_FUNCTOR(kBxor, OpBxor)
BEELINE_FUNCTOR(kLand, OpLand)
BEELINE_FUNCTOR(kLor, OpLor)
BEELINE_FUNCTOR(kLxor, OpLxor)
BEELINE_FUNCTOR(kMinloc, OpMinloc)
BEELINE_FUNCTOR(kMaxloc, OpMaxloc)
#undef BEELINE_FUNCTOR

/// The C++ type to compute in: integers without a sign where it makes no difference, so that sums
/// wrap.
template <Type type, Op op>
constexpr Type computed_as() noexcept {
    const bool sign_matters = op == Op::kMin || op == Op::kMax;
    return class_of(type) == TypeClass::kSigned && !sign_matters
               ? static_cast<Type>(static_cast<std::uint8_t>(type) | 1U)
               : type;
}
static_assert(computed_as<Type::kI8, Op::kSum>() == Type::kU8 &&
              computed_as<Type::kI64, Op::kSum>() == Type::kU64);

template <Type type>
struct ElementOf;
#define BEELINE_TYPE(Name, name, T, type_class)                                   \
    template <>                                                                   \
    struct ElementOf<Type::k##Name> {                                             \
        using type = T;                                                           \
        static_assert(sizeof(T) == size_of(Type::k##Name), "size_of() is wrong"); \
    };
#include "coll/kernel/types.def"
#undef BEELINE_TYPE

struct Functions {
    Two two = nullptr;
    Many many = nullptr;
};

template <Type type, Op op>
constexpr Functions functions() noexcept {
    if constexpr (supported(type, op)) {
        using T = typename ElementOf<computed_as<type, op>()>::type;
        using Functor = typename FunctorOf<op>::type;
        return {run_two<T, Functor>, run_many<T, Functor>};
    } else {
        return {};
    }
}

template <std::size_t... Index>
constexpr auto make_table(std::index_sequence<Index...>) noexcept {
    return std::array<Functions, sizeof...(Index)>{
        functions<kAllTypes[Index / kOps], kAllOps[Index % kOps]>()...};
}
constexpr auto kTable = make_table(std::make_index_sequence<kTypes * kOps>());

const Functions& functions_of(Type type, Op op) noexcept {
    assert(supported(type, op));
    return kTable[static_cast<std::size_t>(type) * kOps + static_cast<std::size_t>(op)];
}

void copy_if_elsewhere(void* out, const void* from, std::size_t bytes) noexcept {
    if (out != from && bytes != 0) {
        std::memcpy(out, from, bytes);
    }
}

}  // namespace

void reduce_host(Type type, Op op, const void* left, const void* right, void* out,
                 std::size_t count) noexcept {
    if (is_copy(op)) {
        copy_if_elsewhere(out, op == Op::kReplace ? left : right, count * size_of(type));
        return;
    }
    functions_of(type, op).two(left, right, out, count);
}

void reduce_host_many(Type type, Op op, std::span<const void* const> inputs, void* out,
                      std::size_t count) noexcept {
    assert(!inputs.empty());
    if (is_copy(op) || inputs.size() == 1) {
        copy_if_elsewhere(out, op == Op::kNoOp ? inputs.back() : inputs.front(),
                          count * size_of(type));
    } else if (inputs.size() == 2) {
        functions_of(type, op).two(inputs[0], inputs[1], out, count);
    } else {
        functions_of(type, op).many(inputs, out, count);
    }
}

}  // namespace beeline::coll::kernel
