#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace headroom::autograd {

/// Settings of one factor of a learning-rate schedule.
struct ScheduleConfig {
  std::string kind = "constant";  ///< constant | warmup | cosine | step | inverse_sqrt | reduce_on_plateau
  int64_t warmup = 0;             ///< warmup, inverse_sqrt: steps of linear rise
  int64_t steps = 0;              ///< cosine: length of the fall, without warm-up; step: steps between drops
  int64_t start = 0;              ///< cosine: first step of the fall
  double final_factor = 0.0;      ///< cosine: final value
  double factor = 0.1;            ///< step, reduce_on_plateau: each drop
  int64_t patience = 10;          ///< reduce_on_plateau: evaluations without improvement
  double threshold = 1e-4;        ///< reduce_on_plateau: relative improvement that counts
};

/// A factor on the base learning rate. Steps count from 0: factor(0) is for the first update. Threads: one at a time.
class Schedule {
 public:
  virtual ~Schedule() = default;
  virtual double factor(int64_t step) const = 0;
  /// Reports a validation loss; only reduce_on_plateau uses it.
  virtual void observe(double) {}
  virtual std::string describe() const = 0;
  /// State for checkpoints: empty unless the schedule observes.
  virtual std::vector<double> state() const { return {}; }
  virtual void load_state(const std::vector<double>&) {}
};

/// The product of the given factors. Throws Error naming the field out of range, or the unknown kind.
std::unique_ptr<Schedule> make_schedule(const std::vector<ScheduleConfig>& factors);

}  // namespace headroom::autograd
