#pragma once
#include <optional>

#include "experiments/studies/claims/curve.h"

namespace headroom::experiments {

/// The x at which a curve is best, between the x that were measured.
struct Optimum {
  double log_x = 0;     ///< ln of it: the mean over seeds
  double variance = 0;  ///< of that mean
  int seeds = 0;
  double low = 0, high = 0;  ///< 90 % interval of x, by Student's t over the seeds; NaN where they agree
  bool is_at_end = false;    ///< the best mean stands at an end of the sweep: the optimum may lie beyond it
};

/// Each seed's own curve has its best at the vertex of the parabola through log(metric) over log(x) at its best x and
/// the two beside it (of the metric itself where larger is better). None where fewer than two seeds have values at
/// every x, the curve has fewer than three x, or an x or a value has no logarithm.
std::optional<Optimum> optimum(const Curve& curve);

}  // namespace headroom::experiments
