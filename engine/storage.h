#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/allocator.h"
#include "engine/device.h"

namespace headroom::engine {

/// One block of an allocator, given back when the last tensor that views it goes. `version` counts in-place writes: the
/// tape compares it to refuse a backward pass through a value that was changed after it was saved.
class Storage {
 public:
  Storage(Device device, size_t bytes) : device_(device), bytes_(bytes), block_(allocate(device, bytes)) {}
  ~Storage() { deallocate(device_, block_, bytes_); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  Device device() const { return device_; }
  size_t bytes() const { return bytes_; }
  void* block() const { return block_; }
  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }

 private:
  Device device_;
  size_t bytes_;
  void* block_;
  std::atomic<uint32_t> version_{0};
};

}  // namespace headroom::engine
