#pragma once
#include <cstddef>
#include <string>

#include "engine/allocator.h"
#include "engine/device.h"

namespace headroom::engine {

class Tensor;

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
};
void register_device(Device::Kind kind, const DeviceBackend& backend);
bool has_device(Device::Kind kind);
/// Throws Error that says why, unless tensors can live there.
void check_device(Device device);
/// What was found when CUDA was looked for, at the first call: the GPU, or why there is none.
const std::string& cuda_status();

/// Copies bytes between any two devices, in the order of the context's stream; returns when the host may use them.
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
