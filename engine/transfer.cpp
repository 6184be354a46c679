#include "engine/transfer.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "engine/parallel.h"
#include "engine/read_number.h"
#include "engine/tensor.h"

namespace headroom::engine {
namespace {

DeviceBackend cuda_backend;
std::atomic<bool> is_lost{false};
Facts (*facts_of_cuda)() = nullptr;

}  // namespace

const DeviceBackend& backend_of(Device device) {
  check_device(device);
  return cuda_backend;
}

Device device_of(const std::string& name) {
  if (name == "cpu") return cpu;
  const std::string prefix = "cuda";
  if (name == prefix) return {Device::Kind::cuda, 0};
  const std::string index = name.starts_with(prefix + ":") ? name.substr(prefix.size() + 1) : "";
  const auto number = read_number(index, 0, 9999);
  require(number.has_value(), "device: unknown '{}'; known: cpu, cuda, cuda:0", excerpt(name));
  return {Device::Kind::cuda, *number};
}

bool device_is_lost() { return is_lost; }
void set_device_lost() { is_lost = true; }

void register_device(Device::Kind kind, const DeviceBackend& backend) {
  cuda_backend = backend;
  set_memory_source(kind, backend.memory);
}

const std::string& cuda_status() {
  static const std::string status = [] {
    std::string found = "this build has no CUDA backend (Meson option cuda, library headroom-cuda)";
    try {
      if (headroom_start_cuda) headroom_start_cuda(found);
    } catch (const std::exception& error) {
      found = error.what();
    }
    return found;
  }();
  return status;
}

bool has_device(Device::Kind kind) {
  if (kind == Device::Kind::cpu) return true;
  cuda_status();
  return cuda_backend.copy != nullptr;
}

void check_device(Device device) {
  if (!has_device(device.kind)) fail("device: {} cannot be used: {}", device.str(), cuda_status());
  if (device.is_cpu() || device.index == 0) return;
  const int count = cuda_backend.count;
  if (device.index < 0 || device.index >= count)
    fail("device: {} cannot be used: this machine has {}", device.str(),
         count == 1 ? std::string("one GPU, cuda:0") : fmt::format("cuda:0 to cuda:{}", count - 1));
  fail("device: {} cannot be used: only cuda:0 is; CUDA_VISIBLE_DEVICES={} makes that GPU the first", device.str(),
       device.index);
}

Facts cuda_facts() {
  cuda_status();
  return facts_of_cuda ? facts_of_cuda() : Facts{};
}
void set_cuda_facts(Facts (*facts)()) { facts_of_cuda = facts; }

void device_failure(const char* call, const char* file, int line, const char* reason) {
  fail("{} failed ({}:{}): {}", call, file, line, reason);
}

void copy_bytes(Device to, void* destination, Device from, const void* source, size_t bytes) {
  if (bytes == 0) return;
  if (!to.is_cpu() || !from.is_cpu()) {
    backend_of(to.is_cpu() ? from : to).copy(to, destination, from, source, bytes);
    return;
  }
  parallel_ranges(static_cast<int64_t>(bytes), int64_t{1} << 18, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char*>(destination) + begin, static_cast<const char*>(source) + begin,
                static_cast<size_t>(end - begin));
  });
}

void fill_bytes(Device device, void* destination, int byte, size_t bytes) {
  if (bytes == 0) return;
  if (!device.is_cpu()) return backend_of(device).fill(destination, byte, bytes);
  parallel_ranges(static_cast<int64_t>(bytes), int64_t{1} << 18, [&](int64_t begin, int64_t end) {
    std::memset(static_cast<char*>(destination) + begin, byte, static_cast<size_t>(end - begin));
  });
}

void strided_copy(const Tensor& destination, const Tensor& source) {
  // Between two devices a strided side is first made contiguous where it lives.
  if (destination.device() == source.device()) return backend_of(source.device()).strided_copy(destination, source);
  const Tensor moved = source.to(destination.device());
  copy_inplace(destination, moved);
}

void convert_elements(const Tensor& destination, const Tensor& source) {
  if (source.numel() > 0) backend_of(source.device()).convert(destination, source);
}

void fill_elements(const Tensor& y, const void* element) {
  if (y.numel() > 0) backend_of(y.device()).fill_elements(y, element);
}

}  // namespace headroom::engine
