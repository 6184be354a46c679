#include "engine/cuda/staging.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/cuda/event.h"
#include "engine/cuda/pinned.h"

namespace headroom::engine::cuda {
namespace {

constexpr size_t least_bytes = size_t{64} << 10, most_bytes = size_t{8} << 20, most_slots = 32;

/// Pinned memory, and when the copy that uses it is done.
struct Slot {
  explicit Slot(size_t bytes) : buffer(bytes) {}
  PinnedBuffer buffer;
  Event copied;
  bool is_taken = false;
};

/// All slots of the process. Thread-safe.
class Slots {
 public:
  /// One of at least `bytes` bytes for the caller alone; waits for a copy where there are many already.
  Slot& take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    Slot* busy = nullptr;
    for (const auto& slot : slots_) {
      if (slot->is_taken || slot->buffer.bytes() < bytes) continue;
      if (slot->copied.is_done()) return taken(*slot);
      if (!busy) busy = slot.get();
    }
    if (!busy || slots_.size() < most_slots) {
      slots_.push_back(std::make_unique<Slot>(std::bit_ceil(std::max(bytes, least_bytes))));
      return taken(*slots_.back());
    }
    busy->copied.synchronize();
    return taken(*busy);
  }
  void give_back(Slot& slot) {
    const std::lock_guard lock(mutex_);
    slot.is_taken = false;
  }

 private:
  static Slot& taken(Slot& slot) {
    slot.is_taken = true;
    return slot;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

/// Never destroyed: the driver may be gone before static objects are.
Slots& slots() {
  static auto* const all = new Slots;
  return *all;
}

class TakenSlot {
 public:
  explicit TakenSlot(size_t bytes) : slot_(slots().take(bytes)) {}
  ~TakenSlot() { slots().give_back(slot_); }
  TakenSlot(const TakenSlot&) = delete;
  TakenSlot& operator=(const TakenSlot&) = delete;
  void* data() const { return slot_.buffer.data(); }
  const Event& copied() const { return slot_.copied; }

 private:
  Slot& slot_;
};

}  // namespace

void upload(void* destination, const void* source, size_t bytes, cudaStream_t stream) {
  for (size_t begin = 0; begin < bytes; begin += most_bytes) {
    const size_t n = std::min(most_bytes, bytes - begin);
    const TakenSlot slot(n);
    std::memcpy(slot.data(), static_cast<const char*>(source) + begin, n);
    HEADROOM_CUDA(
        cudaMemcpyAsync(static_cast<char*>(destination) + begin, slot.data(), n, cudaMemcpyHostToDevice, stream));
    slot.copied().record(stream);
  }
}

void download(void* destination, const void* source, size_t bytes, cudaStream_t stream) {
  for (size_t begin = 0; begin < bytes; begin += most_bytes) {
    const size_t n = std::min(most_bytes, bytes - begin);
    const TakenSlot slot(n);
    HEADROOM_CUDA(
        cudaMemcpyAsync(slot.data(), static_cast<const char*>(source) + begin, n, cudaMemcpyDeviceToHost, stream));
    slot.copied().record(stream);
    slot.copied().synchronize();
    std::memcpy(static_cast<char*>(destination) + begin, slot.data(), n);
  }
}

}  // namespace headroom::engine::cuda
