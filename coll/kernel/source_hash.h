// SPDX-License-Identifier: BSD-3-Clause
// Made by regenerate.sh: names the kernel that identifies the sources of the kernels.
#pragma once
#define BEELINE_SOURCE_KERNEL beeline_source_c2a689c13f7d9fe8
