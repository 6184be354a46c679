#include "engine/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "engine/error.h"

#ifdef HEADROOM_OPENMP
#include <omp.h>
#else
#include <condition_variable>
#include <vector>
#endif

namespace headroom::engine {
namespace {

thread_local int limit_of_this_thread = 0;
thread_local bool inside_parallel = false;
thread_local detail::Context context_of_this_thread;

int default_threads() {
  static const int threads = [] {
    const char* text = std::getenv("HEADROOM_THREADS");
    if (!text) return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    require(*text && !*end && value >= 1 && value <= 4096, "HEADROOM_THREADS: '{}' is not a number from 1 to 4096", text);
    return static_cast<int>(value);
  }();
  return threads;
}

/// One parallel call: workers take indices until none is left or one failed.
struct Job {
  int64_t count;
  detail::Task task;
  const void* context;
  detail::Context inherited;
  std::atomic<int64_t> next{0};
  std::exception_ptr error;
  std::mutex error_mutex;

  void work() {
    const detail::Context own = context_of_this_thread;
    context_of_this_thread = inherited;
    inside_parallel = true;
    for (int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      try {
        task(context, i);
      } catch (...) {
        const std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
        next.store(count);
      }
    }
    inside_parallel = false;
    context_of_this_thread = own;
  }
};

#ifdef HEADROOM_OPENMP

void run_on_threads(Job& job, int threads) {
#pragma omp parallel num_threads(threads)
  job.work();
}

#else

/// Workers that sleep between jobs. One job at a time; a second caller (another trial's thread) waits its turn.
class Pool {
 public:
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  void run(Job& job, int threads) {
    const std::lock_guard turn(turn_);
    {
      const std::lock_guard lock(mutex_);
      while (static_cast<int>(workers_.size()) < threads - 1) {
        const int id = static_cast<int>(workers_.size());
        workers_.emplace_back([this, id] { loop(id); });
      }
      job_ = &job;
      helpers_ = running_ = threads - 1;
      ++generation_;
    }
    wake_.notify_all();
    job.work();
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return running_ == 0; });
  }

 private:
  void loop(int id) {
    uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return stop_ || (generation_ != seen && id < helpers_); });
      if (stop_) return;
      seen = generation_;
      Job* job = job_;
      lock.unlock();
      job->work();
      lock.lock();
      if (--running_ == 0) done_.notify_one();
    }
  }

  std::mutex turn_, mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> workers_;
  Job* job_ = nullptr;
  int helpers_ = 0, running_ = 0;
  uint64_t generation_ = 0;
  bool stop_ = false;
};

void run_on_threads(Job& job, int threads) {
  static Pool pool;
  pool.run(job, threads);
}

#endif

}  // namespace

int num_threads() { return limit_of_this_thread > 0 ? limit_of_this_thread : default_threads(); }

ThreadScope::ThreadScope(int threads) : previous_(limit_of_this_thread) {
  require(threads >= 1, "threads: {} is not a positive number", threads);
  limit_of_this_thread = threads;
}
ThreadScope::~ThreadScope() { limit_of_this_thread = previous_; }

const char* parallel_backend() {
#ifdef HEADROOM_OPENMP
  return "OpenMP";
#else
  return "std::thread";
#endif
}

namespace detail {

Context& thread_context() { return context_of_this_thread; }

void run_tasks(int64_t count, Task task, const void* context) {
  if (count <= 0) return;
  const int threads = static_cast<int>(std::min<int64_t>(count, num_threads()));
  if (threads == 1 || inside_parallel) {
    for (int64_t i = 0; i < count; ++i) task(context, i);
    return;
  }
  Job job{count, task, context, context_of_this_thread, {}, {}, {}};
  run_on_threads(job, threads);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace detail
}  // namespace headroom::engine
