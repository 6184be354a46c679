#include <cstdlib>
#include <fstream>
#include <memory>

#include "tests/cuda/emulator/queue.h"
#include "tests/cuda/emulator/state.h"
#include "tests/cuda/emulator/streams.h"

using namespace headroom::engine::cuda::emulator;

namespace {

/// Whether everything that was captured comes before the end of the stream that began.
bool joined(const Capture& capture, const std::vector<size_t>& tail) {
  std::vector<bool> reached(capture.tasks.size(), false);
  std::vector<size_t> open = tail;
  while (!open.empty()) {
    const size_t i = open.back();
    open.pop_back();
    if (reached[i]) continue;
    reached[i] = true;
    open.insert(open.end(), capture.tasks[i].after.begin(), capture.tasks[i].after.end());
  }
  for (const bool one : reached)
    if (!one) return false;
  return true;
}

/// Appends the names of a graph's nodes to the file that HEADROOM_CUDA_GRAPHS names, one a line and an empty one at its
/// end.
void write_nodes(const CUgraph_st& graph) {
  const char* path = std::getenv("HEADROOM_CUDA_GRAPHS");
  if (!path) return;
  std::ofstream file(path, std::ios::app);
  for (const Recorded& task : graph.tasks)
    if (task.name != "block lent") file << task.name << '\n';
  file << '\n';
}

}  // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  HEADROOM_CUDA_ENTER;
  CUstream_st* stream = resolve(handle);
  if (!stream) return report(cudaErrorInvalidResourceHandle);
  if (stream == streams().front()) return report(cudaErrorStreamCaptureUnsupported, "the default stream");
  if (stream->capture) return report(cudaErrorInvalidValue, "the stream is capturing already");
  stream->capture = std::make_shared<Capture>(Capture{handle, mode, std::this_thread::get_id(), {}, false});
  stream->tail.clear();
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  HEADROOM_CUDA_ENTER;
  CUstream_st* stream = resolve(handle);
  *graph = nullptr;
  if (!stream) return report(cudaErrorInvalidResourceHandle);
  const std::shared_ptr<Capture> capture = stream->capture;
  if (!capture) return report(cudaErrorInvalidValue, "the stream is not capturing");
  if (capture->origin != handle) {
    capture->invalid = true;
    return report(cudaErrorStreamCaptureUnmatched);
  }
  if (capture->thread != std::this_thread::get_id() && capture->mode != cudaStreamCaptureModeRelaxed)
    return report(cudaErrorStreamCaptureWrongThread);
  const bool all_joined = joined(*capture, stream->tail);
  for (CUstream_st* other : streams())
    if (other->capture == capture) {
      other->capture = nullptr;
      other->tail.clear();
    }
  if (capture->invalid) return report(cudaErrorStreamCaptureInvalidated);
  if (!all_joined) return report(cudaErrorStreamCaptureUnjoined);
  *graph = new CUgraph_st{capture->tasks};
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  HEADROOM_CUDA_ENTER;
  const CUstream_st* stream = resolve(handle);
  if (!stream) return report(cudaErrorInvalidResourceHandle);
  *status = !stream->capture           ? cudaStreamCaptureStatusNone
            : stream->capture->invalid ? cudaStreamCaptureStatusInvalidated
                                       : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  HEADROOM_CUDA_ENTER;
  std::swap(*mode, thread_capture_mode());
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  HEADROOM_CUDA_ENTER;
  if (!graph) return report(cudaErrorInvalidValue);
  if (nodes) return report(cudaErrorNotSupported, "the emulator only counts nodes");
  *count = graph->tasks.size();
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  HEADROOM_CUDA_ENTER;
  if (!graph) return report(cudaErrorInvalidValue);
  write_nodes(*graph);
  *executable = new CUgraphExec_st{graph->tasks};
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  HEADROOM_CUDA_ENTER;
  if (!executable) return report(cudaErrorInvalidValue);
  if (const cudaError_t error = forbid_in_capture(stream, __func__); error != cudaSuccess) return error;
  return put(stream, "graph", [executable] { run_recorded(executable->tasks, state().random); });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t) {
  HEADROOM_CUDA_ENTER;
  return executable ? cudaSuccess : report(cudaErrorInvalidValue);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  HEADROOM_CUDA_ENTER;
  const cudaError_t error = drain_all();  // a launch that is under way ends first
  delete executable;
  return error;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  HEADROOM_CUDA_ENTER;
  delete graph;
  return cudaSuccess;
}
