// SPDX-License-Identifier: BSD-3-Clause
// Packing by layout against a model that knows the place of every single byte.
#include <cstddef>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "datatype/layout.hpp"
#include "support/uniform.hpp"

namespace beeline::datatype {
namespace {

/// A layout with a count, and a range of the packed stream.
struct Case {
    Layout layout;
    std::size_t count = 0;
    std::size_t skip = 0;
    std::size_t length = 0;
};

/// Blocks before and behind the address, gaps, empty blocks, extents too small (elements overlap)
/// or negative.
Case any_case(bool may_overlap) {
    Case result;
    const auto blocks = *test::uniform<std::size_t>(0, 5);
    std::ptrdiff_t at = *test::uniform(-40, 40);
    const std::ptrdiff_t lowest = at;
    for (std::size_t index = 0; index < blocks; ++index) {
        const auto bytes = *test::uniform<std::size_t>(0, 9);
        const auto gap = *test::uniform(0, 4);
        const auto repeats = *test::uniform(1, 4);  // regular stretches, which index() groups
        for (int repeat = 0; repeat < repeats; ++repeat) {
            result.layout.blocks.push_back(Block{at, bytes});
            result.layout.size += bytes;
            at += static_cast<std::ptrdiff_t>(bytes) + gap;
        }
    }
    if (may_overlap) {
        result.layout.extent = *test::uniform(-30, 60);
    } else {
        const std::ptrdiff_t span = at - lowest;
        result.layout.extent = *rc::gen::element(span, span + 3, -span - 1);
    }
    if (*rc::gen::arbitrary<bool>()) {
        index(result.layout);
    }
    result.count = *test::uniform<std::size_t>(0, 6);
    result.skip = *test::uniform<std::size_t>(0, result.layout.bytes(result.count) + 3);
    result.length = *test::uniform<std::size_t>(0, result.layout.bytes(result.count) + 3);
    return result;
}

/// The offset of each byte of the packed stream.
std::vector<std::ptrdiff_t> type_map(const Case& given) {
    std::vector<std::ptrdiff_t> offsets;
    for (std::size_t element = 0; element < given.count; ++element) {
        for (const Block& block : given.layout.blocks) {
            for (std::size_t byte = 0; byte < block.bytes; ++byte) {
                offsets.push_back(static_cast<std::ptrdiff_t>(element) * given.layout.extent +
                                  block.offset + static_cast<std::ptrdiff_t>(byte));
            }
        }
    }
    return offsets;
}

/// The part of the type map that [skip, skip + length) names.
std::vector<std::ptrdiff_t> ranged_map(const Case& given) {
    std::vector<std::ptrdiff_t> offsets = type_map(given);
    const auto first = std::min(given.skip, offsets.size());
    const auto last = std::min(first + given.length, offsets.size());
    return {offsets.begin() + static_cast<std::ptrdiff_t>(first),
            offsets.begin() + static_cast<std::ptrdiff_t>(last)};
}

constexpr std::ptrdiff_t kMiddle = 3000;  // of a buffer wide enough for every case

std::vector<std::byte> numbered_buffer() {
    std::vector<std::byte> buffer(2 * kMiddle);
    for (std::size_t index = 0; index < buffer.size(); ++index) {
        buffer[index] = static_cast<std::byte>(index * 37 + index / 256);
    }
    return buffer;
}

RC_GTEST_PROP(LayoutModel, RunsCoverTheRangeInOrderAndAreMerged, ()) {
    const Case given = any_case(true);
    std::vector<std::ptrdiff_t> visited;
    std::ptrdiff_t previous_end = PTRDIFF_MIN;
    for_each_run(given.layout, given.count, given.skip, given.length,
                 [&](std::ptrdiff_t offset, std::size_t bytes, std::size_t packed) {
                     RC_ASSERT(bytes > 0u);
                     RC_ASSERT(packed == visited.size());
                     RC_ASSERT(offset != previous_end);
                     for (std::size_t byte = 0; byte < bytes; ++byte) {
                         visited.push_back(offset + static_cast<std::ptrdiff_t>(byte));
                     }
                     previous_end = offset + static_cast<std::ptrdiff_t>(bytes);
                 });
    RC_ASSERT(visited == ranged_map(given));
}

RC_GTEST_PROP(LayoutModel, PackTakesTheBytesOfTheTypeMap, ()) {
    const Case given = any_case(true);
    const auto buffer = numbered_buffer();
    const auto offsets = ranged_map(given);
    std::vector<std::byte> packed(offsets.size());
    pack(given.layout, given.count, buffer.data() + kMiddle, given.skip, packed);
    for (std::size_t index = 0; index < offsets.size(); ++index) {
        RC_ASSERT(packed[index] == buffer[static_cast<std::size_t>(kMiddle + offsets[index])]);
    }
}

RC_GTEST_PROP(LayoutModel, UnpackWritesTheTypeMapAndNothingElse, ()) {
    const Case given = any_case(false);
    auto buffer = numbered_buffer();
    auto expected = buffer;
    const auto offsets = ranged_map(given);
    std::vector<std::byte> packed(offsets.size());
    for (std::size_t index = 0; index < offsets.size(); ++index) {
        packed[index] = static_cast<std::byte>(index + 101);
        expected[static_cast<std::size_t>(kMiddle + offsets[index])] = packed[index];
    }
    unpack(given.layout, given.count, buffer.data() + kMiddle, given.skip, packed);
    RC_ASSERT(buffer == expected);
}

RC_GTEST_PROP(LayoutModel, PiecesOfAnySizeMakeTheWhole, ()) {
    Case given = any_case(true);
    const auto buffer = numbered_buffer();
    std::vector<std::byte> whole(given.layout.bytes(given.count));
    pack(given.layout, given.count, buffer.data() + kMiddle, 0, whole);
    std::vector<std::byte> pieces(whole.size());
    for (std::size_t done = 0; done < pieces.size();) {
        const auto bytes = std::min(*test::uniform<std::size_t>(1, 12), pieces.size() - done);
        pack(given.layout, given.count, buffer.data() + kMiddle, done,
             std::span(pieces).subspan(done, bytes));
        done += bytes;
    }
    RC_ASSERT(pieces == whole);
}

}  // namespace
}  // namespace beeline::datatype
