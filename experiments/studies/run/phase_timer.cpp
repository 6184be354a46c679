#include "experiments/studies/run/phase_timer.h"

#include <algorithm>
#include <mutex>

#include "engine/error.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/parallel.h"
#include "engine/rng.h"
#include "experiments/studies/analysis/statistics.h"

namespace headroom::experiments {

void PhaseTimer::end(tasks::Phase phase) {
  const Clock::time_point now = Clock::now();
  if (phase != tasks::Phase::batch)
    times_[static_cast<size_t>(phase) - 1].push_back(std::chrono::duration<double, std::milli>(now - last_).count());
  last_ = now;
}

void PhaseTimer::reset() {
  for (std::vector<double>& times : times_) times.clear();
}

std::map<std::string, double> PhaseTimer::metrics(double forward_flops, double peak) const {
  require(steps() > 0, "phase timer: no step was timed");
  std::vector<double> whole(times_[0].size(), 0.0);
  for (const std::vector<double>& times : times_)
    for (size_t i = 0; i < whole.size() && i < times.size(); ++i) whole[i] += times[i];
  const double forward = median(times_[0]), backward = median(times_[1]);
  const double forward_rate = forward_flops / (forward * 1e-3), backward_rate = 2 * forward_flops / (backward * 1e-3);
  return {{"forward_ms", forward},
          {"backward_ms", backward},
          {"update_ms", median(times_[2])},
          {"step_ms", median(whole)},
          {"forward_gflop", forward_flops * 1e-9},
          {"forward_gflops", forward_rate * 1e-9},
          {"backward_gflops", backward_rate * 1e-9},
          {"peak_gflops", peak * 1e-9},
          {"share_of_peak", forward_rate / peak},
          {"backward_share_of_peak", backward_rate / peak}};
}

double measured_peak() {
  constexpr int64_t n = 1024;
  // Number of products without a better one before stopping: a neighbour's burst is shorter, or permanent.
  constexpr int patience = 12;
  static std::mutex mutex;
  static std::map<int, double> best_of_threads;
  engine::Rng rng(0);
  const engine::Tensor a = engine::random_normal({n, n}, rng, "a");  // (n, n)
  const engine::Tensor b = engine::random_normal({n, n}, rng, "b");  // (n, n)
  engine::matmul(a, b);                                              // (n, n), warms up
  const std::lock_guard lock(mutex);
  double& best = best_of_threads[engine::num_threads()];
  for (int left = patience; left > 0; --left) {
    const auto begin = std::chrono::steady_clock::now();
    const engine::Tensor c = engine::matmul(a, b);  // (n, n)
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double rate = 2.0 * n * n * n / seconds;
    if (rate > 1.01 * best) left = patience + 1;
    best = std::max(best, rate);
  }
  return best;
}

}  // namespace headroom::experiments
