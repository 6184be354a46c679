// Device memory on the emulator: what reads and writes outside of it is found, and so is a host pointer.
#include <cmath>

#include "engine/tensor.h"
#include "tests/cuda/emulator/sanitizer.h"
#include "tests/engine/cuda/emulated.h"
#include "tests/support/catch.h"

namespace {

using namespace headroom;
using namespace headroom::testing;
using engine::Tensor;
using engine::cuda::launch_kernel;
namespace emulator = engine::cuda::emulator;

__global__ void write_at(float* y, int64_t i) { y[i] = 1; }
__global__ void read_at(const float* x, int64_t i, float* y) { y[0] = x[i]; }

__global__ void shared_at(int i, float* y) {
  __shared__ float row[8];
  auto* dynamic = engine::cuda::dynamic_shared<float>();
  float* start = row;  // whose size the undefined-behaviour sanitizer does not know
  start[i] = 1;
  dynamic[0] = start[i];
  y[0] = dynamic[0];
}

__global__ void dynamic_at(int i, float* y) { y[0] = engine::cuda::dynamic_shared<float>()[i]; }

struct Inside {
  bool flag;
  const float* x;
};
__global__ void takes_struct(float* y, Inside inside) { y[0] = inside.flag ? *inside.x : 0; }

struct Both {
  float value;
  int n;
};
__global__ void takes_numbers(float* y, double a, Both both, int64_t n) {
  y[0] = static_cast<float>(a) + both.value + static_cast<float>(n);
}

}  // namespace

TEST_CASE("device memory is NaN when it is given out") {
  const DeviceArray<float> x(100);
  for (const float value : x.values()) CHECK(std::isnan(value));
}

TEST_CASE("a write outside of a block of device memory is found") {
  const DeviceArray<float> y(5);
  for (const int64_t i : {5, -1}) {
    const auto write = [&] { launch_kernel("write_at", write_at, {1, 1}, y.data(), i); };
    if constexpr (emulator::address_sanitizer) {
      CHECK_THAT(death_of([&] { device_error(write); }), contains("use-after-poison"));
    } else {
      CHECK_THAT(device_error(write), contains(i < 0 ? "kernel write_at wrote before the start of a block of 20 bytes"
                                                     : "kernel write_at wrote past the end of a block of 20 bytes"));
      CHECK(device_error([&] { launch_kernel("write_at", write_at, {1, 1}, y.data(), 4); }) == "");
    }
  }
}

TEST_CASE("a tensor ends where it ends, though its block is longer, and starts as NaN, though the block was used") {
  const engine::Device cuda{engine::Device::Kind::cuda, 0};
  { const Tensor ones = Tensor::from({5}, std::vector<float>(5, 1.0f)).to(cuda); }
  const Tensor x = Tensor::empty({5}, engine::DType::f32, cuda);
  for (const float value : x.to_vector<float>()) CHECK(std::isnan(value));
  const auto write = [&] { launch_kernel("write_at", write_at, {1, 1}, x.mutable_data<float>(), 5); };
  if constexpr (emulator::address_sanitizer) {
    CHECK_THAT(death_of([&] { device_error(write); }), contains("use-after-poison"));
  } else {
    CHECK_THAT(device_error(write), contains("kernel write_at wrote past the end of a block of 20 bytes"));
  }
}

TEST_CASE("a read outside of a block, and of shared memory, is found by the address sanitizer") {
  if (!emulator::address_sanitizer) return testing::skip("built without the address sanitizer");
  const DeviceArray<float> x(5), y(1);
  CHECK(death_of([&] {
          device_error([&] { launch_kernel("read_at", read_at, {1, 1}, x.data(), 4, y.data()); });
        }) == "");
  CHECK_THAT(death_of([&] { device_error([&] {
                              launch_kernel("read_at", read_at, {1, 1}, x.data(), 5, y.data());
                            }); }),
             contains("use-after-poison"));
  const std::string shared = death_of([&] {
    device_error([&] { launch_kernel("shared_at", shared_at, {1, 1, 4}, 8, y.data()); });
  });
  const bool found = shared.find("global-buffer-overflow") != std::string::npos ||  // whichever sanitizer looks first
                     shared.find("insufficient space") != std::string::npos;
  CHECK(found);
  CHECK_THAT(death_of([&] { device_error([&] {
                              launch_kernel("dynamic_at", dynamic_at, {1, 1, 4}, 1, y.data());
                            }); }),
             contains("heap-buffer-overflow"));
}

