#include "experiments/studies/run/lease_keeper.h"

#include <chrono>

#include "engine/error.h"

namespace headroom::experiments {

LeaseKeeper::LeaseKeeper(RunStore& store) : store_(store), thread_([this] { renew_until_stopped(); }) {}

LeaseKeeper::~LeaseKeeper() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

bool LeaseKeeper::update(const std::string& trial, int64_t step, int64_t steps, double loss) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(trial);
  if (found == held_.end()) return false;
  found->second.step = step;
  found->second.steps = steps;
  found->second.loss = loss;
  return !lost_.contains(trial);
}

void LeaseKeeper::renew_until_stopped() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::duration<double>(renewal_seconds), [this] { return is_stopped_; })) {
    std::vector<Lease> leases;
    for (const auto& [trial, lease] : held_) leases.push_back(lease);
    lock.unlock();
    std::vector<std::string> lost;
    try {
      if (!leases.empty()) lost = store_.renew(leases, wall_clock());
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the next renewal tries again
    }
    lock.lock();
    for (const std::string& trial : lost)
      if (held_.contains(trial)) lost_.insert(trial);
  }
}

LeaseKeeper::Hold::Hold(LeaseKeeper& keeper, std::string trial) : keeper_(keeper), trial_(std::move(trial)) {
  const std::lock_guard lock(keeper_.mutex_);
  keeper_.lost_.erase(trial_);
  Lease& lease = keeper_.held_[trial_];
  lease.trial = trial_;
  lease.owner = keeper_.owner_;
}

LeaseKeeper::Hold::~Hold() {
  {
    const std::lock_guard lock(keeper_.mutex_);
    keeper_.held_.erase(trial_);
    keeper_.lost_.erase(trial_);
  }
  try {
    keeper_.store_.release(trial_, keeper_.owner_);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): a lease that stays ends by itself
  }
}

}  // namespace headroom::experiments
