// Capture and replay on the emulator, and everything that CUDA forbids while a stream is captured.
#include <cstring>

#include "engine/context.h"
#include "tests/engine/cuda/emulated.h"
#include "tests/support/catch.h"

namespace {

using namespace headroom;
using namespace headroom::testing;
using engine::cuda::launch_kernel;
namespace emulator = engine::cuda::emulator;

__global__ void add_to(int* y, int value) { *y += value; }
__global__ void double_it(int* y) { *y *= 2; }

struct Capturing {
  cudaStream_t stream = nullptr;
  explicit Capturing(cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
    HEADROOM_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    HEADROOM_CUDA(cudaStreamBeginCapture(stream, mode));
  }
  ~Capturing() {
    cudaGraph_t graph = nullptr;
    cudaStreamCaptureStatus status{};
    if (cudaStreamIsCapturing(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone)
      cudaStreamEndCapture(stream, &graph);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    cudaGetLastError();
  }
  Capturing(const Capturing&) = delete;
  Capturing& operator=(const Capturing&) = delete;
  cudaStreamCaptureStatus status() const {
    cudaStreamCaptureStatus status{};
    HEADROOM_CUDA(cudaStreamIsCapturing(stream, &status));
    return status;
  }
};

}  // namespace

TEST_CASE("a captured graph runs nothing, then all of it at each launch") {
  const DeviceArray<int> y(std::vector<int>{1});
  Capturing capture;
  {
    const engine::StreamScope scope(capture.stream);
    launch_kernel("add_to", add_to, {1, 1}, y.data(), 3);
    launch_kernel("double_it", double_it, {1, 1}, y.data());
  }
  CHECK(capture.status() == cudaStreamCaptureStatusActive);
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamEndCapture(capture.stream, &graph) == cudaSuccess);
  CHECK(capture.status() == cudaStreamCaptureStatusNone);
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess);
  CHECK(nodes == 2);
  CHECK(y.values()[0] == 1);
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaGraphInstantiate(&executable, graph) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  for (int i = 0; i < 2; ++i) CHECK(cudaGraphLaunch(executable, capture.stream) == cudaSuccess);
  CHECK(cudaStreamSynchronize(capture.stream) == cudaSuccess);
  CHECK(y.values()[0] == 22);
  CHECK(cudaGraphExecDestroy(executable) == cudaSuccess);
}

TEST_CASE("a second stream joins a capture through events, and must come back") {
  for (const bool comes_back : {true, false}) {
    const DeviceArray<int> y(std::vector<int>{1});
    Capturing capture;
    cudaStream_t side = nullptr;
    cudaEvent_t fork = nullptr, join = nullptr;
    HEADROOM_CUDA(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    HEADROOM_CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    HEADROOM_CUDA(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    HEADROOM_CUDA(cudaEventRecord(fork, capture.stream));
    HEADROOM_CUDA(cudaStreamWaitEvent(side, fork));
    {
      const engine::StreamScope scope(side);
      launch_kernel("add_to", add_to, {1, 1}, y.data(), 4);
    }
    HEADROOM_CUDA(cudaEventRecord(join, side));
    if (comes_back) HEADROOM_CUDA(cudaStreamWaitEvent(capture.stream, join));
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamEndCapture(capture.stream, &graph) == (comes_back ? cudaSuccess : cudaErrorStreamCaptureUnjoined));
    CHECK((graph != nullptr) == comes_back);
    cudaGraphDestroy(graph);
    cudaEventDestroy(fork);
    cudaEventDestroy(join);
    cudaStreamDestroy(side);
    cudaGetLastError();
  }
}

TEST_CASE("what cannot be captured is refused, and spoils the capture") {
  const DeviceArray<int> y(std::vector<int>{1});
  int pageable = 0;
  void* block = nullptr;
  const auto spoils = [&](const auto& call) {
    Capturing capture;
    if (call(capture.stream) != cudaErrorStreamCaptureUnsupported) return false;
    cudaGraph_t graph = nullptr;
    return capture.status() == cudaStreamCaptureStatusInvalidated &&
           cudaStreamEndCapture(capture.stream, &graph) == cudaErrorStreamCaptureInvalidated && !graph;
  };
  CHECK(spoils([](cudaStream_t s) { return cudaStreamSynchronize(s); }));
  CHECK(spoils([](cudaStream_t s) { return cudaStreamQuery(s); }));
  CHECK(spoils([](cudaStream_t) { return cudaDeviceSynchronize(); }));
  CHECK(spoils([&](cudaStream_t) { return cudaMalloc(&block, 16); }));
  CHECK(spoils([&](cudaStream_t) { return cudaFree(y.data()); }));
  CHECK(spoils([&](cudaStream_t) { return cudaMallocHost(&block, 16); }));
  CHECK(spoils([&](cudaStream_t) { return cudaMemcpy(&pageable, y.data(), 4, cudaMemcpyDeviceToHost); }));
  CHECK(spoils([&](cudaStream_t s) { return cudaMemcpyAsync(&pageable, y.data(), 4, cudaMemcpyDeviceToHost, s); }));
  CHECK(spoils([&](cudaStream_t s) { return cudaMemcpyAsync(y.data(), &pageable, 4, cudaMemcpyHostToDevice, s); }));
}

TEST_CASE("a relaxed capture allows allocation; the default stream cannot be captured, nor depend on a capture") {
  void* block = nullptr;
  {
    const Capturing capture(cudaStreamCaptureModeRelaxed);
    CHECK(cudaMalloc(&block, 16) == cudaSuccess);
  }
  CHECK(cudaFree(block) == cudaSuccess);
  CHECK(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal) == cudaErrorStreamCaptureUnsupported);
  cudaStream_t blocking = nullptr;
  HEADROOM_CUDA(cudaStreamCreate(&blocking));
  HEADROOM_CUDA(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));
  CHECK(cudaMemsetAsync(block, 0, 0) == cudaSuccess);
  CHECK(cudaLaunchHostFunc(
            nullptr, [](void*) {}, nullptr) == cudaErrorStreamCaptureImplicit);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(blocking, &graph) == cudaErrorStreamCaptureInvalidated);
  cudaStreamDestroy(blocking);
  cudaGetLastError();
}

TEST_CASE("events of a capture and of work outside of it do not mix") {
  Capturing capture;
  cudaEvent_t event = nullptr;
  HEADROOM_CUDA(cudaEventCreate(&event));
  HEADROOM_CUDA(cudaEventRecord(event, capture.stream));
  CHECK(cudaEventSynchronize(event) == cudaErrorCapturedEvent);
  CHECK(cudaEventQuery(event) == cudaErrorCapturedEvent);
  cudaStream_t other = nullptr;
  HEADROOM_CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  HEADROOM_CUDA(cudaEventRecord(event, other));
  CHECK(cudaStreamWaitEvent(capture.stream, event) == cudaErrorStreamCaptureIsolation);
  CHECK(capture.status() == cudaStreamCaptureStatusInvalidated);
  cudaStreamDestroy(other);
  cudaEventDestroy(event);
}
