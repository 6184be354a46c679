#include "tests/cuda/emulator/streams.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "tests/cuda/emulator/queue.h"
#include "tests/cuda/emulator/state.h"

namespace headroom::engine::cuda::emulator {

std::list<CUstream_st*>& streams() {
  static auto* all = new std::list<CUstream_st*>{new CUstream_st};  // never destroyed, as the work of static objects
  return *all;
}

CUstream_st* resolve(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return streams().front();
  for (CUstream_st* stream : streams())
    if (stream == handle && !stream->destroyed) return stream;
  return nullptr;
}

void forget_destroyed_streams() {
  streams().remove_if([](CUstream_st* stream) {
    if (!stream->destroyed || !stream->tasks.empty()) return false;
    delete stream;
    return true;
  });
}

cudaStreamCaptureMode& thread_capture_mode() {
  thread_local cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  return mode;
}

}  // namespace headroom::engine::cuda::emulator

using namespace headroom::engine::cuda::emulator;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  HEADROOM_CUDA_ENTER;
  auto made = std::make_unique<CUstream_st>();
  made->blocking = (flags & cudaStreamNonBlocking) == 0;
  *stream = made.get();
  streams().push_back(made.release());
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  HEADROOM_CUDA_ENTER;
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  HEADROOM_CUDA_ENTER;
  CUstream_st* found = resolve(stream);
  if (!found || found == streams().front()) return report(cudaErrorInvalidResourceHandle);
  found->destroyed = true;
  forget_destroyed_streams();
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  HEADROOM_CUDA_ENTER;
  if (const cudaError_t error = forbid_in_capture(stream, __func__); error != cudaSuccess) return error;
  return drain(stream);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  HEADROOM_CUDA_ENTER;
  if (const cudaError_t error = forbid_in_capture(stream, __func__); error != cudaSuccess) return error;
  CUstream_st* found = resolve(stream);
  if (!found) return report(cudaErrorInvalidResourceHandle);
  const bool has_got_on = std::exchange(found->asked, !found->asked && !found->tasks.empty());
  if (has_got_on) return drain(stream);
  return found->tasks.empty() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  HEADROOM_CUDA_ENTER;
  CUstream_st* stream = resolve(handle);
  if (!stream || !event) return report(cudaErrorInvalidResourceHandle);
  if (event->capture) {
    if (stream->capture && stream->capture != event->capture) {
      stream->capture->invalid = event->capture->invalid = true;
      return report(cudaErrorStreamCaptureMerge);
    }
    stream->capture = event->capture;
    stream->tail.insert(stream->tail.end(), event->tail.begin(), event->tail.end());
    return cudaSuccess;
  }
  if (stream->capture) {
    if (!event->task) return cudaSuccess;
    stream->capture->invalid = true;
    return report(cudaErrorStreamCaptureIsolation, "a wait for an event that was recorded before the capture");
  }
  if (!event->task || event->task->done) return cudaSuccess;
  const cudaError_t error = put(handle, "cudaStreamWaitEvent", nullptr);
  if (error == cudaSuccess) stream->last->after.push_back(event->task);
  return error;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  HEADROOM_CUDA_ENTER;
  return put(stream, "host function", [function, data] { function(data); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  HEADROOM_CUDA_ENTER;
  *event = new CUevent_st;
  (*event)->timed = (flags & cudaEventDisableTiming) == 0;
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  HEADROOM_CUDA_ENTER;
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  HEADROOM_CUDA_ENTER;
  CUstream_st* stream = resolve(handle);
  if (!stream || !event) return report(cudaErrorInvalidResourceHandle);
  event->capture = stream->capture;
  event->tail = stream->tail;
  event->task = nullptr;
  if (stream->capture) return stream->capture->invalid ? report(cudaErrorStreamCaptureInvalidated) : cudaSuccess;
  const cudaError_t error = put(handle, "cudaEventRecord", nullptr);
  if (error == cudaSuccess) event->task = stream->last;
  return error;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  HEADROOM_CUDA_ENTER;
  if (!event) return report(cudaErrorInvalidResourceHandle);
  if (event->capture) return report(cudaErrorCapturedEvent);
  if (const cudaError_t error = forbid_in_capture(__func__); error != cudaSuccess) return error;
  return event->task ? drain(event->task) : cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  HEADROOM_CUDA_ENTER;
  if (!event) return report(cudaErrorInvalidResourceHandle);
  if (event->capture) return report(cudaErrorCapturedEvent);
  return event->task && !event->task->done ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  HEADROOM_CUDA_ENTER;
  if (!start || !end || !start->task || !end->task || !start->timed || !end->timed)
    return report(cudaErrorInvalidResourceHandle);
  if (!start->task->done || !end->task->done) return report(cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(end->task->ended - start->task->ended).count();
  return cudaSuccess;
}
