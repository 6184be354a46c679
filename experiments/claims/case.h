#pragma once
#include <string>
#include <vector>

#include "experiments/claims/claims.h"
#include "experiments/claims/curve.h"
#include "experiments/claims/statistics.h"

namespace headroom::experiments {

/// What every judge works on: one claim and the curve that it is about.
struct Case {
  const StudyResults& results;
  const ClaimConfig& claim;
  const Curve curve;       ///< of the claim's metric, x in [from, to]
  const std::string axis;  ///< "heads"

  /// The mean over seeds that the claim compares.
  double value(const Point& p) const { return claim.log_error ? p.geometric_mean : p.mean; }
  bool better(const Point& a, const Point& b) const { return curve.better(value(a), value(b)); }
  /// How many times worse `a` is than `b`.
  double times_worse(double a, double b) const { return curve.larger_is_better ? b / a : a / b; }
  /// The point of the best value in [first, last).
  template <class It>
  It best(It first, It last) const {
    return std::min_element(first, last, [&](const Point& a, const Point& b) { return better(a, b); });
  }

  /// Is the metric at `a` larger than at `b`? Over the seeds that both have.
  PairedTest larger(const Point& a, const Point& b) const;
  /// Is the metric at `a` worse than at `b`?
  PairedTest worse(const Point& a, const Point& b) const {
    return curve.larger_is_better ? larger(b, a) : larger(a, b);
  }
  bool significant(double p) const { return p < claim.significance; }

  /// Seeds that a verdict wants: one where values are computed, two where they are sampled.
  size_t wanted_seeds() const { return claim.deterministic ? 1 : 2; }
  bool too_few(const Point& p) const { return p.values.size() < wanted_seeds(); }

  /// "heads = 4".
  std::string at(const Point& p) const;
  /// "error", or the metric's name where larger is better.
  std::string noun() const { return curve.larger_is_better ? curve.metric : "error"; }
  /// "smallest error", "largest accuracy".
  std::string best_noun() const { return (curve.larger_is_better ? "largest " : "smallest ") + noun(); }
};

/// The curve of a series without the x outside the claim's [from, to].
Curve curve_in_range(const StudyResults& results, const std::string& series, const std::string& metric,
                     const ClaimConfig& claim);

/// Gives `verdict` the status not_run, and the reason.
void not_run(Verdict& verdict, const std::string& reason);
/// Gives `verdict` the status undecided, and the reason in front of what was measured.
void too_few_seeds(const Case& c, Verdict& verdict, size_t seeds);

}  // namespace headroom::experiments
