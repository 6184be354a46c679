// Streams and events on the emulator: work runs late and in any order that CUDA allows, so that code which relies on
// luck fails.
#include <set>
#include <stdexcept>

#include "engine/context.h"
#include "tests/engine/cuda/emulated.h"
#include "tests/support/catch.h"

namespace {

using namespace headroom;
using namespace headroom::testing;
using engine::cuda::launch_kernel;
namespace emulator = engine::cuda::emulator;

__global__ void append(int* y, int digit) { *y = *y * 10 + digit; }

class Stream {
 public:
  explicit Stream(unsigned flags = cudaStreamNonBlocking) { HEADROOM_CUDA(cudaStreamCreateWithFlags(&stream_, flags)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }

  void append(int* y, int digit) const {
    const engine::StreamScope scope(stream_);
    launch_kernel("append", ::append, {1, 1}, y, digit);
  }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { HEADROOM_CUDA(cudaEventCreate(&event_)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class PinnedInt {
 public:
  explicit PinnedInt(int value) {
    HEADROOM_CUDA(cudaMallocHost(&value_, sizeof(int)));
    *value_ = value;
  }
  ~PinnedInt() { cudaFreeHost(value_); }
  PinnedInt(const PinnedInt&) = delete;
  PinnedInt& operator=(const PinnedInt&) = delete;
  int* get() const { return value_; }
  int& operator*() const { return *value_; }

 private:
  int* value_ = nullptr;
};

/// Every digit that `queue` appends to a number, over many seeds.
template <class F>
std::set<int> outcomes(const F& queue) {
  std::set<int> all;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    emulator::set_seed(seed);
    const DeviceArray<int> y(std::vector<int>{0});
    queue(y.data());
    HEADROOM_CUDA(cudaDeviceSynchronize());
    all.insert(y.values()[0]);
  }
  return all;
}

}  // namespace

TEST_CASE("one stream keeps its order; two have none, unless an event gives them one") {
  const Stream a, b;
  CHECK(outcomes([&](int* y) {
          for (const int digit : {1, 2, 3}) a.append(y, digit);
        }) == std::set<int>{123});
  CHECK(outcomes([&](int* y) {
          a.append(y, 1);
          a.append(y, 2);
          b.append(y, 3);
        }) == std::set<int>{123, 132, 312});
  CHECK(outcomes([&](int* y) {
          const Event done;
          a.append(y, 1);
          HEADROOM_CUDA(cudaEventRecord(done, a));
          a.append(y, 2);
          HEADROOM_CUDA(cudaStreamWaitEvent(b, done));
          b.append(y, 3);
        }) == std::set<int>{123, 132});
}

TEST_CASE("the default stream waits for blocking streams and they for it, not so non-blocking ones") {
  const Stream blocking(cudaStreamDefault), free;
  CHECK(outcomes([&](int* y) {
          blocking.append(y, 1);
          launch_kernel("append", append, {1, 1}, y, 2);
          blocking.append(y, 3);
        }) == std::set<int>{123});
  CHECK(outcomes([&](int* y) {
          launch_kernel("append", append, {1, 1}, y, 1);
          free.append(y, 2);
        }) == std::set<int>{12, 21});
}

TEST_CASE("nothing runs before the host waits for it") {
  const Stream stream;
  const DeviceArray<int> y(std::vector<int>{0});
  const PinnedInt seen(-1);
  const Event end;
  stream.append(y.data(), 5);
  HEADROOM_CUDA(cudaMemcpyAsync(seen.get(), y.data(), sizeof(int), cudaMemcpyDeviceToHost, stream));
  HEADROOM_CUDA(cudaEventRecord(end, stream));
  CHECK(*seen == -1);  // pinned memory: the copy is under way
  CHECK(cudaStreamQuery(stream) == cudaErrorNotReady);
  CHECK(cudaEventQuery(end) == cudaErrorNotReady);
  CHECK(cudaEventSynchronize(end) == cudaSuccess);
  CHECK(*seen == 5);
  CHECK(cudaStreamQuery(stream) == cudaSuccess);
  CHECK(cudaEventQuery(end) == cudaSuccess);
}

TEST_CASE("a copy from pinned memory reads it when it runs, one from pageable memory at once") {
  const Stream stream;
  const DeviceArray<int> y(std::vector<int>{0});
  const PinnedInt pinned(1);
  HEADROOM_CUDA(cudaMemcpyAsync(y.data(), pinned.get(), sizeof(int), cudaMemcpyHostToDevice, stream));
  *pinned = 2;  // too early
  HEADROOM_CUDA(cudaStreamSynchronize(stream));
  CHECK(y.values()[0] == 2);
  int pageable = 1;
  HEADROOM_CUDA(cudaMemcpyAsync(y.data(), &pageable, sizeof(int), cudaMemcpyHostToDevice, stream));
  pageable = 2;
  HEADROOM_CUDA(cudaStreamSynchronize(stream));
  CHECK(y.values()[0] == 1);
  HEADROOM_CUDA(cudaMemcpyAsync(&pageable, y.data(), sizeof(int), cudaMemcpyDeviceToHost, stream));
  CHECK(pageable == 1);
}

TEST_CASE("host functions, time between events, streams destroyed with work left") {
  const DeviceArray<int> y(std::vector<int>{0});
  int calls = 0;
  const Event start, end;
  {
    const Stream stream;
    HEADROOM_CUDA(cudaEventRecord(start, stream));
    stream.append(y.data(), 4);
    HEADROOM_CUDA(cudaLaunchHostFunc(
        stream, [](void* count) { ++*static_cast<int*>(count); }, &calls));
    HEADROOM_CUDA(cudaEventRecord(end, stream));
  }
  CHECK(calls == 0);
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, start, end) == cudaErrorNotReady);
  HEADROOM_CUDA(cudaDeviceSynchronize());
  CHECK(calls == 1);
  CHECK(y.values()[0] == 4);
  CHECK(cudaEventElapsedTime(&milliseconds, start, end) == cudaSuccess);
  CHECK(milliseconds >= 0);
  cudaGetLastError();
}

TEST_CASE("after an error no stream runs its work; a card that is found again takes new work") {
  const Stream blocking(cudaStreamDefault);
  const DeviceArray<int> y(std::vector<int>{0});
  CHECK(device_error([&] {
          blocking.append(y.data(), 1);
          HEADROOM_CUDA(cudaLaunchHostFunc(
              nullptr, [](void*) { throw std::runtime_error("broken"); }, nullptr));
          blocking.append(y.data(), 2);
        }).find("unspecified launch failure: broken") != std::string::npos);
  blocking.append(y.data(), 3);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(y.values()[0] == 13);
}
