#include "tests/cuda/emulator/queue.h"

#include <algorithm>
#include <list>
#include <numeric>

#include "engine/error.h"
#include "tests/cuda/emulator/memory.h"
#include "tests/cuda/emulator/state.h"
#include "tests/cuda/emulator/streams.h"

namespace headroom::engine::cuda::emulator {
namespace {

bool ready(const Task& task) {
  return std::all_of(task.after.begin(), task.after.end(), [](const TaskPtr& other) { return other->done; });
}

void perform(Task& task) {
  if (task.run) {
    const DeviceAccess access;
    task.run();
  }
  task.done = true;
  task.ended = std::chrono::steady_clock::now();
  task.run = nullptr;
  task.after.clear();
}

/// Runs the first task of a stream that can run, drawn from the seed. False: there is none.
bool run_one() {
  std::vector<CUstream_st*> candidates;
  for (CUstream_st* stream : streams())
    if (!stream->tasks.empty() && ready(*stream->tasks.front())) candidates.push_back(stream);
  if (candidates.empty()) return false;
  CUstream_st* stream = candidates[state().random.below(candidates.size())];
  const TaskPtr task = stream->tasks.front();
  stream->tasks.pop_front();
  perform(*task);
  return true;
}

template <class Done>
cudaError_t run_until(const Done& done) {
  if (state().sticky != cudaSuccess) return report(state().sticky);
  try {
    while (!done())
      if (!run_one()) break;
  } catch (const std::exception& e) {
    for (CUstream_st* stream : streams()) {
      stream->tasks.clear();
      stream->last = nullptr;  // never done: nothing may wait for it, should the card be found again
    }
    return lose_card(cudaErrorLaunchFailure, e.what());
  }
  forget_destroyed_streams();
  return cudaSuccess;
}

}  // namespace

void run_recorded(const std::vector<Recorded>& tasks, Random& random) {
  std::vector<size_t> missing(tasks.size()), can_run;
  std::vector<std::vector<size_t>> next(tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    missing[i] = tasks[i].after.size();
    if (missing[i] == 0) can_run.push_back(i);
    for (const size_t before : tasks[i].after) next[before].push_back(i);
  }
  while (!can_run.empty()) {
    std::swap(can_run[random.below(can_run.size())], can_run.back());
    const size_t i = can_run.back();
    can_run.pop_back();
    tasks[i].run();
    for (const size_t later : next[i])
      if (--missing[later] == 0) can_run.push_back(later);
  }
}

cudaError_t put(cudaStream_t handle, const std::string& name, std::function<void()> run) {
  CUstream_st* stream = resolve(handle);
  if (!stream) return report(cudaErrorInvalidResourceHandle);
  if (stream->capture) {
    if (stream->capture->invalid) return report(cudaErrorStreamCaptureInvalidated);
    if (run) {
      stream->capture->tasks.push_back({name, std::move(run), stream->tail});
      stream->tail = {stream->capture->tasks.size() - 1};
    }
    return cudaSuccess;
  }
  const auto task = std::make_shared<Task>(Task{name, std::move(run), {}, false, {}});
  CUstream_st* legacy = resolve(nullptr);
  if (stream == legacy) {
    for (const CUstream_st* other : streams()) {
      if (!other->blocking || other == legacy) continue;
      if (other->capture) {
        other->capture->invalid = true;
        return report(cudaErrorStreamCaptureImplicit, name + " on the default stream");
      }
      if (other->last && !other->last->done) task->after.push_back(other->last);
    }
  } else if (stream->blocking && legacy->last && !legacy->last->done) {
    task->after.push_back(legacy->last);
  }
  stream->tasks.push_back(task);
  stream->last = task;
  return cudaSuccess;
}

cudaError_t drain(cudaStream_t handle) {
  CUstream_st* stream = resolve(handle);
  if (!stream) return report(cudaErrorInvalidResourceHandle);
  return run_until([&] { return stream->tasks.empty(); });
}

cudaError_t drain(const TaskPtr& task) {
  return run_until([&] { return task->done; });
}

cudaError_t drain_all() {
  return run_until([] {
    return std::all_of(streams().begin(), streams().end(), [](const CUstream_st* s) { return s->tasks.empty(); });
  });
}

std::shared_ptr<Capture> capture_of(cudaStream_t handle) {
  const CUstream_st* stream = resolve(handle);
  return stream ? stream->capture : nullptr;
}

cudaError_t forbid_in_capture(const std::string& what) {
  for (const CUstream_st* stream : streams()) {
    if (!stream->capture || thread_capture_mode() == cudaStreamCaptureModeRelaxed) continue;
    const Capture& capture = *stream->capture;
    const bool concerns =
        capture.mode == cudaStreamCaptureModeGlobal && thread_capture_mode() == cudaStreamCaptureModeGlobal;
    if (capture.mode == cudaStreamCaptureModeRelaxed || (!concerns && capture.thread != std::this_thread::get_id()))
      continue;
    stream->capture->invalid = true;
    return report(cudaErrorStreamCaptureUnsupported, what);
  }
  return cudaSuccess;
}

cudaError_t forbid_in_capture(cudaStream_t handle, const std::string& what) {
  const auto capture = capture_of(handle);
  if (!capture) return cudaSuccess;
  capture->invalid = true;
  return report(cudaErrorStreamCaptureUnsupported, what);
}

}  // namespace headroom::engine::cuda::emulator
