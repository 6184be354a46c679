#include "engine/cuda/graph.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "engine/exception.h"

namespace headroom::engine::cuda {
namespace {

thread_local bool is_capturing = false;

/// The streams that capture now, of all threads.
struct Beginnings {
  std::mutex mutex;
  std::map<cudaStream_t, std::shared_ptr<const Event>> of;
  void set(cudaStream_t stream, std::shared_ptr<const Event> beginning) {
    const std::lock_guard lock(mutex);
    of[stream] = std::move(beginning);
  }
};
Beginnings& beginnings() {
  static auto* const all = new Beginnings;  // never destroyed: blocks of static objects are given back late
  return *all;
}

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};
using OwnedGraph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph>;

}  // namespace

Capture::Capture(cudaStream_t stream) : stream_(stream) {
  refuse_in_capture("a capture within it");
  const auto beginning = std::make_shared<Event>();
  beginning->record(stream_);
  beginnings().set(stream_, beginning);
  // Thread-local: what other threads allocate and wait for meanwhile is their own affair.
  const cudaError_t code = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
  if (code != cudaSuccess) beginnings().set(stream_, nullptr);
  HEADROOM_CUDA(code);
  is_capturing = true;
}

Capture::~Capture() {
  if (!is_open_) return;
  is_capturing = false;
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(stream_, &graph);
  beginnings().set(stream_, nullptr);
  if (graph) cudaGraphDestroy(graph);
  cudaGetLastError();  // forget what made it fail
}

std::unique_ptr<GraphExec> Capture::finish() {
  is_open_ = is_capturing = false;
  cudaGraph_t graph = nullptr;
  const cudaError_t code = cudaStreamEndCapture(stream_, &graph);
  beginnings().set(stream_, nullptr);
  HEADROOM_CUDA(code);
  const OwnedGraph owned(graph);
  return std::make_unique<GraphExec>(graph);
}

bool Capture::is_on() { return is_capturing; }

std::shared_ptr<const Event> Capture::beginning(cudaStream_t stream) {
  const std::lock_guard lock(beginnings().mutex);
  const auto found = beginnings().of.find(stream);
  return found == beginnings().of.end() ? nullptr : found->second;
}

void refuse_in_capture(const char* what) {
  if (is_capturing) throw Error(std::string("cuda: ") + what + " cannot be part of a step that is captured");
}

}  // namespace headroom::engine::cuda
