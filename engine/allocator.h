#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/device.h"

namespace headroom::engine {

class CachingAllocator;

/// Bytes and calls of one pool since the program began (`peak` since reset_peak()).
struct AllocatorStats {
  int64_t active = 0;              ///< bytes held by live storages, rounded up to their size class
  int64_t peak = 0;                ///< highest `active`
  int64_t cached = 0;              ///< bytes kept for reuse
  int64_t system_allocations = 0;  ///< requests to the system for memory: constant in a steady training loop
  int64_t requests = 0;            ///< times a storage asked
  int64_t reserved() const { return active + cached; }  ///< bytes taken from the system
};

/// Where pools get their blocks from: the system, or a device. A device whose work is queued on several streams says
/// how one of them waits for another; the rest is null where there is one order of work only.
struct MemorySource {
  void* (*acquire)(size_t bytes) = nullptr;  ///< returns nullptr when there is no memory
  void (*release)(void* block, size_t bytes) = nullptr;
  void* (*mark)(void* stream) = nullptr;             ///< a point after all that is queued on the stream so far
  void (*wait)(void* stream, void* mark) = nullptr;  ///< what is queued later on the stream starts after the mark
  void (*forget)(void* mark) = nullptr;              ///< the mark is not needed any more
  std::pair<int64_t, int64_t> (*room)() = nullptr;   ///< bytes of the device that are free, and all of them
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
///
/// Where work is queued, a block belongs to the context's stream, and whoever gets it next gets it on the same stream:
/// its work comes after all that was queued before the block was given back, so nothing waits. Other streams that use
/// it say so by used_on(): the next owner's stream then waits for them, not the host.
class Block {
 public:
  Block(Device device, size_t bytes);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void* address() const { return address_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  /// Work that uses the block has been queued on this stream.
  void used_on(void* stream);

 private:
  Device device_;
  size_t bytes_;
  std::shared_ptr<CachingAllocator> pool_;  ///< null: the device's own
  void* stream_;                            ///< whose work comes in order
  std::vector<void*> users_;                ///< further streams; guarded by the allocator
  void* address_;
};

/// The device's own pool. These four are thread-safe.
AllocatorStats allocator_stats(Device device = cpu);
/// Starts a new `peak` from what is active now.
void reset_peak(Device device = cpu);
/// Gives every cached block back to the system.
void empty_cache(Device device = cpu);
/// Called once by a device backend, before its first allocation.
void set_memory_source(Device::Kind kind, MemorySource source);
/// A stream is there from now on, or is gone, with all of its work done: what it has given back may go to any other.
void stream_began(void* stream);
void stream_ended(void* stream);

}  // namespace headroom::engine
