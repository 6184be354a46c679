#include "engine/cuda/event.h"
#include "engine/cuda/graph.h"
#include "engine/cuda/nvtx.h"
#include "engine/cuda/runtime.h"

namespace headroom::engine::cuda {
namespace {

void* mark(void* stream) {
  refuse_in_capture("a profile");
  auto event = std::make_unique<Event>(true);
  event->record(static_cast<cudaStream_t>(stream));
  return event.release();
}

double microseconds(void* from, void* to) {
  return 1e3 * static_cast<double>(static_cast<Event*>(to)->since(*static_cast<Event*>(from)));
}

void forget(void* mark) { delete static_cast<Event*>(mark); }

}  // namespace

DeviceTimes times() { return {mark, microseconds, forget, push_range, pop_range}; }

}  // namespace headroom::engine::cuda
