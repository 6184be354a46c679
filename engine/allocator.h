#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/device.h"

namespace headroom::engine {

class CachingAllocator;

/// Bytes and calls of one pool since the program started (`peak`: since reset_peak()).
struct AllocatorStats {
  int64_t active = 0;              ///< bytes held by live storages, rounded up to their size class
  int64_t peak = 0;                ///< highest `active`
  int64_t cached = 0;              ///< bytes kept for reuse
  int64_t system_allocations = 0;  ///< requests to the system for memory: constant in a steady training loop
  int64_t requests = 0;            ///< allocations that storages asked for
  int64_t reserved() const { return active + cached; }  ///< bytes taken from the system
};

/// Where a pool gets its blocks: the system or a device. For devices with several streams it also says how one stream
/// waits for another; with a single queue of work those members are null.
struct MemorySource {
  void* (*acquire)(size_t bytes) = nullptr;  ///< nullptr when out of memory
  void (*release)(void* block, size_t bytes) = nullptr;
  void* (*mark)(void* stream) = nullptr;             ///< a point after all work queued on the stream so far
  void (*wait)(void* stream, void* mark) = nullptr;  ///< makes later work on the stream wait for the mark
  void (*forget)(void* mark) = nullptr;              ///< frees the mark
  std::pair<int64_t, int64_t> (*room)() = nullptr;   ///< free bytes of the device, and its total
};

/// A cache of blocks of one kind of device. Each device has one; extra pools keep a captured step's memory separate
/// (see PoolScope). Blocks outlive the pool: they stay valid as long as their storages. Thread-safe.
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

/// A block of at least `bytes` bytes, 64-byte aligned, taken from its size class's cache if one is free and returned by
/// the destructor. It comes from the context's pool if that serves the device, else from the device's own. There are
/// four classes per doubling, so at most a fifth is wasted. Debug builds fill freed CPU blocks with NaN. Throws Error
/// if memory is short even after emptying the cache. Thread-safe.
///
/// On a device with streams, a block belongs to the context's stream and is only reused on that stream: its next
/// owner's work runs after everything queued before its release, so nothing waits. Register other streams that use it
/// with used_on(): the next owner's stream then waits for them; the host does not.
class Block {
 public:
  Block(Device device, size_t bytes);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void* address() const { return address_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  /// The stream that it belongs to.
  void* stream() const { return stream_; }
  /// True if it comes from a MemoryPool, not from the device's own.
  bool is_pooled() const { return pool_ != nullptr; }
  /// Notes that work using the block was queued on this stream.
  void used_on(void* stream);

 private:
  Device device_;
  size_t bytes_;
  std::shared_ptr<CachingAllocator> pool_;  ///< null: the device's own
  void* stream_;                            ///< the stream that owns the block
  std::vector<void*> users_;                ///< other streams that used it; guarded by the allocator
  void* address_;
};

/// Statistics of the device's own pool. This function and the three below are thread-safe.
AllocatorStats allocator_stats(Device device = cpu);
/// Restarts `peak` from the bytes active now.
void reset_peak(Device device = cpu);
/// Returns every cached block to the system.
void empty_cache(Device device = cpu);
/// Sets a device's memory source; its backend calls this once, before its first allocation.
void set_memory_source(Device::Kind kind, MemorySource source);
/// Registers a stream, or removes one whose work is done: blocks it returned may then go to any other stream.
void stream_began(void* stream);
void stream_ended(void* stream);

}  // namespace headroom::engine
