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

/// Bytes [begin, end) of a storage, and of each `period` after the first (0: there is one alone), that belong to the
/// matrix whose rows end there and that no view of it shows: room up to the extents that a GPU's products want.
struct Padding {
  int64_t begin, end, period;
  bool is_zero;  ///< nothing but zeros is ever there once its maker is done; else anything may be
};

/// The memory of the tensors that view it: a block of a pool, or memory of someone else, which is only read. `version`
/// counts in-place writes: the tape compares it to refuse a backward pass through a value that was changed after it was
/// saved. Threads: the version is atomic, the memory is guarded by whoever shares it.
class Storage {
 public:
  Storage(Device device, size_t bytes) : device_(device), block_(std::in_place, device, bytes) {
    address_ = block_->address();
  }
  /// Memory on the CPU that lives as long as `owner`: a mapped file's bytes, for example.
  Storage(const void* address, std::shared_ptr<const void> owner)
      : device_(cpu), owner_(std::move(owner)), address_(const_cast<void*>(address)) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  Device device() const { return device_; }
  void* address() const { return address_; }
  bool is_read_only() const { return !block_; }
  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  /// Work that reads or writes it has been queued on this stream: see Block.
  void used_on(void* stream) {
    if (block_) block_->used_on(stream);
  }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }
  /// What is declared by the one who made the storage, before others see it.
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
