#include "experiments/run/heart.h"

#include <chrono>

#include "engine/error.h"

namespace headroom::experiments {

Heart::Heart(RunStore& store) : store_(store), thread_([this] { beat_until_stopped(); }) {}

Heart::~Heart() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Heart::update(const std::string& trial, int64_t step, int64_t steps, double loss) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(trial);
  if (found == held_.end()) return;
  found->second.step = step;
  found->second.steps = steps;
  found->second.loss = loss;
}

void Heart::beat_until_stopped() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::duration<double>(beat_seconds), [this] { return is_stopped_; })) {
    std::vector<Lease> leases;
    for (const auto& [trial, lease] : held_) leases.push_back(lease);
    lock.unlock();
    try {
      if (!leases.empty()) store_.beat(leases, wall_clock());
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the next beat tries again, and what must be kept says so
    }
    lock.lock();
  }
}

Heart::Hold::Hold(Heart& heart, std::string trial) : heart_(heart), trial_(std::move(trial)) {
  const std::lock_guard lock(heart_.mutex_);
  Lease& lease = heart_.held_[trial_];
  lease.trial = trial_;
  lease.owner = heart_.owner_;
}

Heart::Hold::~Hold() {
  {
    const std::lock_guard lock(heart_.mutex_);
    heart_.held_.erase(trial_);
  }
  try {
    heart_.store_.release(trial_, heart_.owner_);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): a lease that stays ends by itself
  }
}

}  // namespace headroom::experiments
