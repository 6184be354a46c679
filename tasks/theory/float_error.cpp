#include "tasks/theory/float_error.h"

#include <algorithm>
#include <memory>

#include "engine/parallel.h"
#include "tasks/theory/float_error_fit.h"

namespace headroom::tasks {
namespace {

constexpr int64_t enough_heads = 16;  ///< more gain less than 1 %
constexpr int64_t lags_at_once = 4;   ///< fitted in parallel, past the last within reach too
constexpr double out_of_reach = 1 - 1e-9;

}  // namespace

FloatErrors::FloatErrors(int64_t lags, double epsilon) {
  const HeadFitter fitter(enough_heads, epsilon);
  struct Fitted {
    std::vector<HeadFit> fits;
    double least = 0;
  };
  for (int64_t before = 0; before < lags; before += lags_at_once) {
    std::vector<Fitted> wave(static_cast<size_t>(std::min(lags_at_once, lags - before)));
    engine::parallel_for(static_cast<int64_t>(wave.size()), [&](int64_t i) {
      wave[static_cast<size_t>(i)] = {fitter.fits(before + i + 1), fitter.least(before + i + 1)};
    });
    for (const Fitted& lag : wave) {
      least_.push_back(lag.least);
      if (lag.fits.back().estimate >= out_of_reach) return;
      estimates_.emplace_back();
      for (const HeadFit& fit : lag.fits) estimates_.back().push_back(fit.estimate);
    }
  }
}

double FloatErrors::estimate(int64_t lag, int64_t heads) const {
  if (lag > reach() || heads <= lag) return 1;
  return estimates_[static_cast<size_t>(lag - 1)][static_cast<size_t>(std::min(heads, enough_heads) - 1)];
}

double FloatErrors::least(int64_t lag) const { return least_[std::min(static_cast<size_t>(lag), least_.size()) - 1]; }

GroupError float_error(const LagRanks& ranks, const FloatErrors& errors) {
  return [errors = std::make_shared<FloatErrors>(errors), ranks](const LagGroup& group) {
    return projection_error(group.head_dim, ranks.at(group.lag)) + errors->estimate(group.lag, group.heads);
  };
}

}  // namespace headroom::tasks
