#include "experiments/program/serve/job_threads.h"

#include <utility>

namespace headroom::experiments {

JobThreads::JobThreads(size_t count) {
  for (size_t i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
}

bool JobThreads::add(const std::function<void()>& before, std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (!takes_more_) return false;
    jobs_.push_back(std::move(job));
    before();
  }
  changed_.notify_one();
  return true;
}

void JobThreads::finish() {
  {
    const std::lock_guard lock(mutex_);
    takes_more_ = false;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void JobThreads::work() {
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

}  // namespace headroom::experiments
