#include "tasks/theory/constructive/construction.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "engine/error.h"
#include "tasks/theory/allocation.h"

namespace headroom::tasks {
namespace {

constexpr int64_t most_size = 1 << 16;  ///< of a width, a lag or a number of heads

void check_size(const char* field, int64_t value) {
  require(value >= 1 && value <= most_size, "construction: {} is {}, expected 1 to {}", field, value, most_size);
}

void check(const ConstructionConfig& c) {
  check_size("token_dim", c.token_dim);
  require(c.width >= 0 && c.width <= most_size, "construction: width is {}, expected 0 (the least) to {}", c.width,
          most_size);
  require(c.epsilon > 0 && c.epsilon < 1, "construction: epsilon is {}, must be in (0, 1)", c.epsilon);
  require(!c.target.empty() && !c.groups.empty(), "construction: there is no target or no group of heads");
  std::set<int64_t> lags;
  for (const TargetTerm& term : c.target) {
    require(term.lag >= 0 && term.lag <= most_size, "construction: a target's lag is {}, expected 0 to {}", term.lag,
            most_size);
    require(std::isfinite(term.weight), "construction: the weight of lag {} is {}", term.lag, term.weight);
    require(lags.insert(term.lag).second, "construction: the target has lag {} twice", term.lag);
  }
  for (const FetchGroup& group : c.groups) {
    check_size("lag", group.lag);
    check_size("heads", group.heads);
    check_size("head_dim", group.head_dim);
    require(group.head_dim <= c.token_dim, "construction: head_dim is {}, expected at most token_dim, which is {}",
            group.head_dim, c.token_dim);
    require(group.scale >= 0 && group.scale < 1, "construction: scale is {}, expected 0 (the best) or above, below 1",
            group.scale);
    require(group.first_row >= 0 && group.first_row < c.token_dim, "construction: first_row is {}, expected 0 to {}",
            group.first_row, c.token_dim - 1);
  }
  if (c.kind == Construction::groups) return;
  require(c.mended.interpolation, "construction: residual and shared need interpolation");
  if (c.kind == Construction::residual) return;
  for (const FetchGroup& group : c.groups)
    require(group.head_dim == c.token_dim && group.heads == c.groups[0].heads && group.scale == c.groups[0].scale,
            "construction: shared heads are as wide as the token, and the same for each lag");
}

Fetch fetch_of(const ConstructionConfig& c, const FetchGroup& group, double shared_scale) {
  if (!c.mended.interpolation) return slow_fetch(group.lag, group.heads);
  const double scale = group.scale > 0 ? group.scale : shared_scale;
  if (c.kind == Construction::residual)
    return residual_fetch(group.lag, group.heads,
                          scale > 0 ? scale : best_scale({group.lag}, group.heads, c.epsilon, true));
  return scale > 0 ? chebyshev_fetch(group.lag, group.heads, scale) : float_fetch(group.lag, group.heads, c.epsilon);
}

/// Groups of one lag together read each row at most once.
void check_rows(const ConstructionPlan& plan) {
  std::map<int64_t, std::set<int64_t>> read;
  for (size_t i = 0; i < plan.fetches.size(); ++i)
    for (const int64_t row : rows_read(plan, i))
      require(read[plan.fetches[i].lag].insert(row).second, "construction: two groups of lag {} read row {}",
              plan.fetches[i].lag, row);
}

}  // namespace

double ConstructionPlan::weight(int64_t lag) const {
  for (const TargetTerm& term : config.target)
    if (term.lag == lag) return term.weight;
  return 0;
}

int64_t ConstructionPlan::row(size_t group) const {
  int64_t row = config.mended.own_rows ? config.token_dim : 0;
  for (size_t i = 0; i < group; ++i) row += config.groups[i].head_dim;
  return row;
}

std::vector<int64_t> rows_read(const ConstructionPlan& plan, size_t group) {
  const FetchGroup& heads = plan.config.groups[group];
  const int64_t first = heads.head_dim == plan.config.token_dim ? 0 : heads.first_row;
  std::vector<int64_t> rows;
  for (int64_t r = 0; r < heads.head_dim; ++r) rows.push_back((first + r) % plan.config.token_dim);
  return rows;
}

ConstructionPlan plan_construction(const ConstructionConfig& config) {
  check(config);
  ConstructionPlan plan{.config = config, .fetches = {}};
  double shared_scale = 0;
  if (config.kind == Construction::shared && config.groups[0].scale == 0) {
    std::vector<int64_t> lags;
    for (const FetchGroup& group : config.groups) lags.push_back(group.lag);
    shared_scale = best_scale(lags, config.groups[0].heads, config.epsilon, false);
  }
  int64_t values = 0, longest = 0;
  for (const FetchGroup& group : config.groups) {
    plan.fetches.push_back(fetch_of(config, group, shared_scale));
    values += group.heads * group.head_dim;
  }
  for (const TargetTerm& term : config.target) longest = std::max(longest, term.lag);
  if (config.kind == Construction::shared) values = config.groups[0].heads * config.token_dim;
  plan.zeros = config.mended.zero_front ? longest : 0;
  const int64_t rows = std::max(plan.row(config.groups.size()), config.token_dim);
  if (config.width == 0) plan.config.width = std::max(rows, values);
  require(plan.config.width >= rows, "construction: width is {}; the token and what is fetched need {} rows",
          config.width, rows);
  require(plan.config.width >= values, "construction: width is {}, below heads · head_dim = {}", config.width, values);
  check_rows(plan);
  return plan;
}

double paper_bound(const ConstructionPlan& plan) {
  double bound = 0;
  for (const TargetTerm& term : plan.config.target) {
    if (term.lag == 0) continue;
    int64_t heads = 0, head_dim = 0;
    for (const FetchGroup& group : plan.config.groups) {
      if (group.lag != term.lag) continue;
      heads += group.heads;
      head_dim = group.head_dim;
    }
    const double error = heads == 0 ? 1
                                    : projection_error(head_dim, plan.config.token_dim) +
                                          extraction_error(term.lag, static_cast<double>(heads));
    bound += std::abs(term.weight) * error;
  }
  return bound;
}

double sharp_bound(const ConstructionPlan& plan) {
  double bound = 0;
  for (const TargetTerm& term : plan.config.target) {
    if (term.lag == 0) continue;
    int64_t covered = 0;
    double l1 = 0;
    for (size_t i = 0; i < plan.fetches.size(); ++i) {
      if (plan.fetches[i].lag != term.lag) continue;
      covered += plan.config.groups[i].head_dim;
      l1 = std::max(l1, plan.fetches[i].sum.l1);
    }
    bound += std::abs(term.weight) * (covered == 0 ? 1 : projection_error(covered, plan.config.token_dim) + l1);
  }
  return bound;
}

double worst_case(const ConstructionPlan& plan) {
  int64_t count = 1;
  for (const TargetTerm& term : plan.config.target) count = std::max(count, term.lag + 1);
  for (const Fetch& fetch : plan.fetches) count = std::max(count, weights_that_matter(fetch));
  const auto rows = static_cast<size_t>(plan.config.token_dim);
  // All P_mᵀP_m and ρ_s are diagonal in the DCT's basis: error[s][row].
  std::vector<std::vector<double>> error(static_cast<size_t>(count), std::vector<double>(rows, 0.0));
  for (const TargetTerm& term : plan.config.target)
    if (term.lag > 0) error[static_cast<size_t>(term.lag)].assign(rows, -term.weight);
  for (size_t i = 0; i < plan.fetches.size(); ++i) {
    const std::vector<double> weights = fetched_weights(plan.fetches[i], count);
    const double rho = plan.weight(plan.fetches[i].lag);
    for (const int64_t row : rows_read(plan, i))
      for (size_t s = 0; s < weights.size(); ++s) error[s][static_cast<size_t>(row)] += rho * weights[s];
  }
  double sum = 0;
  for (const std::vector<double>& at : error) {
    double largest = 0;
    for (const double value : at) largest = std::max(largest, std::abs(value));
    sum += largest;
  }
  return sum;
}

}  // namespace headroom::tasks
