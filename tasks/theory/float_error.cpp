#include "tasks/theory/float_error.h"

#include <algorithm>
#include <memory>

#include "tasks/theory/float_error_fit.h"

namespace headroom::tasks {
namespace {

constexpr int64_t enough_heads = 16;  ///< more gain less than 1 %
constexpr double out_of_reach = 1 - 1e-9;

}  // namespace

FloatErrors::FloatErrors(int64_t lags, double epsilon) {
  const HeadFitter fitter(enough_heads, epsilon);
  for (int64_t lag = 1; lag <= lags; ++lag) {
    const std::vector<HeadFit> fits = fitter.fits(lag);
    least_.push_back(fitter.least(lag));
    if (fits.back().estimate >= out_of_reach) break;
    estimates_.emplace_back();
    for (const HeadFit& fit : fits) estimates_.back().push_back(fit.estimate);
  }
}

double FloatErrors::estimate(int64_t lag, int64_t heads) const {
  if (lag > reach() || heads <= lag) return 1;
  return estimates_[static_cast<size_t>(lag - 1)][static_cast<size_t>(std::min(heads, enough_heads) - 1)];
}

double FloatErrors::least(int64_t lag) const { return least_[std::min(static_cast<size_t>(lag), least_.size()) - 1]; }

GroupError float_error(int64_t token_dim, const FloatErrors& errors) {
  return [errors = std::make_shared<FloatErrors>(errors), token_dim](const LagGroup& group) {
    return projection_error(group.head_dim, token_dim) + errors->estimate(group.lag, group.heads);
  };
}

}  // namespace headroom::tasks
