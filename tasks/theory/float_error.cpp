#include "tasks/theory/float_error.h"

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <memory>
#include <numbers>

#include "engine/context.h"
#include "engine/error.h"
#include "engine/parallel.h"
#include "tasks/theory/exponential_fit.h"
#include "tasks/theory/exponential_sum.h"

namespace headroom::tasks {
namespace {

constexpr double smallest_roundoff = 0x1p-30;
constexpr double negligible_power = 1e-11;  ///< of a power of a node, in a linear program
constexpr int exchanges = 4, most_additions = 12;
constexpr double enough = 0.002;  ///< a relative gain below which exchanging ends
constexpr double tight = 0.01;    ///< a relative distance between bounds at which adding nodes ends

struct Solved {
  HeadFit fit;
  std::vector<double> y;  ///< of the dual
};

void check(int64_t lag, double epsilon) {
  require(lag >= 1, "head fit: lag {} must be >= 1", lag);
  require(epsilon >= smallest_roundoff && epsilon < 1, "head fit: unit roundoff {} must be in [2^-30, 1)", epsilon);
}

Solved solve(const std::vector<double>& nodes, int64_t lag, double epsilon) {
  const double slowest = std::max(*std::max_element(nodes.begin(), nodes.end()), 0.05);
  const auto at = static_cast<size_t>(lag);
  const size_t horizon = at + nodes.size() + static_cast<size_t>(std::log(negligible_power) / std::log(slowest));
  std::vector<std::vector<double>> rows;
  std::vector<double> slack;
  for (const double x : nodes) {
    std::vector<double> row(horizon, 0.0);
    double power = 1;
    for (size_t t = 0; t < horizon && power > 1e-30; ++t, power *= x) row[t] = power;
    rows.push_back(std::move(row));
    slack.push_back(epsilon / (1 - x));
  }
  L1Dual dual = l1_dual(rows, slack, at);
  Solved solved;
  HeadFit& fit = solved.fit;
  fit.nodes = nodes;
  fit.l1 = 0;
  std::vector<double> residual(horizon, 0.0);
  residual[at] = 1;
  for (size_t k = 0; k < nodes.size(); ++k) {
    const double amplitude = -dual.multipliers[k], x = nodes[k];
    for (size_t t = 0; t < horizon; ++t) residual[t] -= amplitude * rows[k][t];
    fit.amplitudes.push_back(amplitude);
    fit.gain += std::abs(amplitude) / (1 - x);
    fit.l1 += std::abs(amplitude) * std::pow(x, horizon) / (1 - x);
  }
  for (const double value : residual) fit.l1 += std::abs(value);
  fit.estimate = fit.l1 + epsilon * fit.gain;
  if (fit.estimate >= 1) fit = {nodes, std::vector<double>(nodes.size(), 0.0)};
  solved.y = std::move(dual.y);
  return solved;
}

/// |(1 − x) Σ_t y_t x^t| / ε: at most 1 where a dual is feasible.
double charge(const std::vector<double>& y, double x, double epsilon) {
  double sum = 0, power = 1;
  for (size_t t = 0; t < y.size() && power > 1e-18; ++t, power *= x) sum += y[t] * power;
  return std::abs((1 - x) * sum) / epsilon;
}

struct Peak {
  double node, height;
};

/// The local maxima of charge() over [0, largest_fit_node], from 0 on.
std::vector<Peak> peaks(const std::vector<double>& y, double epsilon) {
  constexpr int points = 600;
  constexpr double first = 1e-6;
  std::vector<double> x{0}, height;
  for (int i = 0; i < points; ++i)
    x.push_back(first * std::pow(largest_fit_node / first, static_cast<double>(i) / (points - 1)));
  for (const double at : x) height.push_back(charge(y, at, epsilon));
  std::vector<Peak> found;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool rises = i == 0 || height[i] > height[i - 1], falls = i + 1 == x.size() || height[i] >= height[i + 1];
    if (!rises || !falls) continue;
    if (i == 0 || i + 1 == x.size()) {
      found.push_back({x[i], height[i]});
      continue;
    }
    const auto [at, below] = boost::math::tools::brent_find_minima(
        [&](double node) { return -charge(y, node, epsilon); }, x[i - 1], x[i + 1], 20);
    found.push_back({at, -below});
  }
  return found;
}

/// The extremes of the Chebyshev polynomial of degree m that is at most ε on [0, c] and 1 at 1, without c.
std::vector<double> first_nodes(int64_t m, double epsilon) {
  const double c = 2 / (1 + std::cosh(std::acosh(1 / epsilon) / static_cast<double>(m)));
  std::vector<double> nodes;
  for (int64_t k = 0; k < m; ++k)
    nodes.push_back(std::min(largest_fit_node, c) *
                    std::pow(std::sin(std::numbers::pi * static_cast<double>(k) / (2 * static_cast<double>(m))), 2));
  return nodes;
}

/// As many of the peaks, from 0 on, as there are nodes; where they are fewer, with the old nodes farthest from them.
std::vector<double> exchanged(const std::vector<double>& old, const std::vector<Peak>& at) {
  std::vector<double> nodes;
  for (const Peak& peak : at)
    if (nodes.size() < old.size()) nodes.push_back(peak.node);
  while (nodes.size() < old.size()) {
    double farthest = 0, chosen = 0;
    for (const double x : old) {
      double near = 1;
      for (const double node : nodes) near = std::min(near, std::abs(node - x));
      if (near > farthest) farthest = near, chosen = x;
    }
    if (farthest == 0) return nodes;
    nodes.push_back(chosen);
  }
  return nodes;
}

/// The best fit that exchanging `nodes` comes to.
HeadFit settle(std::vector<double> nodes, int64_t lag, double epsilon) {
  HeadFit best;
  for (int i = 0; i < exchanges; ++i) {
    engine::check_stopped();
    Solved solved = solve(nodes, lag, epsilon);
    const double before = best.estimate;
    if (solved.fit.estimate < best.estimate) best = std::move(solved.fit);
    if (best.estimate >= before * (1 - enough)) break;
    nodes = exchanged(nodes, peaks(solved.y, epsilon));
  }
  return best;
}

/// The given nodes and slower ones, up to the largest, as dense as the last two.
std::vector<double> with_slow_ones(std::vector<double> nodes) {
  constexpr double sparsest = 0.7, densest = 0.9;
  std::sort(nodes.begin(), nodes.end());
  double rate = 1 - nodes.back();
  const double ratio = nodes.size() < 2 ? densest : std::clamp(rate / (1 - nodes[nodes.size() - 2]), sparsest, densest);
  while ((rate *= ratio) > 1 - largest_fit_node) nodes.push_back(1 - rate);
  if (nodes.back() < largest_fit_node) nodes.push_back(largest_fit_node);
  return nodes;
}

HeadFit as_fit(const FloatFit& fit) {
  return {fit.sum.nodes, fit.sum.amplitudes, fit.sum.l1, fit.sum.gain, fit.estimate};
}

constexpr int64_t enough_heads = 16;  ///< more gain less than 1 %
constexpr int64_t lags_at_once = 4;   ///< fitted in parallel, past the last within reach too
constexpr double out_of_reach = 1 - 1e-9;

}  // namespace

