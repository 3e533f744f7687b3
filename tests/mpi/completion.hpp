// SPDX-License-Identifier: BSD-3-Clause
// MPI's ways to wait for many requests, told alike.
#pragma once

#include <mpi.h>

#include <utility>
#include <vector>

namespace beeline::test {

struct Ended {
    MPI_Status status{};
    int result = MPI_SUCCESS;
    bool told = true;  ///< false: lost, see complete()
};
inline constexpr int kWaysToComplete = 5;

inline MPI_Status blank_status() {
    MPI_Status status{};
    status.MPI_ERROR = MPI_SUCCESS;
    return status;
}

inline void wait_any(std::vector<MPI_Request>& requests, std::vector<Ended>& ended) {
    for (Ended& one : ended) {
        one.told = false;
    }
    for (;;) {
        int index = 0;
        MPI_Status status = blank_status();
        const int result =
            MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &index, &status);
        if (index == MPI_UNDEFINED) {
            return;
        }
        ended[static_cast<std::size_t>(index)] = {status, result, true};
    }
}

inline void wait_some(std::vector<MPI_Request>& requests, std::vector<Ended>& ended) {
    std::vector<int> indices(requests.size() + 1);
    for (;;) {
        std::vector<MPI_Status> some(requests.size() + 1, blank_status());
        int done = 0;
        MPI_Waitsome(static_cast<int>(requests.size()), requests.data(), &done, indices.data(),
                     some.data());
        if (done == MPI_UNDEFINED) {
            return;
        }
        for (std::size_t i = 0; i < static_cast<std::size_t>(done); ++i) {
            ended[static_cast<std::size_t>(indices[i])].status = some[i];
        }
    }
}

inline void all_at_once(std::vector<MPI_Request>& requests, std::vector<Ended>& ended, bool wait) {
    std::vector<MPI_Status> statuses(requests.size() + 1, blank_status());
    const int count = static_cast<int>(requests.size());
    int flag = 0;
    if (wait) {
        MPI_Waitall(count, requests.data(), statuses.data());
        flag = 1;
    }
    while (flag == 0) {
        MPI_Testall(count, requests.data(), &flag, statuses.data());
    }
    for (std::size_t i = 0; i < requests.size(); ++i) {
        ended[i].status = statuses[i];
    }
}

/// Ends all requests by way number `way` and frees persistent ones. When MPI_Waitany returns an
/// error, Open MPI frees every request that has failed by then, so that others than the one
/// returned are never told.
inline std::vector<Ended> complete(int way, std::vector<MPI_Request> requests) {
    std::vector<Ended> ended(requests.size(), Ended{blank_status(), MPI_SUCCESS, true});
    if (way < 2) {
        all_at_once(requests, ended, way == 0);
    } else if (way == 2) {
        wait_any(requests, ended);
    } else if (way == 3) {
        wait_some(requests, ended);
    } else {
        for (std::size_t i = requests.size(); i > 0; --i) {
            int flag = 0;
            while (flag == 0) {
                ended[i - 1].result = MPI_Test(&requests[i - 1], &flag, &ended[i - 1].status);
            }
        }
    }
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (ended[i].status.MPI_ERROR == MPI_ERR_PENDING) {
            // An error of another request ended the wait early, as MPI allows.
            ended[i].status = blank_status();
            ended[i].result = MPI_Wait(&requests[i], &ended[i].status);
        }
        if (requests[i] != MPI_REQUEST_NULL) {
            MPI_Request_free(&requests[i]);
        }
        if (ended[i].result == MPI_SUCCESS) {
            ended[i].result = ended[i].status.MPI_ERROR;
        }
    }
    return ended;
}

}  // namespace beeline::test
