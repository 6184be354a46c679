#pragma once
#include <cuda_runtime_api.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/cuda/emulator/random.h"

namespace headroom::engine::cuda::emulator {

/// Work in a stream. It runs after everything before it in the stream and after `after`, at some time that nobody
/// knows: not before the host waits for it, and in an order among streams that is drawn from the seed.
struct Task {
  std::string name;
  std::function<void()> run;  ///< throws when it goes wrong; null: a marker
  std::vector<std::shared_ptr<Task>> after;
  bool done = false;
  std::chrono::steady_clock::time_point ended{};
};
using TaskPtr = std::shared_ptr<Task>;

/// A recorded task; `after` are the numbers of others in the graph.
struct Recorded {
  std::string name;
  std::function<void()> run;
  std::vector<size_t> after;
};

/// What streams record between cudaStreamBeginCapture and cudaStreamEndCapture.
struct Capture {
  cudaStream_t origin;
  cudaStreamCaptureMode mode;
  std::thread::id thread;
  std::vector<Recorded> tasks;
  bool invalid = false;
};

/// Runs `tasks` in an order that their `after` allow, drawn from `random`.
void run_recorded(const std::vector<Recorded>& tasks, Random& random);

/// Puts work at the end of the stream, or records it when the stream is capturing. `null` is the legacy default stream,
/// which waits for all blocking streams and for which they wait.
cudaError_t put(cudaStream_t stream, const std::string& name, std::function<void()> run);
/// Runs whatever it takes until the stream (or all streams) is empty. Errors of the work are sticky.
cudaError_t drain(cudaStream_t stream);
cudaError_t drain_all();
cudaError_t drain(const TaskPtr& task);

/// Whether the calling thread may do now what cannot be captured (allocate, wait, read back): an error, which also
/// spoils the capture, unless no capture that it could belong to is under way.
cudaError_t forbid_in_capture(const std::string& what);
/// The same for work on one stream.
cudaError_t forbid_in_capture(cudaStream_t stream, const std::string& what);
std::shared_ptr<Capture> capture_of(cudaStream_t stream);

}  // namespace headroom::engine::cuda::emulator

/// A stream of the runtime.
struct CUstream_st {
  bool blocking = true;
  bool destroyed = false;
  bool asked = false;  ///< by a query, which found it at work: the next one finds it done, as a GPU gets on meanwhile
  std::deque<headroom::engine::cuda::emulator::TaskPtr> tasks;
  headroom::engine::cuda::emulator::TaskPtr last;  ///< put last, done or not
  std::shared_ptr<headroom::engine::cuda::emulator::Capture> capture;
  std::vector<size_t> tail;  ///< what the next captured task comes after
};

struct CUevent_st {
  bool timed = true;
  headroom::engine::cuda::emulator::TaskPtr task;
  std::shared_ptr<headroom::engine::cuda::emulator::Capture> capture;  ///< when it was recorded in one
  std::vector<size_t> tail;
};

struct CUgraph_st {
  std::vector<headroom::engine::cuda::emulator::Recorded> tasks;
};
struct CUgraphExec_st {
  std::vector<headroom::engine::cuda::emulator::Recorded> tasks;
};
