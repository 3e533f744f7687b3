// SPDX-License-Identifier: BSD-3-Clause
// What served a collective, and the nodes it ran on.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace beeline::test {

/// Counts what Beeline serves by an algorithm from now on.
class Served {
 public:
    Served(std::string_view collective, std::string_view word) {
        int index = 0;
        int count = 0;
        const std::string name =
            "coll_beeline_" + std::string(collective) + "_" + std::string(word);
        if (MPI_T_pvar_get_index(name.c_str(), MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS) {
            MPI_T_pvar_session_create(&session_);
            MPI_T_pvar_handle_alloc(session_, index, nullptr, &handle_, &count);
        }
    }
    ~Served() {
        if (handle_ != nullptr) {
            MPI_T_pvar_handle_free(session_, &handle_);
            MPI_T_pvar_session_free(&session_);
        }
    }
    Served(const Served&) = delete;
    Served& operator=(const Served&) = delete;
    unsigned long long count() const {
        unsigned long long value = 0;
        if (handle_ != nullptr) {
            MPI_T_pvar_read(session_, handle_, &value);
        }
        return value;
    }

 private:
    MPI_T_pvar_session session_ = nullptr;
    MPI_T_pvar_handle handle_ = nullptr;
};

/// The node of each rank, numbered in the order in which they are met; empty where all are on one.
inline std::vector<int> nodes_of_world() {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int first = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &first);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Bcast(&first, 1, MPI_INT, 0, node);
    MPI_Comm_free(&node);
    std::vector<int> firsts(static_cast<std::size_t>(ranks));
    MPI_Allgather(&first, 1, MPI_INT, firsts.data(), 1, MPI_INT, MPI_COMM_WORLD);
    std::vector<int> met;
    std::vector<int> nodes;
    for (const int leader : firsts) {
        auto place = std::find(met.begin(), met.end(), leader);
        place = place == met.end() ? met.insert(place, leader) : place;
        nodes.push_back(static_cast<int>(place - met.begin()));
    }
    if (met.size() == 1) {
        nodes.clear();
    }
    return nodes;
}

}  // namespace beeline::test
