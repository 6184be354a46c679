#pragma once
#include <cstddef>
#include <cstdint>

#include "engine/device.h"

namespace headroom::engine {

/// Bytes and calls of one device's allocator since the program began (`peak` since reset_peak()).
struct AllocatorStats {
  int64_t active = 0;              ///< bytes held by live storages, rounded up to their size class
  int64_t peak = 0;                ///< highest `active`
  int64_t cached = 0;              ///< bytes kept for reuse
  int64_t system_allocations = 0;  ///< times memory was asked of the system: constant in a steady training loop
  int64_t requests = 0;            ///< times a storage asked
};

/// Where an allocator gets its blocks from: the system, or a device.
struct MemorySource {
  void* (*acquire)(size_t bytes) = nullptr;  ///< returns nullptr when there is no memory
  void (*release)(void* block, size_t bytes) = nullptr;
};

/// A block of at least `bytes` bytes, 64-byte aligned, reused from the cache of its size class when one is free.
/// Classes are four to a doubling, so at most a fifth is wasted. Debug builds fill freed CPU blocks with NaN. Throws
/// Error when the memory is not there even after the cache was emptied. Thread-safe.
void* allocate(Device device, size_t bytes);
void deallocate(Device device, void* block, size_t bytes) noexcept;

AllocatorStats allocator_stats(Device device = cpu);
/// Starts a new `peak` from what is active now.
void reset_peak(Device device = cpu);
/// Gives every cached block back to the system.
void empty_cache(Device device = cpu);
/// Called once by a device backend, before its first allocation.
void set_memory_source(Device::Kind kind, MemorySource source);

}  // namespace headroom::engine
