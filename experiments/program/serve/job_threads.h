#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace headroom::experiments {

/// Threads that carry out jobs in the order in which they came. A job throws nothing.
class JobThreads {
 public:
  explicit JobThreads(size_t count);
  ~JobThreads() { finish(); }
  JobThreads(const JobThreads&) = delete;
  JobThreads& operator=(const JobThreads&) = delete;

  /// Does `before` and hands over `job`, unless finish() has been called: then does neither, and returns false.
  bool add(const std::function<void()>& before, std::function<void()> job);
  /// Takes no more jobs, and waits until all that it has are done.
  void finish();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool takes_more_ = true;
  std::vector<std::thread> threads_;
};

}  // namespace headroom::experiments
