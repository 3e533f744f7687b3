// SPDX-License-Identifier: BSD-3-Clause
// What the cases share: a context, patterns in memory, a gate that holds a stream, a second
// process.
#pragma once

#include <atomic>
#include <vector>

#include "tests/conformance/suite.hpp"

namespace conformance {

/// cuInit and the primary context of `device`, made current.
CUcontext open_device(int device = 0);

/// cuMemAlloc that must succeed.
CUdeviceptr allocate(size_t bytes);

/// The `length` bytes of the pattern that starts at `seed`.
std::vector<unsigned char> pattern(size_t length, unsigned seed);

/// Copies the pattern of `seed` to `where`, and finishes.
void put(CUdeviceptr where, size_t length, unsigned seed);

/// Whether `where` holds the pattern of `seed`.
bool holds(CUdeviceptr where, size_t length, unsigned seed);

/// A device attribute; 0 when the driver does not know it.
int attribute(CUdevice_attribute which, CUdevice device = 0);

/// One attribute of a pointer, asked alone. The result of the call must be success.
template <class Value>
Value pointer_attribute(CUpointer_attribute which, CUdeviceptr pointer) {
    Value value = {};
    MUST(cu.cuPointerGetAttribute(&value, which, pointer));
    return value;
}

inline CUdeviceptr address_of(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

inline void* pointer_to(CUdeviceptr address) {
    return reinterpret_cast<void*>(address);
}

/// Holds a stream: work enqueued behind it waits until `open` is called (or five seconds pass, so
/// that a wrong driver fails a case instead of hanging it).
class Gate {
 public:
    explicit Gate(CUstream stream);
    ~Gate();
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    void open();

 private:
    static void hold(void* self);
    CUstream stream_;
    std::atomic<bool> open_{false};
};

/// Waits until the driver has had time to do what it should not do.
void linger();

/// One end of the line between two processes of a case.
class Line {
 public:
    explicit Line(int descriptor) : descriptor_(descriptor) {}
    void send_bytes(const void* data, size_t length) const;
    void receive_bytes(void* data, size_t length) const;
    template <class Value>
    void send(const Value& value) const {
        send_bytes(&value, sizeof value);
    }
    template <class Value>
    Value receive() const {
        Value value = {};
        receive_bytes(&value, sizeof value);
        return value;
    }
    /// Waits for the other side's `send_token`.
    void await() const { static_cast<void>(receive<char>()); }
    void signal() const { send('.'); }
    void send_descriptor(int descriptor) const;
    int receive_descriptor() const;

 private:
    int descriptor_;
};

/// Runs the two sides in two processes, neither of which has called the driver before. A failure of
/// either fails the case.
void run_pair(void (*first)(const Line&), void (*second)(const Line&));

/// Runs `body` in a forked process and returns its wait status.
int in_child(void (*body)());

}  // namespace conformance
