#pragma once
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "experiments/run/store.h"

namespace headroom::experiments {

/// Tells a store every few seconds, from a thread of its own, that this process still works on the trials it holds, and
/// how far they are.
class Heart {
 public:
  explicit Heart(RunStore& store);
  ~Heart();
  Heart(const Heart&) = delete;
  Heart& operator=(const Heart&) = delete;

  const Owner& owner() const { return owner_; }
  void update(const std::string& trial, int64_t step, int64_t steps, double loss);

  /// A trial that is held while it lives; at its end the lease is given back, if it is still there.
  class Hold {
   public:
    Hold(Heart& heart, std::string trial);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    Heart& heart_;
    std::string trial_;
  };

 private:
  void beat_until_stopped();

  RunStore& store_;
  const Owner owner_ = this_process();
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_stopped_ = false;
  std::map<std::string, Lease> held_;
  std::thread thread_;
};

}  // namespace headroom::experiments
