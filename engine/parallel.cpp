#include "engine/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "engine/context.h"
#include "engine/control_groups.h"
#include "engine/error.h"
#include "engine/excerpt.h"
#include "engine/read_number.h"

#ifdef HEADROOM_OPENMP
#include <omp.h>
#else
#include <vector>
#endif

namespace headroom::engine {
namespace {

thread_local bool inside_parallel = false;

int default_threads() {
  static const int threads = [] {
    const char* text = std::getenv("HEADROOM_THREADS");
    if (!text) return processor_limit().count;
    const auto value = read_number(text, 1, 4096);
    require(value.has_value(), "HEADROOM_THREADS: '{}' is not a number from 1 to 4096", excerpt(text));
    return *value;
  }();
  return threads;
}

/// One parallel call: workers take indices until none is left or one failed.
struct Job {
  int64_t count;
  detail::Task task;
  const void* data;
  Context inherited;
  std::atomic<int64_t> next{0};
  std::exception_ptr error;
  std::mutex error_mutex;

  void work() {
    const ContextScope scope(inherited);
    inside_parallel = true;
    for (int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      try {
        check_stopped();
        task(data, i);
      } catch (...) {
        const std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
        next.store(count);
      }
    }
    inside_parallel = false;
  }
};

#ifdef HEADROOM_OPENMP

void run_on_threads(Job& job, int threads) {
#pragma omp parallel num_threads(threads)
  job.work();
}

#else

/// One pause of a busy wait.
inline void pause() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

/// Waits until ready(word): about 50 µs awake, since the next loop of a training step is near, then asleep. Never
/// longer awake: on a busy machine whoever we wait for may need this very core.
template <class T, class F>
T await(const std::atomic<T>& word, const F& ready) {
  for (int i = 0; i < 2000; ++i) {
    if (const T value = word.load(std::memory_order_acquire); ready(value)) return value;
    pause();
  }
  for (;;) {
    const T value = word.load(std::memory_order_acquire);
    if (ready(value)) return value;
    word.wait(value, std::memory_order_acquire);
  }
}

/// The helpers of one calling thread. A job is open while its caller works on it: helpers join if they come in time,
/// and the caller waits only for those that did, so a helper that got no core costs nothing.
class Pool {
 public:
  ~Pool() {
    announce(stop);
    for (std::thread& helper : helpers_) helper.join();
  }

  void run(Job& job, int threads) {
    const size_t wanted = std::min<size_t>(static_cast<size_t>(threads - 1), stop - 1);
    grow(wanted);
    job_ = &job;
    inside_.store(0, std::memory_order_release);
    announce(static_cast<uint32_t>(wanted));
    job.work();
    inside_.fetch_or(closed, std::memory_order_acq_rel);
    await(inside_, [](uint32_t inside) { return inside == closed; });
  }

 private:
  static constexpr uint32_t closed = 1u << 31, stop = 0xfff;

  /// The low 12 bits of a call say how many helpers it needs (or `stop`), the others count the calls.
  void announce(uint32_t wanted) {
    call_.store(((call_.load(std::memory_order_relaxed) >> 12) + 1) << 12 | wanted, std::memory_order_release);
    call_.notify_all();
  }

  /// Starts fewer helpers if the system gives no more threads: the results are the same.
  void grow(size_t wanted) {
    try {
      while (helpers_.size() < wanted)
        helpers_.emplace_back([this, id = helpers_.size(), seen = call_.load()] { loop(id, seen); });
    } catch (const std::system_error&) {
    }
  }

  bool join() {
    uint32_t inside = inside_.load(std::memory_order_acquire);
    while (!(inside & closed))
      if (inside_.compare_exchange_weak(inside, inside + 1, std::memory_order_acq_rel)) return true;
    return false;
  }

  void loop(size_t id, uint32_t seen) {
    for (;;) {
      seen = await(call_, [seen](uint32_t call) { return call != seen; });
      const uint32_t wanted = seen & stop;
      if (wanted == stop) return;
      if (id >= wanted || !join()) continue;
      job_.load(std::memory_order_relaxed)->work();
      if (inside_.fetch_sub(1, std::memory_order_acq_rel) == (closed | 1)) inside_.notify_one();
    }
  }

  std::vector<std::thread> helpers_;
  std::atomic<Job*> job_{nullptr};
  std::atomic<uint32_t> call_{0};         ///< changes with every job
  std::atomic<uint32_t> inside_{closed};  ///< helpers at work on the job; `closed` when no more may join
};

void run_on_threads(Job& job, int threads) {
  // One pool per calling thread: trials that run in parallel do not wait for each other.
  thread_local Pool pool;
  pool.run(job, threads);
}

#endif

}  // namespace

int num_threads() { return context().threads > 0 ? context().threads : default_threads(); }

const char* parallel_backend() {
#ifdef HEADROOM_OPENMP
  return "OpenMP";
#else
  return "std::thread";
#endif
}

namespace detail {

int64_t count_ranges(int64_t n, int64_t grain) {
  require(grain >= 1, "parallel_ranges: ranges of {} elements", grain);
  return n <= 0 ? 0 : (n - 1) / grain + 1;
}

void run_tasks(int64_t count, Task task, const void* data) {
  if (count <= 0) return;
  const int threads = static_cast<int>(std::min<int64_t>(count, num_threads()));
  if (threads == 1 || inside_parallel) {
    for (int64_t i = 0; i < count; ++i) {
      check_stopped();
      task(data, i);
    }
    return;
  }
  Job job{count, task, data, context(), {}, {}, {}};
  run_on_threads(job, threads);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace detail
}  // namespace headroom::engine
