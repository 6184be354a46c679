#pragma once
#include <utility>

#include "engine/cuda/check.h"

namespace headroom::engine::cuda {

/// A point in a stream's work: the host can ask if it was reached, and another stream can wait for it.
class Event {
 public:
  /// With `timed`, the time between two events can be measured.
  explicit Event(bool timed = false) {
    HEADROOM_CUDA(cudaEventCreateWithFlags(&event_, timed ? cudaEventDefault : cudaEventDisableTiming));
  }
  ~Event() {
    if (event_) cudaEventDestroy(event_);
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  cudaEvent_t get() const { return event_; }
  /// Records it after the work queued on the stream.
  void record(cudaStream_t stream) const { HEADROOM_CUDA(cudaEventRecord(event_, stream)); }
  bool is_done() const {
    const cudaError_t code = cudaEventQuery(event_);
    if (code == cudaErrorNotReady) {
      cudaGetLastError();
      return false;
    }
    HEADROOM_CUDA(code);
    return true;
  }
  /// Makes the host wait for it.
  void synchronize() const { HEADROOM_CUDA(cudaEventSynchronize(event_)); }
  /// Milliseconds since an earlier event; both must be timed and done.
  float since(const Event& earlier) const {
    float ms = 0;
    HEADROOM_CUDA(cudaEventElapsedTime(&ms, earlier.event_, event_));
    return ms;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace headroom::engine::cuda
