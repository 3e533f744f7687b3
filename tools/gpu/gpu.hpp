// SPDX-License-Identifier: BSD-3-Clause
// A program's own GPU and its memory, for tools and tests: the driver API, loaded at run time only
// when asked for.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace beeline::gpu {

/// Where a buffer lives. kHost never touches the driver; all others need a GPU.
enum class Kind {
    kHost,
    kDevice,  ///< cuMemAlloc
    kManaged,
    kPinned,      ///< host memory of the driver's
    kRegistered,  ///< host memory registered with the driver
    kPool,        ///< cuMemAllocAsync
    kVmm,         ///< cuMemCreate, mapped
};
inline constexpr Kind kAllKinds[] = {Kind::kHost,   Kind::kDevice,     Kind::kManaged,
                                     Kind::kPinned, Kind::kRegistered, Kind::kPool,
                                     Kind::kVmm};

/// "host", "device", "managed" and so on.
const char* to_string(Kind kind) noexcept;
/// Whether the CPU may touch it.
constexpr bool is_host(Kind kind) noexcept {
    return kind == Kind::kHost || kind == Kind::kPinned || kind == Kind::kRegistered;
}

/// One GPU, made current in the calling thread. Loads libcuda.so.1 itself, so that a program which
/// only uses host buffers starts where there is no driver.
class Gpu {
 public:
    /// Takes device `index` modulo the number of devices and retains its primary context. Null on
    /// failure; `why` then says in one sentence what was looked for and what came back.
    static std::unique_ptr<Gpu> open(int index, std::string& why);
    ~Gpu();
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    int ordinal() const noexcept { return ordinal_; }
    int count() const noexcept { return count_; }
    /// The device's name as the driver gives it.
    std::string name() const;

    /// `bytes` of memory of any kind but kHost; null when the driver refuses. Zero bytes are served
    /// as one.
    void* allocate(Kind kind, std::size_t bytes) noexcept;
    /// Frees what allocate() returned for the same kind and size; null is allowed.
    void release(Kind kind, void* address, std::size_t bytes) noexcept;

    /// Copies between host memory and memory of this GPU; the copy is complete on return. False on
    /// failure.
    bool write(void* to, const void* from, std::size_t bytes) noexcept;
    bool read(void* to, const void* from, std::size_t bytes) noexcept;
    /// Copies inside this GPU's memory; complete on return. False on failure.
    bool copy(void* to, const void* from, std::size_t bytes) noexcept;

 private:
    struct Driver;
    explicit Gpu(std::unique_ptr<Driver> driver) noexcept;
    std::unique_ptr<Driver> driver_;
    int ordinal_ = 0;
    int count_ = 0;
};

/// A block of memory of one kind, filled and read from the host. Holds a reference to `gpu`, which
/// must outlive it and may be null for host memory. Throws std::bad_alloc when the memory cannot be
/// had.
class Buffer {
 public:
    Buffer(Gpu* gpu, Kind kind, std::size_t bytes);
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    Kind kind() const noexcept { return kind_; }
    std::size_t size() const noexcept { return bytes_; }
    /// The address at `offset` bytes, to be passed to MPI. Not for the CPU to touch unless the
    /// memory is the host's.
    unsigned char* at(std::size_t offset = 0) const noexcept { return address_ + offset; }

    /// Copies `bytes` from host memory into the block at `offset`, or out of it. Throws
    /// std::runtime_error when the driver fails.
    void write(std::size_t offset, const void* from, std::size_t bytes);
    void read(std::size_t offset, void* to, std::size_t bytes) const;

 private:
    Gpu* gpu_;
    Kind kind_;
    std::size_t bytes_;
    unsigned char* address_;
};

}  // namespace beeline::gpu
