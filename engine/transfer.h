#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/allocator.h"
#include "engine/device.h"

namespace headroom::engine {

class Tensor;

/// Queues of a device's work, and recordings of it: see device_stream.h and recording.h.
struct DeviceQueues {
  void* (*make)() = nullptr;
  void (*end)(void* stream) = nullptr;          ///< waits for its work before
  void (*synchronize)(void* stream) = nullptr;  ///< the host waits
  bool (*is_idle)(void* stream) = nullptr;      ///< whether all its work is done
  void (*begin_recording)(void* stream) = nullptr;
  /// What was recorded since; null with `keeps` false, which drops it.
  std::shared_ptr<void> (*end_recording)(void* stream, bool keeps) = nullptr;
  void (*replay)(void* recording, void* stream) = nullptr;
};

/// Points in time of a device's work, and ranges for its own tools: see profile.h.
struct DeviceTimes {
  void* (*mark)(void* stream) = nullptr;  ///< a point after all that is queued on the stream so far
  double (*microseconds)(void* from, void* to) = nullptr;
  void (*forget)(void* mark) = nullptr;
  void (*push_range)(const char* name) = nullptr;
  void (*pop_range)() = nullptr;
};

/// What a device other than the CPU must offer before tensors can live there. Registered once by its backend.
struct DeviceBackend {
  MemorySource memory;
  void (*copy)(Device to, void* destination, Device from, const void* source, size_t bytes) = nullptr;
  void (*fill)(void* destination, int byte, size_t bytes) = nullptr;
  /// Both tensors on the device, same shape and dtype, any strides.
  void (*strided_copy)(const Tensor& destination, const Tensor& source) = nullptr;
  /// The source in the destination's dtype: both on the device, of one shape; the destination is contiguous.
  void (*convert)(const Tensor& destination, const Tensor& source) = nullptr;
  /// Every element of a contiguous tensor becomes the one at `element`, which is on the host and read at once.
  void (*fill_elements)(const Tensor& y, const void* element) = nullptr;
  DeviceQueues queues{};  ///< null members: the device has one queue, and records nothing
  DeviceTimes times{};    ///< null members: the device's work is not timed
  int count = 1;          ///< devices of the kind
};
void register_device(Device::Kind kind, const DeviceBackend& backend);
bool has_device(Device::Kind kind);
/// Throws Error that says why, unless tensors can live there.
void check_device(Device device);
/// What was found when CUDA was looked for, at the first call: the GPU, or why there is none. Never throws.
const std::string& cuda_status();
/// Facts about CUDA for people, (what, found): driver, toolkit, libraries, what is on and off. Empty in a program
/// without the backend.
using Facts = std::vector<std::pair<std::string, std::string>>;
Facts cuda_facts();
/// Called once by the backend, also where it finds no GPU.
void set_cuda_facts(Facts (*facts)());
/// The device of a name: "cpu", "cuda", "cuda:0". Throws Error for any other.
Device device_of(const std::string& name);
/// The backend of a device that is not the CPU. Throws as check_device().
const DeviceBackend& backend_of(Device device);
/// Whether an error came from which the device does not recover in this process.
bool device_is_lost();
void set_device_lost();

/// Copies bytes between any two devices, in the order of the context's stream; returns when the host may read what it
/// got, and write to what it gave.
void copy_bytes(Device to, void* destination, Device from, const void* source, size_t bytes);
void fill_bytes(Device device, void* destination, int byte, size_t bytes);
/// destination[...] = source[...] where one side is strided and not on the CPU.
void strided_copy(const Tensor& destination, const Tensor& source);
/// The two of DeviceBackend, for tensors on its device; they may be empty.
void convert_elements(const Tensor& destination, const Tensor& source);
void fill_elements(const Tensor& y, const void* element);

}  // namespace headroom::engine

/// Adds the CUDA kernels to the ops' tables, starts CUDA and says what it found: see cuda_status(). Null in a program
/// that does not link the CUDA backend, which is a library of its own, so that tensors alone do not need cuBLASLt.
/// Generated: see cuda/make_registry.sh.
extern "C" [[gnu::weak]] void headroom_start_cuda(std::string& status);
