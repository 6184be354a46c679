#pragma once

namespace headroom::engine {

/// Numbers that share a step, each with a weight ≥ 0: x ≈ step · q + minimum with an integer q in [low, high]. `count`
/// is a multiple of 8 and at most 32.
struct WeightedRun {
  const float *x, *weight;
  int count, low, high;
};

/// Whether a run has a minimum: none, one that is not above 0, or any.
enum class RunMinimum { none, not_above_zero, any };

/// A step and a minimum, and the loss Σ w e² of the nearest q, e = step · q + minimum - x.
struct RunFit {
  float step = 0, minimum = 0;
  double loss = 0;
};

/// The loss at a step and a minimum, and the sums by which least squares corrects both for the same q.
struct RunSums {
  double loss, w, wq, wqq, we, weq;
};
RunSums sums_at(const WeightedRun& run, float step, float minimum);

/// The step and minimum that least squares gives for the q of these sums, which are those at `at`.
RunFit corrected(const RunFit& at, const RunSums& sums, RunMinimum kind);

/// The nearest q, as floats: the one that sums_at() weighs.
void nearest(const WeightedRun& run, float step, float minimum, float* q);

/// The least loss that alternating least squares finds from a list of steps: q is rounded for a step and a minimum,
/// these are solved for q, and so on. Same bits on every machine.
RunFit best_fit(const WeightedRun& run, RunMinimum kind);

}  // namespace headroom::engine
