#pragma once
#include <memory>

#include "engine/cuda/event.h"

namespace headroom::engine::cuda {

/// Work that was captured on a stream, ready to be queued again as a whole.
class GraphExec {
 public:
  explicit GraphExec(cudaGraph_t graph) { HEADROOM_CUDA(cudaGraphInstantiate(&exec_, graph, 0)); }
  ~GraphExec() { cudaGraphExecDestroy(exec_); }
  GraphExec(const GraphExec&) = delete;
  GraphExec& operator=(const GraphExec&) = delete;

  void launch(cudaStream_t stream) const { HEADROOM_CUDA(cudaGraphLaunch(exec_, stream)); }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

/// Captures what this thread queues on a stream, instead of running it, until finish(). While it lives, this thread may
/// neither wait for the device nor copy between host and device nor ask for memory of the device: refuse_in_capture()
/// says so, and the runtime refuses. Going without finish() drops what was captured.
class Capture {
 public:
  explicit Capture(cudaStream_t stream);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  std::unique_ptr<GraphExec> finish();
  /// Whether this thread captures.
  static bool is_on();
  /// A point after all that the stream had queued before its capture began; null where the stream is not capturing. An
  /// event that is recorded meanwhile would be part of the captured work. Thread-safe.
  static std::shared_ptr<const Event> beginning(cudaStream_t stream);

 private:
  cudaStream_t stream_;
  bool is_open_ = true;
};

/// Throws Error naming `what` while this thread captures.
void refuse_in_capture(const char* what);

}  // namespace headroom::engine::cuda
