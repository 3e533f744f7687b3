// SPDX-License-Identifier: BSD-3-Clause
// What a rank received in a phase of a random program, held against the model.
#pragma once

#include <string>
#include <vector>

#include "arena.hpp"
#include "completion.hpp"
#include "harness.hpp"
#include "program.hpp"

namespace beeline::test {

/// The memory and the receives of one rank in one phase.
class Judge {
 public:
    Judge(const Judge&) = delete;
    Judge& operator=(const Judge&) = delete;

 protected:
    struct Posted {
        std::size_t index;  ///< in the phase's receives
        std::size_t offset;
        Ended end;
    };
    explicit Judge(Harness& harness) : h_(harness) {
        for (const gpu::Kind kind : h_.kinds) {
            from_.emplace_back(h_.gpu.get(), kind);
            into_.emplace_back(h_.gpu.get(), kind);
        }
        for (const Shape& shape : shapes()) {
            types_.push_back(make_type(shape));
        }
    }
    ~Judge() {
        for (MPI_Datatype& type : types_) {
            MPI_Type_free(&type);
        }
    }

    MPI_Datatype type_of(const Data& data) const {
        return data.shape == 0 ? MPI_BYTE : types_[static_cast<std::size_t>(data.shape)];
    }
    int rank_in(int communicator, int rank) const {
        if (rank == kAnything) {
            return MPI_ANY_SOURCE;
        }
        return communicator == 2 ? h_.ranks - 1 - rank : rank;
    }
    std::uint64_t payload(std::size_t message) const {
        return bench::make_seed(static_cast<unsigned>(phase_number_), program_, 1,
                                static_cast<unsigned>(message)) ^
               seed_;
    }

    Arena& from(const Data& data) { return from_[static_cast<std::size_t>(data.memory)]; }
    Arena& into(const Data& data) { return into_[static_cast<std::size_t>(data.memory)]; }

    /// Compares with the model, in the order in which the receives were posted.
    void judge(const Phase& phase) {
        for (std::size_t kind = 0; kind < h_.kinds.size(); ++kind) {
            into_[kind].download();
            from_[kind].download();
        }
        std::vector<bool> seen(phase.messages.size(), false);
        for (const Posted& posted : posted_) {
            judge(phase, posted, seen);
        }
        for (std::size_t kind = 0; kind < h_.kinds.size(); ++kind) {
            h_.check(into_[kind].intact(),
                     "program %u phase %zu: %s memory received into differs at byte %zu%s",
                     program_, phase_number_, gpu::to_string(into_[kind].kind()),
                     into_[kind].first_difference(),
                     owner(phase, kind, into_[kind].first_difference()).c_str());
            h_.check(from_[kind].intact(),
                     "program %u phase %zu: %s memory sent from changed at byte %zu", program_,
                     phase_number_, gpu::to_string(from_[kind].kind()),
                     from_[kind].first_difference());
        }
    }

    Harness& h_;
    std::vector<Arena> from_;
    std::vector<Arena> into_;
    std::vector<Posted> posted_;
    unsigned program_ = 0;
    std::size_t phase_number_ = 0;
    std::uint64_t seed_ = 0;
    int way_ = 0;  ///< in which the requests were completed
    /// Of all bytes and statuses that have one right outcome, whatever the stack and the memory.
    std::uint64_t digest_ = 0;

