// SPDX-License-Identifier: BSD-3-Clause
// Who this process is: stable, distinct from others', and gone with the process.
#include "topo/identity.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <gtest/gtest.h>

namespace beeline::topo {
namespace {

TEST(Identity, NodeIsKnownAndStable) {
    const NodeId node = this_node();
    EXPECT_NE(node, NodeId{});
    EXPECT_NE(node.boot, 0U);
    EXPECT_NE(node.namespaces, 0U);
    EXPECT_EQ(this_node(), node);
}

TEST(Identity, ProcessesOfOneNodeAgreeOnIt) {
    const NodeId node = this_node();
    const pid_t child = fork();
    if (child == 0) {
        _exit(this_node() == node ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(Identity, ProcessesWithOtherRightsShareNoMemory) {
    if (geteuid() != 0) {
        GTEST_SKIP() << "changing the user needs root";
    }
    const NodeId node = this_node();
    const pid_t child = fork();
    if (child == 0) {
        const bool changed = setresuid(12345, 12345, 12345) == 0;
        const NodeId mine = this_node();
        _exit(changed && mine != node && mine.rights != node.rights && mine.boot == node.boot ? 0
                                                                                              : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(Identity, ProcessHasAStartTime) {
    const ProcessId self = this_process();
    EXPECT_EQ(self.pid, getpid());
    EXPECT_NE(self.start_time, 0U);
    EXPECT_EQ(this_process(), self);
    EXPECT_EQ(start_time_of(self.pid), self.start_time);
}

TEST(Identity, StartTimeIsReadBehindAnyName) {
    char before[16];
    ASSERT_EQ(prctl(PR_GET_NAME, before), 0);
    const std::uint64_t start = start_time_of(getpid());
    for (const char* name : {"a b", ") 1 2 3 4", "((", "x)y) R 7"}) {
        ASSERT_EQ(prctl(PR_SET_NAME, name), 0);
        EXPECT_EQ(start_time_of(getpid()), start) << name;
    }
    prctl(PR_SET_NAME, before);
}

TEST(Identity, NoProcessHasNoStartTime) {
    EXPECT_EQ(start_time_of(0), 0U);
    EXPECT_EQ(start_time_of(-1), 0U);
    EXPECT_EQ(start_time_of(INT64_MAX), 0U);
    const pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    EXPECT_GE(start_time_of(child), start_time_of(getpid()));
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    EXPECT_EQ(start_time_of(child), 0U);
}

}  // namespace
}  // namespace beeline::topo
