#include "engine/allocator.h"

#include <sys/mman.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "engine/context.h"
#include "engine/error.h"
#include "engine/lend_block.h"

namespace headroom::engine {
namespace {

constexpr size_t alignment = 64, huge_page = size_t{2} << 20;

void* system_acquire(size_t bytes) {
  // Large blocks start on a huge page: a training step walks hundreds of megabytes, and 4 KiB pages cost TLB misses.
  const size_t align = bytes >= huge_page ? huge_page : alignment;
  void* block = std::aligned_alloc(align, (bytes + align - 1) / align * align);
  if (block && align == huge_page) madvise(block, bytes, MADV_HUGEPAGE);
  return block;
}

/// Rounds up to one of four classes per doubling: 64, 80, 96, 112, 128, 160, …, always a multiple of 16.
size_t size_class(size_t bytes) {
  if (bytes <= alignment) return alignment;
  const auto shift = std::bit_width(bytes - 1) - 3;  // of a step: a quarter of the doubling
  return ((bytes + (size_t{1} << shift) - 1) >> shift) << shift;
}

}  // namespace

class CachingAllocator {
 public:
  explicit CachingAllocator(MemorySource source) : source_(source) {}
  ~CachingAllocator() { release_cached(); }
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  void set_source(MemorySource source) { source_ = source; }
  MemorySource source() const { return source_; }

  void* allocate(Device device, size_t bytes) {
    const size_t size = size_class(bytes);
    const std::lock_guard lock(mutex_);
    ++stats_.requests;
    void* block = nullptr;
    if (auto& blocks = free_[size]; !blocks.empty()) {
      block = blocks.back();
      blocks.pop_back();
      stats_.cached -= static_cast<int64_t>(size);
    } else {
      block = from_system(device, size);
    }
    stats_.active += static_cast<int64_t>(size);
    if (stats_.active > stats_.peak) stats_.peak = stats_.active;
    return block;
  }

  void deallocate(Device device, void* block, size_t bytes) noexcept {
    const size_t size = size_class(bytes);
#ifndef NDEBUG
    if (device.is_cpu()) std::memset(block, 0xff, size);  // all ones is a NaN in every float format
#else
    (void)device;
#endif
    const std::lock_guard lock(mutex_);
    free_[size].push_back(block);
    stats_.cached += static_cast<int64_t>(size);
    stats_.active -= static_cast<int64_t>(size);
  }

  void empty() noexcept {
    const std::lock_guard lock(mutex_);
    release_cached();
  }

  AllocatorStats stats() {
    const std::lock_guard lock(mutex_);
    return stats_;
  }

  void reset_peak() {
    const std::lock_guard lock(mutex_);
    stats_.peak = stats_.active;
  }

 private:
  void* from_system(Device device, size_t size) {
    require(source_.acquire != nullptr, "allocator: this build has no {} device", device.str());
    void* block = source_.acquire(size);
    if (!block) {
      release_cached();
      block = source_.acquire(size);
    }
    require(block != nullptr, "allocator: {} has no {} bytes left ({} active)", device.str(), size, stats_.active);
    ++stats_.system_allocations;
    return block;
  }

  void release_cached() noexcept {
    for (auto& [size, blocks] : free_) {
      for (void* block : blocks) source_.release(block, size);
      stats_.cached -= static_cast<int64_t>(size * blocks.size());
      blocks.clear();
    }
  }

  std::mutex mutex_;
  MemorySource source_;
  std::map<size_t, std::vector<void*>> free_;
  AllocatorStats stats_;
};

namespace {

/// Never destroyed: storages held by static objects outlive any order of destruction.
CachingAllocator& allocator(Device::Kind kind) {
  static auto* of_cpu = new CachingAllocator({system_acquire, [](void* block, size_t) { std::free(block); }});
  static auto* of_cuda = new CachingAllocator({});
  return kind == Device::Kind::cpu ? *of_cpu : *of_cuda;
}

}  // namespace

MemoryPool::MemoryPool(Device::Kind kind)
    : kind_(kind), allocator_(std::make_shared<CachingAllocator>(allocator(kind).source())) {}
MemoryPool::~MemoryPool() = default;
AllocatorStats MemoryPool::stats() const { return allocator_->stats(); }

Block::Block(Device device, size_t bytes) : device_(device), bytes_(bytes) {
  if (const MemoryPool* pool = context().pool; pool && pool->kind() == device.kind) pool_ = pool->allocator_;
  address_ = (pool_ ? *pool_ : allocator(device.kind)).allocate(device, bytes);
  if (headroom_lend_block && !device.is_cpu()) headroom_lend_block(address_, bytes);
}

Block::~Block() { (pool_ ? *pool_ : allocator(device_.kind)).deallocate(device_, address_, bytes_); }

AllocatorStats allocator_stats(Device device) { return allocator(device.kind).stats(); }
void reset_peak(Device device) { allocator(device.kind).reset_peak(); }
void empty_cache(Device device) { allocator(device.kind).empty(); }
void set_memory_source(Device::Kind kind, MemorySource source) { allocator(kind).set_source(source); }

}  // namespace headroom::engine
