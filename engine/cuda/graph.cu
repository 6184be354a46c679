#include "engine/cuda/graph.h"

#include <string>

#include "engine/exception.h"

namespace headroom::engine::cuda {
namespace {

thread_local bool is_capturing = false;

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};
using OwnedGraph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph>;

}  // namespace

Capture::Capture(cudaStream_t stream) : stream_(stream) {
  refuse_in_capture("a capture within it");
  // Thread-local: what other threads allocate and wait for meanwhile is their own affair.
  HEADROOM_CUDA(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
  is_capturing = true;
}

Capture::~Capture() {
  if (!is_open_) return;
  is_capturing = false;
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(stream_, &graph);
  if (graph) cudaGraphDestroy(graph);
  cudaGetLastError();  // forget what made it fail
}

std::unique_ptr<GraphExec> Capture::finish() {
  is_open_ = is_capturing = false;
  cudaGraph_t graph = nullptr;
  HEADROOM_CUDA(cudaStreamEndCapture(stream_, &graph));
  const OwnedGraph owned(graph);
  return std::make_unique<GraphExec>(graph);
}

bool Capture::is_on() { return is_capturing; }

void refuse_in_capture(const char* what) {
  if (is_capturing) throw Error(std::string("cuda: ") + what + " cannot be part of a step that is captured");
}

}  // namespace headroom::engine::cuda
