// SPDX-License-Identifier: BSD-3-Clause
// Puts the PTX files of a set of kernels, one for each family, into the library's read-only data.
// BEELINE_PTX_FOLDER is where they are, given by the makefile.
#pragma once

#include "base/embed.hpp"
#include "coll/kernel/types.hpp"

/// The file SET_FAMILY.ptx as beeline_SET_FAMILY, ended by a zero byte.
#define BEELINE_EMBED_ONE(set, family) \
    BEELINE_EMBED_FILE(beeline_##set##_##family, BEELINE_PTX_FOLDER "/" #set "_" #family ".ptx");

/// All families of a set, and `image(family)` that finds one. At namespace scope of the file.
#define BEELINE_EMBED(set, image)                                      \
    BEELINE_EMBED_ONE(set, integer)                                    \
    BEELINE_EMBED_ONE(set, logical)                                    \
    BEELINE_EMBED_ONE(set, floating)                                   \
    BEELINE_EMBED_ONE(set, small)                                      \
    BEELINE_EMBED_ONE(set, pair)                                       \
    const char* beeline::coll::kernel::image(Family family) noexcept { \
        switch (family) {                                              \
            case Family::kInteger:                                     \
                return beeline_##set##_integer;                        \
            case Family::kLogical:                                     \
                return beeline_##set##_logical;                        \
            case Family::kFloating:                                    \
                return beeline_##set##_floating;                       \
            case Family::kSmall:                                       \
                return beeline_##set##_small;                          \
            case Family::kPair:                                        \
                break;                                                 \
        }                                                              \
        return beeline_##set##_pair;                                   \
    }
