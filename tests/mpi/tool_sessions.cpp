// SPDX-License-Identifier: BSD-3-Clause
// MPI_T before, around and inside MPI: the components are opened, closed and opened again, and
// their variables are right each time.
#include <map>

#include "harness.hpp"

namespace beeline::test {
namespace {

int failures = 0;

[[gnu::format(printf, 2, 3)]] void expect(bool holds, const char* format, ...) {
    if (!holds) {
        ++failures;
        char text[256];
        std::va_list arguments;
        va_start(arguments, format);
        std::vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        std::printf("FAIL tool_sessions: %s\n", text);
        std::fflush(stdout);
    }
}

/// Beeline's parameters and their values.
std::map<std::string, std::string> parameters() {
    std::map<std::string, std::string> found;
    int variables = 0;
    MPI_T_cvar_get_num(&variables);
    for (int i = 0; i < variables; ++i) {
        char name[256];
        int length = sizeof name;
        int ignored = 0;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_T_enum names = MPI_T_ENUM_NULL;
        if (MPI_T_cvar_get_info(i, name, &length, &ignored, &type, &names, nullptr, nullptr,
                                &ignored, &ignored) != MPI_SUCCESS ||
            std::strstr(name, "_beeline_") == nullptr || std::strstr(name, "_version") != nullptr) {
            continue;
        }
        MPI_T_cvar_handle handle = nullptr;
        int count = 0;
        expect(MPI_T_cvar_handle_alloc(i, nullptr, &handle, &count) == MPI_SUCCESS && count > 0,
               "%s: no handle", name);
        std::vector<char> value(static_cast<std::size_t>(count) + 1);
        expect(type == MPI_CHAR && MPI_T_cvar_read(handle, value.data()) == MPI_SUCCESS,
               "%s cannot be read", name);
        MPI_T_cvar_handle_free(&handle);
        expect(found.emplace(name, value.data()).second, "%s is there twice", name);
    }
    return found;
}

void exchange() {
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int out = rank;
    int in = -1;
    const int left = (rank + ranks - 1) % ranks;
    MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % ranks, 3, &in, 1, MPI_INT, left, 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    expect(in == left, "a message carries %d instead of %d", in, left);
}

/// Beeline's counters count the messages of a session; without MPI they stand still.
void counters(const char* when, bool running) {
    int variables = 0;
    std::vector<MPI_T_pvar_handle> handles;
    MPI_T_pvar_session session = nullptr;
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_get_num(&variables);
    for (int i = 0; i < variables; ++i) {
        char name[256];
        int length = sizeof name;
        int ignored = 0;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_T_enum names = MPI_T_ENUM_NULL;
        if (MPI_T_pvar_get_info(i, name, &length, &ignored, &ignored, &type, &names, nullptr,
                                nullptr, &ignored, &ignored, &ignored, &ignored) != MPI_SUCCESS ||
            std::strncmp(name, "pml_beeline_messages_", 21) != 0) {
            continue;
        }
        MPI_T_pvar_handle handle = nullptr;
        int count = 0;
        expect(MPI_T_pvar_handle_alloc(session, i, nullptr, &handle, &count) == MPI_SUCCESS,
               "%s: %s has no handle", when, name);
        handles.push_back(handle);
    }
    if (running) {
        exchange();
    }
    unsigned long long sum = 0;
    for (MPI_T_pvar_handle& handle : handles) {
        unsigned long long one = 0;
        expect(MPI_T_pvar_read(session, handle, &one) == MPI_SUCCESS, "%s: a counter is not read",
               when);
        MPI_T_pvar_handle_free(session, &handle);
        sum += one;
    }
    MPI_T_pvar_session_free(&session);
    expect(handles.size() > 3, "%s: %zu counters of Beeline", when, handles.size());
    expect(sum == (running ? 1 : 0), "%s: the counters say %llu messages", when, sum);
}

/// One session of a tool.
void session(const char* when, bool running) {
    int provided = -1;
    expect(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS,
           "%s: MPI_T does not start", when);
    const auto values = parameters();
    expect(values.size() > 20 && values.count("coll_beeline_priority") == 1,
           "%s: only %zu parameters of Beeline", when, values.size());
    const auto limit = values.find("pml_beeline_eager_limit");
    expect(limit != values.end() && limit->second == "4321", "%s: pml_beeline_eager_limit is %s",
           when, limit != values.end() ? limit->second.c_str() : "missing");
    counters(when, running);
    expect(MPI_T_finalize() == MPI_SUCCESS, "%s: MPI_T does not end", when);
}

void run(int* argc, char*** argv) {
    session("before MPI_Init", false);
    session("a second time before MPI_Init", false);
    int provided = -1;
    // One session stays open over MPI_Init.
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    session("inside another session", false);
    MPI_Init(argc, argv);
    session("after MPI_Init", true);
    session("a second time after MPI_Init", true);
    // Open MPI 4.1 itself crashes when a session ends, or one starts, after MPI_Finalize.
    MPI_T_finalize();
    exchange();
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0) {
        std::printf("%s tool_sessions: %d failures\n", failures == 0 ? "OK" : "FAIL", failures);
    }
}

}  // namespace
}  // namespace beeline::test

int main(int argc, char** argv) {
    beeline::test::run(&argc, &argv);
    return beeline::test::failures == 0 ? 0 : 1;
}
