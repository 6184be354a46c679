#pragma once
#include <cstddef>
#include <string>

namespace headroom::engine::cuda::emulator {

/// Device memory: one range of addresses, which the host can touch only while the emulated card works (elsewhere it is
/// a segmentation fault, as on a machine with a GPU). No address is given out twice. Between the blocks lie guards: the
/// address sanitizer's, or bytes that are looked at after each kernel.

/// Filled with ones (NaN), 256-byte aligned; null when the card has no such memory left.
void* allocate_device(size_t bytes);
/// False: no such block.
bool free_device(void* block);
/// From now on the block is `bytes` long, and holds NaN: the engine's allocator has given so much of it to a tensor.
void lend_device(void* block, size_t bytes);
size_t device_bytes_in_use();
bool is_device(const void* address);
/// Empty if [address, address + bytes) lies in one block; else what is wrong with it.
std::string explain_range(const void* address, size_t bytes);
/// Empty, or which block was written outside of its bounds.
std::string damaged_guard();

/// Page-locked host memory, which the card may read and write by itself.
void* allocate_pinned(size_t bytes);
bool free_pinned(void* block);
bool is_pinned(const void* address);

/// Whether the address lies in memory of the host that is not pinned: code, stacks, the heap.
bool is_host(const void* address);

/// While one lives, device memory can be touched.
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
};

}  // namespace headroom::engine::cuda::emulator
