#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tasks/training/trainer.h"

namespace headroom::experiments {

/// Wall time of each phase of each step. Reports medians, which a neighbour's burst does not change.
class PhaseTimer {
 public:
  /// Ends `phase`, which began when the last one ended. Making the batch is not timed.
  void end(tasks::Phase phase);

  /// Discards the steps so far, which warmed up caches and the allocator.
  void reset();
  int64_t steps() const { return static_cast<int64_t>(times_[0].size()); }

  /// "forward_ms", "backward_ms", "update_ms", "step_ms": medians over the steps; and, of `forward_flops`
  /// matrix-product FLOPs per forward pass (twice as many backward) and a machine of `peak` FLOP/s, "forward_gflop",
  /// "forward_gflops", "backward_gflops", "peak_gflops" (10⁹ per second), "share_of_peak" and "backward_share_of_peak".
  /// Throws Error without a step.
  std::map<std::string, double> metrics(double forward_flops, double peak) const;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_{};
  std::array<std::vector<double>, 3> times_;  ///< ms of forward, backward and update
};

/// FLOP/s of the engine's f32 matrix product on this machine with this thread's num_threads(): the best product of
/// 1024 × 1024 matrices that this process has seen in all calls, tried again until twelve in a row are no better. Takes
/// about half a second; it never falls, so that a call beside other load does not make a peak of less.
double measured_peak();

}  // namespace headroom::experiments
