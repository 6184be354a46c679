#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/allocator.h"
#include "engine/device.h"

namespace headroom::engine {

/// Unused bytes [begin, end) after a matrix's rows, repeated every `period` bytes (0: once). They belong to the matrix,
/// no view shows them, and they make room for the extents that a GPU's products want.
struct Padding {
  int64_t begin, end, period;
  bool is_zero;  ///< the bytes are all zeros once the maker is done; if false, they may be anything
};

/// The memory behind tensors: a pool's block, or someone else's memory, which is read-only. `version` counts in-place
/// writes: the tape compares it and refuses a backward pass through a value changed after it was saved. Threads: the
/// version is atomic; whoever shares the memory must guard it.
class Storage {
 public:
  Storage(Device device, size_t bytes) : device_(device), block_(std::in_place, device, bytes) {
    address_ = block_->address();
  }
  /// CPU memory that lives as long as `owner`, such as a mapped file's bytes.
  Storage(const void* address, std::shared_ptr<const void> owner)
      : device_(cpu), owner_(std::move(owner)), address_(const_cast<void*>(address)) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  Device device() const { return device_; }
  void* address() const { return address_; }
  bool is_read_only() const { return !block_; }
  /// Its block of a pool; null: someone else's memory.
  const Block* block() const { return block_ ? &*block_ : nullptr; }
  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  /// Notes that work using it was queued on this stream: see Block.
  void used_on(void* stream) {
    if (block_) block_->used_on(stream);
  }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }
  /// The paddings its maker declared before sharing it.
  const std::vector<Padding>& paddings() const { return paddings_; }
  void declare(const Padding& padding) { paddings_.push_back(padding); }

 private:
  Device device_;
  std::optional<Block> block_;
  std::shared_ptr<const void> owner_;
  void* address_;
  std::atomic<uint32_t> version_{0};
  std::vector<Padding> paddings_;
};

}  // namespace headroom::engine
