// SPDX-License-Identifier: BSD-3-Clause
// One allreduce of a test: exact inputs, the expected result, and how a rank runs and checks it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "coll/collective.hpp"

namespace beeline::world {

struct Case {
    std::size_t count = 0;
    coll::kernel::Type type = coll::kernel::Type::kU8;
    coll::kernel::Op op = coll::kernel::Op::kSum;
    bool in_place = false;
    std::size_t skew = 0;  ///< bytes by which buffers miss 16-byte alignment

    std::size_t bytes() const { return count * coll::kernel::size_of(type); }
    std::string name(int rank, int size) const;
};

/// What `rank` contributes: values for which every operation is exact in any order.
std::vector<unsigned char> contribution(const Case& what, int rank);

/// The reduction of all contributions, one rank after the other.
std::vector<unsigned char> expected(const Case& what, int size);

/// Every supported type and operation at each of `counts`, in place and not.
std::vector<Case> all_cases(const std::vector<std::size_t>& counts);

/// One rank's allreduce by the algorithm that the parameters choose; `send` null: in place.
Status allreduce(coll::Context& context, const void* send, void* receive, std::size_t count,
                 coll::kernel::Type type, coll::kernel::Op op, coll::exec::Transport& transport);

/// Makes coll_allreduce_algorithm say `word` for the life of this object.
class Forced {
 public:
    explicit Forced(const char* word);
    Forced(const Forced&) = delete;
    Forced& operator=(const Forced&) = delete;
    ~Forced();

 private:
    config::Params before_;
};

}  // namespace beeline::world
