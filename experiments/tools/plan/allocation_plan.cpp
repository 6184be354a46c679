#include "experiments/tools/plan/allocation_plan.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "engine/error.h"
#include "tasks/theory/float_error.h"

namespace headroom::experiments {
namespace {

constexpr int64_t widest_model = 1 << 20;
constexpr double most_steps = 7e10;  ///< minutes
constexpr double flat_shares[] = {0.01, 0.05, 0.10};

tasks::LagRanks ranks_of(const AllocationRequest& request) { return {request.token_dim, request.ranks}; }

void check(const AllocationRequest& request) {
  const auto check_width = [](const char* name, int64_t value) {
    require(value >= 1, "{}: expected >= 1, got {}", name, value);
    require(value <= widest_model, "{}: expected at most {}, got {}", name, widest_model, value);
  };
  check_width("--width", request.width);
  check_width("--token-dim", request.token_dim);
  tasks::check_ranks("--ranks", ranks_of(request));
  require(request.ranks.size() <= request.decay.norms.size(), "--ranks: {} of them, but the decay has {} lags",
          request.ranks.size(), request.decay.norms.size());
  require(request.ranks.empty() || request.fits.empty(), "--ranks: not with --from-study, whose target has its own");
  require(request.risk > 0 && request.risk < 1, "--risk: expected a probability between 0 and 1, got {}", request.risk);
  check_norms(request.decay.norms);
  const auto width = static_cast<double>(request.width), lags = static_cast<double>(request.decay.norms.size());
  require(width * width * lags <= most_steps, "--width: {} with {} lags needs {:.1e} steps of a search, at most {:.1e}",
          request.width, request.decay.norms.size(), width * width * lags, most_steps);
}

EqualHeads equal_heads_of(const AllocationRequest& request, int64_t head_dim) {
  const std::vector<double>& rho = request.decay.norms;
  const int64_t heads = request.width / head_dim;
  const tasks::Lags lags = request.rules.lags;
  const tasks::LagRanks ranks = ranks_of(request);
  const tasks::Allocation paper = tasks::equal_heads(rho, heads, head_dim, tasks::paper_error(ranks), lags);
  const tasks::Allocation sharper = head_dim >= request.token_dim
                                        ? paper
                                        : tasks::equal_heads(rho, heads, head_dim, tasks::sharper_error(ranks), lags);
  return {heads, head_dim, paper.bound, sharper.bound, paper.groups};
}

/// Head widths of the curve: powers of two, the token dim's divisors and the ranks, from the width down to 1.
std::vector<int64_t> curve_dims(const AllocationRequest& request) {
  std::set<int64_t, std::greater<>> dims{std::min(request.token_dim, request.width)};
  for (int64_t dim = 1; dim <= request.width; dim *= 2) dims.insert(dim);
  for (int64_t dim = 1; dim <= std::min(request.token_dim, request.width); ++dim)
    if (request.token_dim % dim == 0) dims.insert(dim);
  for (const int64_t rank : request.ranks) dims.insert(std::min(rank, request.width));
  if (request.rules.exact_width) std::erase_if(dims, [&](int64_t dim) { return request.width % dim != 0; });
  return {dims.begin(), dims.end()};
}

/// The best equal heads of any width up to the token's (wider ones gain nothing), under the paper's bound.
EqualHeads best_equal_heads(const AllocationRequest& request) {
  const tasks::LagRanks ranks = ranks_of(request);
  const auto projection_alone = [&](int64_t dim) {
    double sum = 0;
    for (size_t i = 0; i < request.decay.norms.size(); ++i)
      sum += request.decay.norms[i] * tasks::projection_error(dim, ranks.at(static_cast<int64_t>(i) + 1));
    return sum;
  };
  EqualHeads best;
  for (int64_t dim = std::min(request.token_dim, request.width); dim >= 1; --dim) {
    if (request.rules.exact_width && request.width % dim != 0) continue;
    // Each fetched lag loses the projection, each other one everything: narrower heads cannot gain any more.
    if (best.heads > 0 && projection_alone(dim) >= best.paper) break;
    const int64_t heads = request.width / dim;
    const tasks::Allocation found =
        tasks::equal_heads(request.decay.norms, heads, dim, tasks::paper_error(ranks), request.rules.lags);
    if (best.heads == 0 || found.bound < best.paper) best = {heads, dim, found.bound, 0, found.groups};
  }
  best.sharper = equal_heads_of(request, best.head_dim).sharper;
  return best;
}

FloatPlan float_plan(const AllocationRequest& request, const tasks::Allocation& paper_best, double epsilon) {
  const std::vector<double>& rho = request.decay.norms;
  const tasks::FloatErrors errors(static_cast<int64_t>(rho.size()), epsilon);
  const tasks::GroupError error = tasks::float_error(ranks_of(request), errors);
  FloatPlan plan;
  plan.reach = errors.reach();
  for (size_t i = 0; i < rho.size(); ++i) plan.least += rho[i] * errors.least(static_cast<int64_t>(i) + 1);
  plan.best = tasks::best_allocation(rho, request.width, request.token_dim, error, request.rules);
  plan.paper = tasks::objective_of(rho, plan.best.groups, tasks::paper_error(ranks_of(request)));
  plan.of_paper_best = tasks::objective_of(rho, paper_best.groups, error);
  return plan;
}

}  // namespace

AllocationPlan plan_allocation(const AllocationRequest& request) {
  check(request);
  const std::vector<double>& rho = request.decay.norms;
  AllocationPlan plan;
  plan.request = request;
  plan.nothing = std::accumulate(rho.begin(), rho.end(), 0.0);
  const tasks::LagRanks ranks = ranks_of(request);
  plan.paper = tasks::study_allocation(rho, request.width, request.token_dim, tasks::paper_error(ranks), request.rules);
  plan.terms = tasks::bound_terms(rho, plan.paper.best.groups, ranks, request.risk);
  // Without an exact width both have the same minimum: heads in q sub-groups do what wider heads do, which spend no
  // more.
  plan.sharper = request.rules.exact_width ? tasks::best_allocation(rho, request.width, request.token_dim,
                                                                    tasks::sharper_error(ranks), request.rules)
                                           : plan.paper.best;
  plan.f32 = float_plan(request, plan.paper.best, tasks::f32_roundoff);
  plan.bf16 = float_plan(request, plan.paper.best, tasks::bf16_roundoff);
  if (!request.fits.empty() && describes(request.fits.front())) {
    const StudyFit& fit = request.fits.front();
    const tasks::Allocation best = tasks::best_allocation(rho, request.width, request.token_dim,
                                                          fitted_error(fit, request.token_dim), request.rules);
    plan.fitted = {best, fitted_cost(fit, best.bound)};
  }
  plan.best_equal = best_equal_heads(request);
  for (const int64_t dim : curve_dims(request)) plan.equal.push_back(equal_heads_of(request, dim));
  const std::vector<double>& costs = plan.paper.cost_of_width;
  for (const double share : flat_shares) {
    const double limit = plan.paper.best.bound * (1 + share);
    const auto first = std::find_if(costs.begin(), costs.end(), [&](double cost) { return cost <= limit; });
    plan.within.push_back({share, first - costs.begin()});
  }
  return plan;
}

}  // namespace headroom::experiments
