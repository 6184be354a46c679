#pragma once
#include <memory>

#include "engine/cuda/event.h"

namespace headroom::engine::cuda {

/// Work captured on a stream, ready to be queued again as a whole.
class GraphExec {
 public:
  /// Kernels keep the priorities of the streams that they were captured on.
  explicit GraphExec(cudaGraph_t graph) {
    HEADROOM_CUDA(cudaGraphInstantiate(&exec_, graph, cudaGraphInstantiateFlagUseNodePriority));
  }
  ~GraphExec() { cudaGraphExecDestroy(exec_); }
  GraphExec(const GraphExec&) = delete;
  GraphExec& operator=(const GraphExec&) = delete;

  void launch(cudaStream_t stream) const { HEADROOM_CUDA(cudaGraphLaunch(exec_, stream)); }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

/// Captures the work that this thread queues on a stream, instead of running it, until finish(). Meanwhile this thread
/// must not wait for the device, copy between host and device, or allocate device memory: refuse_in_capture() and the
/// runtime refuse. Destroying it without finish() drops the captured work.
class Capture {
 public:
  explicit Capture(cudaStream_t stream);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  std::unique_ptr<GraphExec> finish();
  /// True if this thread is capturing.
  static bool is_on();
  /// A point after all that the stream had queued before its capture began; null if it is not capturing. An event
  /// recorded meanwhile would become part of the capture. Thread-safe.
  static std::shared_ptr<const Event> beginning(cudaStream_t stream);

 private:
  cudaStream_t stream_;
  bool is_open_ = true;
};

/// Throws Error naming `what` while this thread captures.
void refuse_in_capture(const char* what);

}  // namespace headroom::engine::cuda
