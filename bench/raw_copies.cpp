// SPDX-License-Identifier: BSD-3-Clause
// What the driver's copies alone allow, without MPI: the limit that device_compare holds Beeline
// against.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/context.hpp"
#include "cuda/driver.hpp"
#include "cuda/stream.hpp"
#include "protocol/chunks.hpp"
#include "tools/gpu/gpu.hpp"

namespace beeline::bench {
namespace {

constexpr std::size_t kDepth = 4;
constexpr int kBatches = 5;

void must(CUresult result, const char* call) {
    if (result != CUDA_SUCCESS) {
        throw std::runtime_error(std::string(call) + " failed");
    }
}

template <class T>
T must(Result<T> result, const char* what) {
    if (!result) {
        throw std::runtime_error(std::string("no ") + what);
    }
    return std::move(*result);
}

/// One end of a copy: its GPU (null: host memory), buffer and stream.
struct Side {
    Side(int index, bool on_device, std::size_t bytes) {
        std::string why;
        // A host side has a stream too, so that both ends are handled alike; it stays unused.
        gpu = gpu::Gpu::open(index, why);
        if (!gpu) {
            throw std::runtime_error(why);
        }
        driver = cuda::Driver::find();
        must(driver->cuCtxGetCurrent(&context), "cuCtxGetCurrent");
        stream = must(cuda::Stream::create(*driver), "stream");
        device = on_device;
        buffer = std::make_unique<gpu::Buffer>(
            gpu.get(), device ? gpu::Kind::kDevice : gpu::Kind::kHost, bytes);
        // Touched once, so that page faults are not measured.
        const std::vector<unsigned char> zeros(bytes);
        buffer->write(0, zeros.data(), bytes);
    }
    unsigned char* at(std::size_t offset) const { return buffer->at(offset); }

