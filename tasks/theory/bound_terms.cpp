#include "tasks/theory/bound_terms.h"

#include <cmath>

#include "engine/error.h"
#include "tasks/theory/random_projection.h"

namespace headroom::tasks {
namespace {

/// ‖ρ‖ of a group's lag.
double norm_of(const std::vector<double>& rho, const LagGroup& group) {
  require(group.lag >= 1 && group.lag <= static_cast<int64_t>(rho.size()),
          "bound terms: a group serves lag {}, rho has lags 1..{}", group.lag, rho.size());
  return rho[static_cast<size_t>(group.lag - 1)];
}

double truncated(const std::vector<double>& rho, const std::vector<LagGroup>& groups) {
  std::vector<double> left = rho;
  for (const LagGroup& group : groups) {
    norm_of(rho, group);
    left[static_cast<size_t>(group.lag - 1)] = 0;
  }
  double sum = 0;
  for (const double value : left) sum += value;
  return sum;
}

}  // namespace

BoundTerms bound_terms(const std::vector<double>& rho, const std::vector<LagGroup>& groups, const LagRanks& ranks,
                       double risk) {
  require(risk > 0 && risk < 1, "bound terms: the risk is {}: expected a probability between 0 and 1", risk);
  BoundTerms terms{.truncation = truncated(rho, groups)};
  const auto lags = static_cast<double>(groups.size());
  for (const LagGroup& group : groups) {
    const double norm = norm_of(rho, group);
    const int64_t token_dim = ranks.at(group.lag);
    terms.projection += norm * projection_error(group.head_dim, token_dim);
    terms.extraction += norm * extraction_error(group.lag, static_cast<double>(group.heads));
    if (group.head_dim >= token_dim) continue;
    terms.concentration +=
        norm * std::sqrt(std::log(2 * lags / risk) / (concentration_constant * static_cast<double>(token_dim)));
    terms.exact_projection += norm * ProjectionLaw(token_dim, group.head_dim).quantile(risk / lags);
  }
  return terms;
}

double objective_of(const std::vector<double>& rho, const std::vector<LagGroup>& groups, const GroupError& error) {
  double sum = truncated(rho, groups);
  for (const LagGroup& group : groups) sum += norm_of(rho, group) * error(group);
  return sum;
}

}  // namespace headroom::tasks
