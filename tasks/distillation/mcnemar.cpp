#include "tasks/distillation/mcnemar.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>

#include "engine/error.h"
#include "tasks/no_throw.h"

namespace headroom::tasks {

McNemar mcnemar(const std::vector<uint8_t>& first, const std::vector<uint8_t>& second) {
  require(first.size() == second.size(), "McNemar's test: {} items against {}", first.size(), second.size());
  McNemar out;
  for (size_t i = 0; i < first.size(); ++i) {
    out.only_first += first[i] && !second[i] ? 1 : 0;
    out.only_second += second[i] && !first[i] ? 1 : 0;
  }
  const int64_t differ = out.only_first + out.only_second;
  if (differ == 0) return out;
  const boost::math::binomial_distribution<double, NoThrow> coins(static_cast<double>(differ), 0.5);
  out.p = std::min(1.0, 2 * boost::math::cdf(coins, static_cast<double>(std::min(out.only_first, out.only_second))));
  return out;
}

}  // namespace headroom::tasks
