#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/device.h"

namespace headroom::engine {

class CachingAllocator;

/// Bytes and calls of one pool since the program began (`peak` since reset_peak()).
struct AllocatorStats {
  int64_t active = 0;              ///< bytes held by live storages, rounded up to their size class
  int64_t peak = 0;                ///< highest `active`
  int64_t cached = 0;              ///< bytes kept for reuse
  int64_t system_allocations = 0;  ///< times memory was asked of the system: constant in a steady training loop
  int64_t requests = 0;            ///< times a storage asked
};

/// Where pools get their blocks from: the system, or a device.
struct MemorySource {
  void* (*acquire)(size_t bytes) = nullptr;  ///< returns nullptr when there is no memory
  void (*release)(void* block, size_t bytes) = nullptr;
};

/// A cache of blocks of one kind of device. Each device has one of its own; further ones keep the memory of a captured
/// step apart from everything else: see PoolScope. Its blocks stay valid after it is gone, until their storages go.
/// Thread-safe.
class MemoryPool {
 public:
  explicit MemoryPool(Device::Kind kind);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  Device::Kind kind() const { return kind_; }
  AllocatorStats stats() const;

 private:
  friend class Block;
  Device::Kind kind_;
  std::shared_ptr<CachingAllocator> allocator_;
};

/// A block of at least `bytes` bytes, 64-byte aligned, reused from a cache of its size class when one is free; given
/// back when it goes. It comes from the context's pool when that is of the device's kind, else from the device's own.
/// Classes are four to a doubling, so at most a fifth is wasted. Debug builds fill freed CPU blocks with NaN. Throws
/// Error when the memory is not there even after the cache was emptied. Thread-safe.
class Block {
 public:
  Block(Device device, size_t bytes);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void* address() const { return address_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }

 private:
  Device device_;
  size_t bytes_;
  std::shared_ptr<CachingAllocator> pool_;  ///< null: the device's own
  void* address_;
};

/// Of the device's own pool. These four are thread-safe.
AllocatorStats allocator_stats(Device device = cpu);
/// Starts a new `peak` from what is active now.
void reset_peak(Device device = cpu);
/// Gives every cached block back to the system.
void empty_cache(Device device = cpu);
/// Called once by a device backend, before its first allocation.
void set_memory_source(Device::Kind kind, MemorySource source);

}  // namespace headroom::engine