 private:
    static MPI_Datatype make_type(const Shape& shape) {
        std::vector<int> lengths;
        std::vector<MPI_Aint> starts;
        for (const Shape::Run& run : shape.runs) {
            lengths.push_back(static_cast<int>(run.bytes));
            starts.push_back(run.start);
        }
        MPI_Datatype bare = MPI_DATATYPE_NULL;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), starts.data(),
                                 MPI_BYTE, &bare);
        MPI_Type_create_resized(bare, shape.lower, static_cast<MPI_Aint>(shape.extent), &type);
        MPI_Type_free(&bare);
        MPI_Type_commit(&type);
        return type;
    }

    void judge(const Phase& phase, const Posted& posted, std::vector<bool>& seen) {
        const Receive& receive = phase.receives[posted.index];
        const int source = posted.end.status.MPI_SOURCE;
        int index = receive.message;
        if (index < 0) {
            // Whatever came: the next message of its source.
            for (std::size_t i = 0; i < phase.messages.size() && index < 0; ++i) {
                const Message& message = phase.messages[i];
                if (!seen[i] && message.destination == h_.rank &&
                    message.communicator == receive.communicator &&
                    rank_in(receive.communicator, message.source) == source) {
                    index = static_cast<int>(i);
                }
            }
        }
        if (index < 0) {
            h_.check(false, "program %u phase %zu: a message from %d too many", program_,
                     phase_number_, source);
            return;
        }
        const auto at = static_cast<std::size_t>(index);
        const Message& message = phase.messages[at];
        seen[at] = true;
        const std::size_t bytes = message.data.bytes();
        const bool fits = bytes <= receive.data.bytes();
        if (!fits && !posted.end.told) {
            into(receive.data).accept(receive.data, posted.offset);
            return;
        }
        h_.check(source == rank_in(receive.communicator, message.source) &&
                     posted.end.status.MPI_TAG == message.tag,
                 "program %u phase %zu: %s got source %d and tag %d instead of %d and %d", program_,
                 phase_number_, kTakeNames[static_cast<std::size_t>(receive.call)], source,
                 posted.end.status.MPI_TAG, rank_in(receive.communicator, message.source),
                 message.tag);
        int error_class = MPI_SUCCESS;
        MPI_Error_class(posted.end.result, &error_class);
        h_.check(
            error_class == (fits ? MPI_SUCCESS : MPI_ERR_TRUNCATE),
            "program %u phase %zu, completion %d: %s -> %s, %zu bytes into %zu: error class %d",
            program_, phase_number_, way_, kSendNames[static_cast<std::size_t>(message.call)],
            kTakeNames[static_cast<std::size_t>(receive.call)], bytes, receive.data.bytes(),
            error_class);
        if (!fits) {
            into(receive.data).accept(receive.data, posted.offset);
            return;
        }
        judge_count(receive, posted, bytes);
        if (receive.message >= 0) {
            digest_ =
                bench::mix(digest_ + into(receive.data).digest(receive.data, posted.offset, bytes) +
                           static_cast<std::uint64_t>(source * 1000 + posted.end.status.MPI_TAG));
        }
        into(receive.data).put(receive.data, posted.offset, payload(at), bytes);
    }

    void judge_count(const Receive& receive, const Posted& posted, std::size_t bytes) {
        const std::size_t packed = shapes()[static_cast<std::size_t>(receive.data.shape)].packed();
        const int expected = bytes % packed == 0 ? static_cast<int>(bytes / packed) : MPI_UNDEFINED;
        int count = -1;
        int elements = -1;
        int cancelled = -1;
        MPI_Get_count(&posted.end.status, type_of(receive.data), &count);
        MPI_Get_elements(&posted.end.status, type_of(receive.data), &elements);
        MPI_Test_cancelled(&posted.end.status, &cancelled);
        h_.check(count == expected && elements == static_cast<int>(bytes) && cancelled == 0,
                 "program %u phase %zu: %s of %zu bytes: count %d instead of %d, elements %d",
                 program_, phase_number_, kTakeNames[static_cast<std::size_t>(receive.call)], bytes,
                 count, expected, elements);
    }

    /// Says which message belongs at a byte of the arena.
    std::string owner(const Phase& phase, std::size_t kind, std::size_t byte) const {
        const Posted* last = nullptr;
        for (const Posted& posted : posted_) {
            if (phase.receives[posted.index].data.memory == static_cast<int>(kind) &&
                posted.offset <= byte + 12) {
                last = &posted;
            }
        }
        if (last == nullptr || phase.receives[last->index].message < 0) {
            return "";
        }
        const Receive& receive = phase.receives[last->index];
        const Message& message = phase.messages[static_cast<std::size_t>(receive.message)];
        char text[200];
        std::snprintf(text, sizeof text, ": %s by %d from %s (%zu %s) -> %s (%zu %s at %zu)",
                      kSendNames[static_cast<std::size_t>(message.call)], message.source,
                      gpu::to_string(h_.kinds[static_cast<std::size_t>(message.data.memory)]),
                      message.data.count,
                      shapes()[static_cast<std::size_t>(message.data.shape)].name,
                      kTakeNames[static_cast<std::size_t>(receive.call)], receive.data.count,
                      shapes()[static_cast<std::size_t>(receive.data.shape)].name, last->offset);
        return text;
    }

    std::vector<MPI_Datatype> types_;
};

}  // namespace beeline::test
