// SPDX-License-Identifier: BSD-3-Clause
// Made by regenerate_fused.sh: names the kernel that identifies the sources of the fused kernels.
#pragma once
#define BEELINE_FUSED_SOURCE_KERNEL beeline_fused_source_5bb736463d96c94c