    std::unique_ptr<gpu::Gpu> gpu;
    const cuda::Driver* driver = nullptr;
    CUcontext context = nullptr;
    cuda::Stream stream;
    bool device = false;
    std::unique_ptr<gpu::Buffer> buffer;
};

CUdeviceptr address(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

void copy(const Side& side, void* to, const void* from, std::size_t bytes) {
    const cuda::ContextScope scope(*side.driver, side.context);
    must(side.driver->cuMemcpyAsync(address(to), address(from), bytes, side.stream.get()),
         "cuMemcpyAsync");
}

void wait(const Side& side) {
    must(side.driver->cuStreamSynchronize(side.stream.get()), "cuStreamSynchronize");
}

/// Messages from one side to the other.
class Route {
 public:
    virtual ~Route() = default;
    /// Moves `messages` times `bytes` bytes and returns when they are there.
    virtual void move(int messages, std::size_t bytes) = 0;
};

/// One copy for each message, by the receiver, as CUDA IPC between processes allows.
class Direct : public Route {
 public:
    Direct(Side& from, Side& to) : from_(from), to_(to) {}
    void move(int messages, std::size_t bytes) override {
        for (int message = 0; message < messages; ++message) {
            copy(to_, to_.at(0), from_.at(0), bytes);
        }
        wait(to_);
    }

 private:
    Side& from_;
    Side& to_;
};

/// Two copies, through registered host memory, chunk by chunk and overlapped. A side in host memory
/// copies with the CPU.
class Staged : public Route {
 public:
    Staged(Side& from, Side& to, std::size_t chunk) : from_(from), to_(to), chunk_(chunk) {
        const std::size_t bytes = (kDepth * chunk + 4095) / 4096 * 4096;
        staging_ = static_cast<unsigned char*>(std::aligned_alloc(4096, bytes));
        if (staging_ == nullptr) {
            throw std::bad_alloc();
        }
        std::memset(staging_, 0, bytes);
        const cuda::ContextScope scope(*from.driver, from.context);
        must(from.driver->cuMemHostRegister(staging_, bytes, CU_MEMHOSTREGISTER_PORTABLE),
             "cuMemHostRegister");
        for (Slot& slot : slots_) {
            const cuda::ContextScope filling(*from.driver, from.context);
            slot.filled = must(cuda::Event::create(*from.driver), "event");
            const cuda::ContextScope draining(*to.driver, to.context);
            slot.drained = must(cuda::Event::create(*to.driver), "event");
        }
    }
    ~Staged() override {
        const cuda::ContextScope scope(*from_.driver, from_.context);
        from_.driver->cuMemHostUnregister(staging_);
        std::free(staging_);
    }

    void move(int messages, std::size_t bytes) override {
        const std::size_t chunk = protocol::even_chunk(bytes, chunk_);
        const std::size_t pieces = std::max<std::size_t>(1, (bytes + chunk - 1) / chunk);
        const std::size_t total = pieces * static_cast<std::size_t>(messages);
        // The CPU that drains must not wait for the copy it has just started; a stream may.
        const std::size_t lag = to_.device ? 0 : kDepth - 1;
        for (std::size_t piece = 0; piece < total + lag; ++piece) {
            if (piece < total) {
                fill(piece, pieces, bytes);
            }
            if (piece >= lag) {
                drain(piece - lag, pieces, bytes);
            }
        }
        if (to_.device) {
            wait(to_);
        }
    }

 private:
    struct Slot {
        cuda::Event filled;
        cuda::Event drained;
        bool used = false;
    };
    struct Part {
        std::size_t offset;
        std::size_t length;
    };

    Part part(std::size_t piece, std::size_t pieces, std::size_t bytes) const {
        const std::size_t chunk = protocol::even_chunk(bytes, chunk_);
        const std::size_t offset = piece % pieces * chunk;
        return {offset, std::min(chunk, bytes - offset)};
    }

    void fill(std::size_t piece, std::size_t pieces, std::size_t bytes) {
        const Part p = part(piece, pieces, bytes);
        Slot& slot = slots_[piece % kDepth];
        unsigned char* chunk = staging_ + piece % kDepth * chunk_;
        const cuda::Driver& driver = *from_.driver;
        if (!from_.device) {
            if (slot.used) {
                must(driver.cuEventSynchronize(slot.drained.get()), "cuEventSynchronize");
            }
            std::memcpy(chunk, from_.at(p.offset), p.length);
            return;
        }
        if (to_.device && slot.used) {
            must(driver.cuStreamWaitEvent(from_.stream.get(), slot.drained.get(), 0),
                 "cuStreamWaitEvent");
        }
        copy(from_, chunk, from_.at(p.offset), p.length);
        const cuda::ContextScope scope(driver, from_.context);
        must(driver.cuEventRecord(slot.filled.get(), from_.stream.get()), "cuEventRecord");
    }

    void drain(std::size_t piece, std::size_t pieces, std::size_t bytes) {
        const Part p = part(piece, pieces, bytes);
        Slot& slot = slots_[piece % kDepth];
        const unsigned char* chunk = staging_ + piece % kDepth * chunk_;
        const cuda::Driver& driver = *to_.driver;
        if (!to_.device) {
            must(driver.cuEventSynchronize(slot.filled.get()), "cuEventSynchronize");
            std::memcpy(to_.at(p.offset), chunk, p.length);
            return;
        }
        if (from_.device) {
            must(driver.cuStreamWaitEvent(to_.stream.get(), slot.filled.get(), 0),
                 "cuStreamWaitEvent");
        }
        copy(to_, to_.at(p.offset), chunk, p.length);
        const cuda::ContextScope scope(driver, to_.context);
        must(driver.cuEventRecord(slot.drained.get(), to_.stream.get()), "cuEventRecord");
        slot.used = true;
    }

    Side& from_;
    Side& to_;
    std::size_t chunk_;
    unsigned char* staging_ = nullptr;
    std::array<Slot, kDepth> slots_;
};

/// Seconds of one call of move(): the median of some batches, all of which take about `budget`.
double time(Route& route, int messages, std::size_t bytes, double budget) {
    const auto run = [&](int times) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < times; ++i) {
            route.move(messages, bytes);
        }
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    route.move(messages, bytes);
    const double once = std::max(run(1), 1e-7);
    const int times = static_cast<int>(std::clamp(budget / kBatches / once, 1.0, 10000.0));
    std::array<double, kBatches> batches;
    for (double& batch : batches) {
        batch = run(times) / times;
    }
    std::nth_element(batches.begin(), batches.begin() + kBatches / 2, batches.end());
    return batches[kBatches / 2];
}

void measure(const char* name, Route& route, const std::vector<std::size_t>& sizes, int window,
             double budget) {
    for (const std::size_t bytes : sizes) {
        const double latency = time(route, 1, bytes, budget);
        std::printf("latency %s %zu %.3f\n", name, bytes, latency * 1e6);
        const double each = time(route, window, bytes, budget) / window;
        std::printf("bw %s %zu %.3f\n", name, bytes, static_cast<double>(bytes) / each / 1e6);
    }
}

template <class Number>
bool parse(std::string_view text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size() && number > 0;
}

bool parse_sizes(std::string_view text, std::vector<std::size_t>& sizes) {
    while (!text.empty()) {
        const auto comma = std::min(text.find(','), text.size());
        if (!parse(text.substr(0, comma), sizes.emplace_back())) {
            return false;
        }
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    std::sort(sizes.begin(), sizes.end());
    return !sizes.empty();
}

int run(const std::vector<std::size_t>& sizes, int window, std::size_t chunk, double budget) {
    Side from(0, true, sizes.back());
    Side to(1, true, sizes.back());
    Side host(1, false, sizes.back());
    Direct direct(from, to);
    Staged both(from, to, chunk);
    Staged out(from, host, chunk);
    Staged in(host, to, chunk);
    measure("direct D D", direct, sizes, window, budget);
    measure("staged D D", both, sizes, window, budget);
    measure("staged D H", out, sizes, window, budget);
    measure("staged H D", in, sizes, window, budget);
    return 0;
}

}  // namespace
}  // namespace beeline::bench

int main(int argc, char** argv) {
    using namespace beeline::bench;
    std::vector<std::size_t> sizes;
    int window = 0;
    std::size_t chunk = 0;
    int milliseconds = 0;
    if (argc != 5 || !parse_sizes(argv[1], sizes) || !parse(argv[2], window) ||
        !parse(argv[3], chunk) || !parse(argv[4], milliseconds)) {
        std::fprintf(stderr,
                     "usage: raw_copies SIZE,... WINDOW CHUNK MILLISECONDS\n"
                     "Times copies between two GPUs and the host: alone (latency, us) and WINDOW "
                     "in a row (bw, MB/s), for about so many milliseconds each.\n");
        return 2;
    }
    try {
        return run(sizes, window, chunk, milliseconds * 1e-3);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "raw_copies: %s\n", error.what());
        return 2;
    }
}
