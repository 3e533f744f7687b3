// SPDX-License-Identifier: BSD-3-Clause
// Finding and reading the counters through MPI's tool information interface.
#include "paths.hpp"

#include <algorithm>

namespace beeline::bench {

PathCounters::PathCounters(const std::vector<std::string>& prefixes) {
    int provided = 0;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) {
        return;
    }
    if (MPI_T_pvar_session_create(&session_) != MPI_SUCCESS) {
        session_ = MPI_T_PVAR_SESSION_NULL;
        return;
    }
    int count = 0;
    MPI_T_pvar_get_num(&count);
    for (int index = 0; index < count; ++index) {
        add(index, prefixes);
    }
    std::stable_sort(counters_.begin(), counters_.end(),
                     [](const Counter& a, const Counter& b) { return a.prefix < b.prefix; });
}

/// Keeps variable `index` if it is one of ours.
void PathCounters::add(int index, const std::vector<std::string>& prefixes) {
    char text[256];
    int length = sizeof text;
    int verbosity = 0, kind = 0, bind = 0, readonly = 0, continuous = 0, atomic = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (MPI_T_pvar_get_info(index, text, &length, &verbosity, &kind, &type, nullptr, nullptr,
                            nullptr, &bind, &readonly, &continuous, &atomic) != MPI_SUCCESS ||
        type != MPI_UNSIGNED_LONG_LONG || bind != MPI_T_BIND_NO_OBJECT) {
        return;
    }
    const std::string name = text;
    const auto prefix =
        std::find_if(prefixes.begin(), prefixes.end(),
                     [&](const std::string& each) { return name.rfind(each, 0) == 0; });
    if (prefix == prefixes.end()) {
        return;
    }
    Counter counter{static_cast<std::size_t>(prefix - prefixes.begin()),
                    name.substr(prefix->size()), nullptr};
    int values = 0;
    if (MPI_T_pvar_handle_alloc(session_, index, nullptr, &counter.handle, &values) ==
            MPI_SUCCESS &&
        values == 1) {
        if (continuous == 0) {
            MPI_T_pvar_start(session_, counter.handle);
        }
        counters_.push_back(counter);
    }
}

PathCounters::~PathCounters() {
    for (Counter& counter : counters_) {
        MPI_T_pvar_handle_free(session_, &counter.handle);
    }
    if (session_ != MPI_T_PVAR_SESSION_NULL) {
        MPI_T_pvar_session_free(&session_);
    }
    MPI_T_finalize();
}

unsigned long long PathCounters::read(const Counter& counter) const {
    unsigned long long value = 0;
    MPI_T_pvar_read(session_, counter.handle, &value);
    return value;
}

void PathCounters::clear() {
    for (Counter& counter : counters_) {
        counter.used = 0;
    }
}

void PathCounters::resume() {
    for (Counter& counter : counters_) {
        counter.before = read(counter);
    }
}

void PathCounters::pause() {
    for (Counter& counter : counters_) {
        counter.used += read(counter) - counter.before;
    }
}

std::string PathCounters::most_used(MPI_Comm comm) const {
    std::vector<unsigned long long> used;
    for (const Counter& counter : counters_) {
        used.push_back(counter.used);
    }
    // A rank whose set differs would make the sum meaningless, so agree on its size first.
    int sizes[2] = {static_cast<int>(used.size()), -static_cast<int>(used.size())};
    MPI_Allreduce(MPI_IN_PLACE, sizes, 2, MPI_INT, MPI_MIN, comm);
    if (sizes[0] != -sizes[1] || used.empty()) {
        return "-";
    }
    MPI_Allreduce(MPI_IN_PLACE, used.data(), sizes[0], MPI_UNSIGNED_LONG_LONG, MPI_SUM, comm);
    std::string text;
    for (std::size_t prefix = 0; text.empty() && prefix <= counters_.back().prefix; ++prefix) {
        unsigned long long most = 0;
        for (std::size_t index = 0; index < used.size(); ++index) {
            most = counters_[index].prefix == prefix ? std::max(most, used[index]) : most;
        }
        for (std::size_t index = 0; index < used.size() && most > 0; ++index) {
            if (counters_[index].prefix == prefix && used[index] * 10 >= most * 9) {
                text += (text.empty() ? "" : "+") + counters_[index].name;
            }
        }
    }
    return text.empty() ? "-" : text;
}

}  // namespace beeline::bench
