#include "engine/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "engine/at_work.h"
#include "engine/context.h"
#include "engine/error.h"
#include "engine/lend_block.h"
#include "engine/side_stream.h"

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
  /// The stream that a new block belongs to.
  void* stream() const { return source_.mark ? context().stream : nullptr; }

  void* allocate(Device device, size_t bytes, void* stream) {
    const size_t size = size_class(bytes);
    const std::lock_guard lock(mutex_);
    ++stats_.requests;
    void* block = cached(size, stream);
    if (!block) block = from_system(device, size);
    stats_.active += static_cast<int64_t>(size);
    if (stats_.active > stats_.peak) stats_.peak = stats_.active;
    return block;
  }

  void deallocate(Device device, void* block, size_t bytes, void* stream, std::vector<void*>& users) noexcept {
    const size_t size = size_class(bytes);
#ifndef NDEBUG
    if (device.is_cpu()) std::memset(block, 0xff, size);  // all ones is a NaN in every float format
#else
    (void)device;
#endif
    const std::lock_guard lock(mutex_);
    Free free{block, {}};
    if (source_.mark) {
      // Whoever gives it back may have used it last, on a stream of its own.
      if (void* const here = context().stream; here != stream) add_once(users, here);
      const SideStream* const side = side_stream();
      const bool is_ordered = side && side->orders(stream);
      for (void* user : users)
        if (!(is_ordered && side->orders(user)) && live_streams().contains(user))
          free.marks.push_back(source_.mark(user));
      if (!live_streams().contains(stream)) stream = no_stream;
    }
    free_[{size, stream}].push_back(std::move(free));
    stats_.cached += static_cast<int64_t>(size);
    stats_.active -= static_cast<int64_t>(size);
  }

  void add_user(std::vector<void*>& users, void* stream) {
    const std::lock_guard lock(mutex_);
    add_once(users, stream);
  }

  /// All of the stream's work is done: its blocks are anybody's.
  void end_stream(void* stream) {
    const std::lock_guard lock(mutex_);
    for (auto list = free_.begin(); list != free_.end();) {
      if (list->first.second != stream) {
        ++list;
        continue;
      }
      std::vector<Free>& idle = free_[{list->first.first, no_stream}];
      std::move(list->second.begin(), list->second.end(), std::back_inserter(idle));
      list = free_.erase(list);
    }
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

  /// Streams that are there: the default one, and those that stream_began() told of.
  struct Streams {
    std::mutex mutex;
    std::set<void*> all{nullptr};
    bool contains(void* stream) {
      const std::lock_guard lock(mutex);
      return all.contains(stream);
    }
  };
  static Streams& live_streams() {
    static auto* const streams = new Streams;
    return *streams;
  }

 private:
  struct Free {
    void* block;
    std::vector<void*> marks;  ///< of other streams, which its next owner waits for
  };
  /// Under which blocks wait that belong to no stream.
  static inline char no_stream_;
  static constexpr void* no_stream = &no_stream_;

  static void add_once(std::vector<void*>& users, void* stream) {
    if (std::find(users.begin(), users.end(), stream) == users.end()) users.push_back(stream);
  }

  /// A free block that work on the stream may use; null: there is none.
  void* cached(size_t size, void* stream) {
    for (void* const owner : {stream, no_stream}) {
      const auto found = free_.find({size, owner});
      if (found == free_.end() || found->second.empty()) continue;
      const Free free = std::move(found->second.back());
      found->second.pop_back();
      for (void* mark : free.marks) {
        source_.wait(stream, mark);
        source_.forget(mark);
      }
      stats_.cached -= static_cast<int64_t>(size);
      return free.block;
    }
    return nullptr;
  }

  void* from_system(Device device, size_t size) {
    require(source_.acquire != nullptr, "allocator: this build has no {} device", device);
    void* block = source_.acquire(size);
    if (!block) {
      release_cached();
      block = source_.acquire(size);
    }
    if (!block) fail_without_memory(device, size);
    ++stats_.system_allocations;
    return block;
  }

  [[noreturn]] void fail_without_memory(Device device, size_t bytes) const {
    if (device.is_cpu()) fail("allocator: {} has no {} bytes left ({} active)", device.str(), bytes, stats_.active);
    const auto mib = [](int64_t n) { return static_cast<double>(n) / static_cast<double>(1 << 20); };
    const auto [free, all] = source_.room ? source_.room() : std::pair<int64_t, int64_t>{};
    fail(
        "{} is out of memory: {} needs {:.1f} MiB; tensors of this pool hold {:.1f} MiB, {:.1f} of the device's {:.1f} "
        "MiB are free. A smaller batch, train.accumulate, bf16 or fewer trials at once (--jobs) take less",
        device.str(), op_at_work ? op_at_work : "a tensor", mib(static_cast<int64_t>(bytes)), mib(stats_.active),
        mib(free), mib(all));
  }

  void release_cached() noexcept {
    for (auto& [key, blocks] : free_) {
      for (const Free& free : blocks) {
        for (void* mark : free.marks) source_.forget(mark);
        source_.release(free.block, key.first);
      }
      stats_.cached -= static_cast<int64_t>(key.first * blocks.size());
      blocks.clear();
    }
  }

  std::mutex mutex_;
  MemorySource source_;
  std::map<std::pair<size_t, void*>, std::vector<Free>> free_;  ///< by size class and the stream they belong to
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
  CachingAllocator& from = pool_ ? *pool_ : allocator(device.kind);
  stream_ = from.stream();
  address_ = from.allocate(device, bytes, stream_);
  if (headroom_lend_block && !device.is_cpu()) headroom_lend_block(address_, bytes);
}

Block::~Block() { (pool_ ? *pool_ : allocator(device_.kind)).deallocate(device_, address_, bytes_, stream_, users_); }

void Block::used_on(void* stream) {
  if (stream != stream_) (pool_ ? *pool_ : allocator(device_.kind)).add_user(users_, stream);
}

AllocatorStats allocator_stats(Device device) { return allocator(device.kind).stats(); }
void reset_peak(Device device) { allocator(device.kind).reset_peak(); }
void empty_cache(Device device) { allocator(device.kind).empty(); }
void set_memory_source(Device::Kind kind, MemorySource source) { allocator(kind).set_source(source); }

void stream_began(void* stream) {
  CachingAllocator::Streams& streams = CachingAllocator::live_streams();
  const std::lock_guard lock(streams.mutex);
  streams.all.insert(stream);
}

void stream_ended(void* stream) {
  {
    CachingAllocator::Streams& streams = CachingAllocator::live_streams();
    const std::lock_guard lock(streams.mutex);
    streams.all.erase(stream);
  }
  allocator(Device::Kind::cuda).end_stream(stream);
}

}  // namespace headroom::engine
