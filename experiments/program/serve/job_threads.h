#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace headroom::experiments {

/// Threads that run jobs in order of arrival. Jobs must not throw.
class JobThreads {
 public:
  /// Throws std::system_error where the system gives no more threads.
  explicit JobThreads(size_t count) {
    try {
      for (size_t i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
    } catch (...) {
      finish();  // those that there are would end the program
      throw;
    }
  }
  ~JobThreads() { finish(); }
  JobThreads(const JobThreads&) = delete;
  JobThreads& operator=(const JobThreads&) = delete;

  /// Runs `before` and queues `job`. After finish(), does neither and returns false.
  bool add(const std::function<void()>& before, std::function<void()> job) {
    {
      const std::lock_guard lock(mutex_);
      if (!takes_more_) return false;
      jobs_.push_back(std::move(job));
      before();
    }
    changed_.notify_one();
    return true;
  }
  /// Accepts no more jobs, and waits for all queued ones.
  void finish() {
    {
      const std::lock_guard lock(mutex_);
      takes_more_ = false;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return !jobs_.empty() || !takes_more_; });
      if (jobs_.empty()) return;
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool takes_more_ = true;
  std::vector<std::thread> threads_;
};

}  // namespace headroom::experiments