TEST_CASE("the host cannot touch device memory") {
  const DeviceArray<float> x(5);
  const auto* pointer = x.data();
  CHECK_THAT(death_of([&] {
               volatile float value = *pointer;
               (void)value;
             }),
             contains("died"));
}

TEST_CASE("a host pointer among a kernel's arguments is refused") {
  const DeviceArray<float> y(1);
  float on_the_stack = 1;
  const std::vector<float> on_the_heap(100, 1.0f);
  static float in_the_program = 1;
  const auto refusal = [&](const float* x) {
    return device_error([&] { launch_kernel("read_at", read_at, {1, 1}, x, 0, y.data()); });
  };
  const std::string wanted =
      "an illegal memory access was encountered: host pointer passed to kernel read_at, argument 1";
  for (const float* x :
       {static_cast<const float*>(&on_the_stack), on_the_heap.data(), static_cast<const float*>(&in_the_program)})
    CHECK_THAT(refusal(x), contains(wanted));
  CHECK_THAT(device_error([&] {
               launch_kernel("takes_struct", takes_struct, {1, 1}, y.data(), Inside{true, on_the_heap.data()});
             }),
             contains("host pointer passed to kernel takes_struct, argument 2"));
  CHECK(device_error([&] {
          launch_kernel("takes_numbers", takes_numbers, {1, 1}, y.data(), 1e-300, Both{-3.5f, 32767}, int64_t{1} << 46);
        }) == "");
}

TEST_CASE("pointers to freed device memory are refused, those to pinned host memory are not") {
  const DeviceArray<float> y(1);
  float* freed = nullptr;
  { freed = DeviceArray<float>(4).data(); }
  CHECK_THAT(device_error([&] {
               launch_kernel("read_at", read_at, {1, 1}, freed, 0, y.data());
             }),
             contains("device memory that is not allocated, or was freed passed to kernel read_at, argument 1"));
  float* pinned = nullptr;
  REQUIRE(cudaMallocHost(&pinned, 4 * sizeof(float)) == cudaSuccess);
  pinned[2] = 7;
  CHECK(device_error([&] { launch_kernel("read_at", read_at, {1, 1}, pinned, 2, y.data()); }) == "");
  CHECK(y.values()[0] == 7);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
}

TEST_CASE("copies are checked: direction, bounds, what was allocated") {
  const DeviceArray<float> x(std::vector<float>{1, 2, 3, 4});
  std::vector<float> host(8);
  CHECK(cudaMemcpy(host.data(), x.data(), 20, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK_THAT(std::string(cudaGetErrorString(cudaGetLastError())), contains("20 bytes from byte 0 of a block of 16"));
  CHECK(cudaMemcpy(x.data(), host.data(), 16, cudaMemcpyDeviceToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(host.data(), x.data(), 16, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemset(host.data(), 0, 16) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(host.data(), x.data() + 2, 8, cudaMemcpyDefault) == cudaSuccess);
  CHECK(host[1] == 4);
  int inside = 0;
  CHECK(cudaFree(&inside) == cudaErrorInvalidValue);
  CHECK(cudaFree(x.data() + 1) == cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_CASE("memory runs out") {
  size_t free = 0, total = 0;
  REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
  void* block = nullptr;
  CHECK(cudaMalloc(&block, free + 1) == cudaErrorMemoryAllocation);
  CHECK(block == nullptr);
  CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaSuccess);
}
