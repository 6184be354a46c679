#include "tests/cuda/emulator/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <vector>

#include "engine/error.h"
#include "tests/cuda/emulator/card.h"
#include "tests/cuda/emulator/sanitizer.h"

namespace headroom::engine::cuda::emulator {
namespace {

// Addresses are cheap, and one that is never reused tells a freed pointer from a live one.
constexpr size_t address_space = size_t{1} << 40, page = 4096, alignment = 256, guard = 1024, watched = 64;
constexpr unsigned char guard_byte = 0xfb;

/// `used`: what the engine's allocator has given out of it, all of it until then.
struct DeviceBlock {
  size_t bytes, used;
};

struct Heap {
  char* base = nullptr;
  size_t used = 0;    ///< of the addresses
  size_t mapped = 0;  ///< `used`, rounded up: what mprotect switches
  size_t in_use = 0;
  int access = 0;
  std::map<const char*, DeviceBlock> blocks;
  std::map<const char*, size_t> pinned;
};

Heap& heap() {
  static Heap& heap = *[] {
    auto* made = new Heap;  // never destroyed: static storages give their blocks back later
    void* start = mmap(nullptr, address_space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(start != MAP_FAILED, "no address space for the emulated card's memory");
    made->base = static_cast<char*>(start);
    return made;
  }();
  return heap;
}

size_t rounded(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

void protect(size_t bytes, int how) {
  if (bytes > 0) require(mprotect(heap().base, bytes, how) == 0, "mprotect: {}", std::strerror(errno));
}

/// The block that holds the address, or the last before it; null: none.
template <class Value>
const std::pair<const char* const, Value>* block_at(const std::map<const char*, Value>& blocks, const void* address) {
  auto next = blocks.upper_bound(static_cast<const char*>(address));
  return next == blocks.begin() ? nullptr : &*std::prev(next);
}

void set_guards(char* start, const DeviceBlock& block) {
  if constexpr (address_sanitizer) {
    poison(start - watched, watched);
    poison(start + block.used, block.bytes - block.used + guard);
  } else {
    std::memset(start - watched, guard_byte, watched);
    std::memset(start + block.used, guard_byte, watched);
  }
}

bool intact(const char* from) {
  return std::all_of(from, from + watched, [](char c) { return static_cast<unsigned char>(c) == guard_byte; });
}

}  // namespace

DeviceAccess::DeviceAccess() {
  if (heap().access++ == 0) protect(heap().mapped, PROT_READ | PROT_WRITE);
}
DeviceAccess::~DeviceAccess() {
  if (--heap().access == 0) protect(heap().mapped, PROT_NONE);
}

void* allocate_device(size_t bytes) {
  Heap& h = heap();
  if (bytes > card().memory || h.in_use > card().memory - bytes) return nullptr;
  const size_t start = rounded(h.used + guard, alignment), end = start + bytes + guard;
  if (end > address_space) return nullptr;
  h.used = end;
  h.mapped = rounded(end, page);
  protect(h.mapped, PROT_READ | PROT_WRITE);
  char* block = h.base + start;
  unpoison(block, bytes);
  std::memset(block, 0xff, bytes);
  set_guards(block, {bytes, bytes});
  if (h.access == 0) protect(h.mapped, PROT_NONE);
  h.in_use += bytes;
  h.blocks.emplace(block, DeviceBlock{bytes, bytes});
  return block;
}

bool free_device(void* block) {
  Heap& h = heap();
  const auto found = h.blocks.find(static_cast<const char*>(block));
  if (found == h.blocks.end()) return false;
  const size_t bytes = found->second.bytes;
  h.in_use -= bytes;
  h.blocks.erase(found);
  poison(block, bytes);
  const auto first = rounded(reinterpret_cast<uintptr_t>(block), page);
  const auto last = (reinterpret_cast<uintptr_t>(block) + bytes) / page * page;
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  return true;
}

void lend_device(void* start, size_t bytes) {
  const auto found = heap().blocks.find(static_cast<const char*>(start));
  if (found == heap().blocks.end() || bytes > found->second.bytes) return;
  found->second.used = bytes;
  unpoison(start, bytes);
  std::memset(start, 0xff, bytes);
  set_guards(static_cast<char*>(start), found->second);
}

size_t device_bytes_in_use() { return heap().in_use; }

bool is_device(const void* address) {
  const char* a = static_cast<const char*>(address);
  return a >= heap().base && a < heap().base + address_space;
}

std::string explain_range(const void* address, size_t bytes) {
  const auto* block = block_at(heap().blocks, address);
  const char* start = static_cast<const char*>(address);
  const char* end = block ? block->first + block->second.bytes : nullptr;
  if (block && start + bytes <= end) return {};
  if (block && start < end + guard)
    return fmt::format("{} bytes from byte {} of a block of {}", bytes, start - block->first, block->second.bytes);
  return "device memory that is not allocated, or was freed";
}

std::string damaged_guard() {
  if constexpr (address_sanitizer) return {};
  for (const auto& [start, block] : heap().blocks) {
    const bool before = intact(start - watched), after = intact(start + block.used);
    if (before && after) continue;
    set_guards(const_cast<char*>(start), block);
    return fmt::format("wrote {} of a block of {} bytes", before ? "past the end" : "before the start", block.used);
  }
  return {};
}

void* allocate_pinned(size_t bytes) {
  void* block = std::aligned_alloc(page, rounded(std::max<size_t>(bytes, 1), page));
  if (block) heap().pinned.emplace(static_cast<const char*>(block), bytes);
  return block;
}

bool free_pinned(void* block) {
  if (heap().pinned.erase(static_cast<const char*>(block)) == 0) return false;
  std::free(block);
  return true;
}

bool is_pinned(const void* address) {
  const auto* block = block_at(heap().pinned, address);
  return block && static_cast<const char*>(address) < block->first + block->second;
}

bool is_host(const void* address) {
  const auto value = reinterpret_cast<uintptr_t>(address);
  // Below are numbers (and the address sanitizer's shadow), above are floating-point ones: Linux maps neither.
  if (value < uintptr_t{1} << 45 || value >= uintptr_t{1} << 47 || is_device(address) || is_pinned(address))
    return false;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t first = 0, last = 0;
    char access[5] = {};
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s", &first, &last, access) != 3) continue;
    // What nothing can read are reserves, such as the shadow gap of the address sanitizer.
    if (value >= first && value < last) return access[0] == 'r';
  }
  return false;
}

}  // namespace headroom::engine::cuda::emulator
