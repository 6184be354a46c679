#include <memory>

#include "engine/cuda/graph.h"
#include "engine/cuda/runtime.h"

namespace headroom::engine::cuda {
namespace {

/// This thread's capture; null if it is not capturing.
thread_local std::unique_ptr<Capture> capture;

cudaStream_t as_stream(void* stream) { return static_cast<cudaStream_t>(stream); }

void* make(bool is_side) {
  int least = 0, greatest = 0;
  HEADROOM_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t stream = nullptr;
  HEADROOM_CUDA(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, is_side ? least : greatest));
  return stream;
}

/// Called by destructors: an error of the stream's work shows at the next call that may throw.
void end(void* stream) {
  cudaStreamSynchronize(as_stream(stream));
  cudaStreamDestroy(as_stream(stream));
}

void synchronize(void* stream) {
  refuse_in_capture("waiting for the device");
  HEADROOM_CUDA(cudaStreamSynchronize(as_stream(stream)));
}

bool is_idle(void* stream) {
  const cudaError_t state = cudaStreamQuery(as_stream(stream));
  if (state != cudaErrorNotReady) HEADROOM_CUDA(state);
  return state == cudaSuccess;
}

std::shared_ptr<void> mark(void* stream) {
  const auto event = std::make_shared<Event>();
  event->record(as_stream(stream));
  return event;
}

void wait(void* stream, void* mark) {
  HEADROOM_CUDA(cudaStreamWaitEvent(as_stream(stream), static_cast<Event*>(mark)->get(), 0));
}

void begin_recording(void* stream) { capture = std::make_unique<Capture>(as_stream(stream)); }

std::shared_ptr<void> end_recording(void*, bool keeps) {
  const std::unique_ptr<Capture> ended = std::move(capture);
  return keeps ? std::shared_ptr<GraphExec>(ended->finish()) : nullptr;
}

void replay(void* recording, void* stream) { static_cast<GraphExec*>(recording)->launch(as_stream(stream)); }

}  // namespace

DeviceQueues queues() { return {make, end, synchronize, is_idle, mark, wait, begin_recording, end_recording, replay}; }

}  // namespace headroom::engine::cuda