HeadFit head_fit_on(const std::vector<double>& nodes, int64_t lag, double epsilon) {
  check(lag, epsilon);
  require(!nodes.empty(), "head fit: there are no nodes");
  for (const double x : nodes)
    require(x >= 0 && x <= largest_fit_node, "head fit: a node is {}: expected one in [0, {}]", x, largest_fit_node);
  return solve(nodes, lag, epsilon).fit;
}

HeadFitter::HeadFitter(int64_t most, double epsilon) : epsilon_(epsilon) {
  check(1, epsilon);
  require(most >= 1, "head fit: {} heads: expected >= 1", most);
  nodes_.resize(static_cast<size_t>(most));
  engine::parallel_for(most, [&](int64_t i) {
    std::vector<double> nodes = first_nodes(i + 1, epsilon);
    const HeadFit settled = settle(nodes, 1, epsilon);
    nodes_[static_cast<size_t>(i)] = settled.nodes.empty() ? nodes : settled.nodes;
  });
}

std::vector<HeadFit> HeadFitter::fits(int64_t lag) const {
  check(lag, epsilon_);
  const auto most = static_cast<int64_t>(nodes_.size());
  std::vector<HeadFit> fits(nodes_.size());
  if (lag >= most) return fits;
  fits.back() = settle(nodes_.back(), lag, epsilon_);
  if (fits.back().nodes.empty()) return fits;  // out of reach
  for (int64_t m = lag + 1; m <= most; ++m) {
    HeadFit& fit = fits[static_cast<size_t>(m - 1)];
    if (m < most) fit = settle(nodes_[static_cast<size_t>(m - 1)], lag, epsilon_);
    for (const HeadFit& other : {fits[static_cast<size_t>(m - 2)], as_fit(best_float_fit(lag, m, epsilon_))})
      if (other.estimate < fit.estimate) fit = other;
  }
  return fits;
}

double HeadFitter::least(int64_t lag) const {
  check(lag, epsilon_);
  std::vector<double> nodes = with_slow_ones(nodes_.back());
  double least = 0;
  for (int i = 0; i < most_additions; ++i) {
    engine::check_stopped();
    const Solved solved = solve(nodes, lag, epsilon_);
    const std::vector<Peak> at = peaks(solved.y, epsilon_);
    double highest = 1;
    for (const Peak& peak : at) highest = std::max(highest, peak.height);
    least = std::max(least, solved.y[static_cast<size_t>(lag)] / highest);
    if (least >= solved.fit.estimate * (1 - tight)) break;
    for (const Peak& peak : at)
      if (peak.height > 1 + enough && std::find(nodes.begin(), nodes.end(), peak.node) == nodes.end())
        nodes.push_back(peak.node);
  }
  return least;
}

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
