#pragma once
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "experiments/studies/run/store.h"

namespace headroom::experiments {

/// Renews this process's leases in a store every few seconds, from a thread of its own, with how far each trial is.
class LeaseKeeper {
 public:
  explicit LeaseKeeper(RunStore& store);
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  const Owner& owner() const { return owner_; }
  /// Notes how far a trial is. False when the latest renewal found its lease to be another's.
  bool update(const std::string& trial, int64_t step, int64_t steps, double loss);

  /// Keeps one trial's lease while it lives, and then gives it back if it is still there.
  class Hold {
   public:
    Hold(LeaseKeeper& keeper, std::string trial);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    LeaseKeeper& keeper_;
    std::string trial_;
  };

 private:
  void renew_until_stopped();

  RunStore& store_;
  const Owner owner_ = this_process();
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_stopped_ = false;
  std::map<std::string, Lease> held_;
  std::set<std::string> lost_;  ///< of held_
  std::thread thread_;
};

}  // namespace headroom::experiments
