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

/// Queues of a device's work and their recordings: see device_stream.h and recording.h.
struct DeviceQueues {
  void* (*make)(bool is_side) = nullptr;                  ///< a side stream's work gives way to that of others
  void (*end)(void* stream) = nullptr;                    ///< waits for its work first
  void (*synchronize)(void* stream) = nullptr;            ///< the host waits
  bool (*is_idle)(void* stream) = nullptr;                ///< true if all its work is done
  std::shared_ptr<void> (*mark)(void* stream) = nullptr;  ///< a point after all work queued on the stream so far
  void (*wait)(void* stream, void* mark) = nullptr;       ///< for the stream's later work; may be part of a recording
  void (*begin_recording)(void* stream) = nullptr;
  /// The work recorded since; with `keeps` false, drops it and returns null.
  std::shared_ptr<void> (*end_recording)(void* stream, bool keeps) = nullptr;
  void (*replay)(void* recording, void* stream) = nullptr;
};

/// Timestamps of a device's work, and ranges for its tools: see profile.h.
struct DeviceTimes {
  void* (*mark)(void* stream) = nullptr;  ///< a point after all work queued on the stream so far
  double (*microseconds)(void* from, void* to) = nullptr;
  void (*forget)(void* mark) = nullptr;
  void (*push_range)(const char* name) = nullptr;
  void (*pop_range)() = nullptr;
};

/// The functions a device other than the CPU must offer to hold tensors. Its backend registers it once.
struct DeviceBackend {
  MemorySource memory;
  void (*copy)(Device to, void* destination, Device from, const void* source, size_t bytes) = nullptr;
  void (*fill)(void* destination, int byte, size_t bytes) = nullptr;
  /// Copies between tensors on the device: same shape and dtype, any strides.
  void (*strided_copy)(const Tensor& destination, const Tensor& source) = nullptr;
  /// Converts the source to the destination's dtype: both on the device, same shape, destination contiguous.
  void (*convert)(const Tensor& destination, const Tensor& source) = nullptr;
  /// Fills a contiguous tensor with the element at `element`, which is on the host and read at once.
  void (*fill_elements)(const Tensor& y, const void* element) = nullptr;
  DeviceQueues queues{};  ///< null members: one queue, no recordings
  DeviceTimes times{};    ///< null members: device work is not timed
  int count = 1;          ///< devices of this kind
};
void register_device(Device::Kind kind, const DeviceBackend& backend);
bool has_device(Device::Kind kind);
/// Throws Error that says why if tensors cannot live there.
void check_device(Device device);
/// The result of looking for CUDA, at the first call: the GPU, or why there is none. Never throws.
const std::string& cuda_status();
/// Facts about CUDA for people, (what, found): driver, toolkit, libraries, features on and off. Empty without the CUDA
/// backend.
using Facts = std::vector<std::pair<std::string, std::string>>;
Facts cuda_facts();
/// The backend calls this once, even if it finds no GPU.
void set_cuda_facts(Facts (*facts)());
/// The device with that name: "cpu", "cuda", "cuda:0". Throws Error for any other.
Device device_of(const std::string& name);
/// The backend of a device other than the CPU. Throws as check_device().
const DeviceBackend& backend_of(Device device);
/// True if the device failed in a way that this process cannot recover from.
bool device_is_lost();
void set_device_lost();

/// Copies bytes between any two devices, in the order of the context's stream. Returns once the host may read the
/// destination and write to the source.
void copy_bytes(Device to, void* destination, Device from, const void* source, size_t bytes);
void fill_bytes(Device device, void* destination, int byte, size_t bytes);
/// destination[...] = source[...] if one side is strided and not on the CPU.
void strided_copy(const Tensor& destination, const Tensor& source);
/// DeviceBackend's functions of these names for tensors on its device; the tensors may be empty.
void convert_elements(const Tensor& destination, const Tensor& source);
void fill_elements(const Tensor& y, const void* element);

}  // namespace headroom::engine

/// Adds the CUDA kernels to the ops' tables, starts CUDA and reports what it found: see cuda_status(). Null in a
/// program that does not link the CUDA backend: it is a separate library, so that tensors alone do not need cuBLASLt.
/// Generated: see cuda/make_registry.sh.
extern "C" [[gnu::weak]] void headroom_start_cuda(std::string& status);
