#include "tasks/theory/float_error.h"

#include <iterator>
#include <map>
#include <memory>
#include <vector>

#include "tasks/theory/exponential_sum.h"

namespace headroom::tasks {
namespace {

constexpr int64_t enough_heads = 64;  ///< more never gain: their amplitudes grow past what f32 holds
constexpr double out_of_reach = 1 - 1e-9;

/// The best estimate by number of heads: a staircase, heads at which it falls → value.
using Staircase = std::map<int64_t, double>;

Staircase staircase_of(int64_t lag, double epsilon) {
  Staircase steps;
  for (int64_t heads = enough_heads; heads > lag;) {
    const FloatFit fit = best_float_fit(lag, heads, epsilon);
    if (fit.sum.nodes.empty() || fit.estimate >= out_of_reach) break;
    const auto used = static_cast<int64_t>(fit.sum.nodes.size());
    steps[used] = fit.estimate;
    heads = used - 1;
  }
  return steps;
}

}  // namespace

GroupError float_error(int64_t token_dim, int64_t lags, double epsilon) {
  const auto table = std::make_shared<std::vector<Staircase>>();
  for (int64_t lag = 1; lag <= lags; ++lag) {
    table->push_back(staircase_of(lag, epsilon));
    if (table->back().empty()) break;
  }
  return [table, token_dim](const LagGroup& group) {
    const double lost = projection_error(group.head_dim, token_dim);
    if (group.lag > static_cast<int64_t>(table->size())) return lost + 1;
    const Staircase& steps = (*table)[static_cast<size_t>(group.lag - 1)];
    const auto above = steps.upper_bound(group.heads);
    return lost + (above == steps.begin() ? 1 : std::prev(above)->second);
  };
}

}  // namespace headroom::tasks
