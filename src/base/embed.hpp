// SPDX-License-Identifier: BSD-3-Clause
// Puts a file into the library's read-only data at build time.
#pragma once

/// Declares `const char symbol[]`, hidden: the bytes of `file`, a string literal, and a zero byte.
/// At namespace scope.
#define BEELINE_EMBED_FILE(symbol, file) \
    asm(".pushsection .rodata\n"         \
        ".globl " #symbol                \
        "\n"                             \
        ".hidden " #symbol "\n" #symbol  \
        ":\n"                            \
        ".incbin \"" file                \
        "\"\n"                           \
        ".byte 0\n"                      \
        ".popsection\n");                \
    extern "C" [[gnu::visibility("hidden")]] const char symbol[]

/// The name that a macro stands for, as text.
#define BEELINE_TEXT(name) #name
#define BEELINE_TEXT_OF(macro) BEELINE_TEXT(macro)
