#include "tasks/theory/representability.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "autograd/ops/masked_fill.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/operators.h"
#include "autograd/ops/softmax.h"
#include "autograd/ops/sum.h"
#include "autograd/ops/unary.h"
#include "autograd/ops/views.h"
#include "autograd/optim/optimizer.h"
#include "engine/error.h"
#include "engine/linalg/lbfgs.h"
#include "engine/linalg/least_squares.h"
#include "engine/linalg/svd.h"
#include "models/positions.h"

namespace headroom::tasks {
namespace {

using engine::DType, engine::Rng, engine::Shape, models::ActsOn;

/// Below this |r_jj|/|r_00| maps count as alike: m stays below about its inverse.
constexpr double alike = 1e-10;
/// Below this share of the largest singular value positions do not reach a direction.
constexpr double unreached = 1e-12;
/// A fit ends at `fitted`, near rounding; none is given as less than `least_shown`, so that a logarithm can show it.
constexpr double fitted = 1e-14, least_shown = 1e-16;
/// A start within this factor of the best has reached it.
constexpr double as_good = 2;
/// Standard deviations of the first scores' factors, from the first start to the last.
constexpr double least_spread = 0.3, most_spread = 3;

/// K(t, s) = ρ(t − s), (T, T).
Tensor target_of(const RepresentabilityConfig& config) {
  const std::vector<double> rho = kernel_values(config.kernel, config.length - 1);
  std::vector<double> values(static_cast<size_t>(config.length * config.length));
  for (int64_t t = config.first_position; t < config.length; ++t)
    for (int64_t lag = 1; lag <= std::min<int64_t>(t, std::ssize(rho)); ++lag)
      values[static_cast<size_t>(t * config.length + t - lag)] = rho[static_cast<size_t>(lag - 1)];
  return Tensor::from({config.length, config.length}, values);
}

/// true where s > t.
Tensor future(int64_t length) {
  std::vector<bool> values;
  for (int64_t t = 0; t < length; ++t)
    for (int64_t s = 0; s < length; ++s) values.push_back(s > t);
  return Tensor::from({length, length}, values);
}

/// Coordinates that have any map, as a share, and how many maps such a one has.
std::pair<double, int64_t> shared_out(const RepresentabilityConfig& config) {
  const int64_t parts = config.head_dim < config.token_dim ? config.token_dim / config.head_dim : 1;
  const double served = std::min(1.0, static_cast<double>(config.heads) / static_cast<double>(parts));
  return {served, std::max<int64_t>(1, config.heads / parts)};
}

/// The terms of scores by lag, (T·T, features): RoPE's cosines and sines of the lag, or the lag.
Tensor lag_features(const RepresentabilityConfig& config, bool turns) {
  const int64_t pairs = turns ? config.head_dim / 2 : 0;
  std::vector<double> values;
  for (int64_t t = 0; t < config.length; ++t)
    for (int64_t s = 0; s < config.length; ++s) {
      const auto lag = static_cast<double>(t - s);
      if (!turns) values.push_back(-lag);
      for (int64_t i = 0; i < pairs; ++i) {
        const double angle = lag * std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(pairs));
        values.insert(values.end(), {std::cos(angle), std::sin(angle)});
      }
    }
  return Tensor::from({config.length * config.length, turns ? 2 * pairs : 1}, values);
}

/// An orthonormal basis (T, r) of what the vectors of the positions span. The same scores are reached through it as
/// through the vectors, whose singular values differ by orders of magnitude, and in far fewer steps.
Tensor basis_of(const RepresentabilityConfig& config, const models::PositionScheme& scheme) {
  const auto [u, sizes, vt] = engine::linalg::svd(scheme.table(config.length, config.width, DType::f64));
  const Tensor values = sizes.contiguous();
  int64_t rank = 0;
  while (rank < values.numel() && values.data<double>()[rank] > unreached * values.data<double>()[0]) ++rank;
  return u.slice(1, 0, rank).contiguous();
}

/// Parameters of all starts, and the scores that they give.
class Scores {
 public:
  Scores(const RepresentabilityConfig& config, int64_t maps, Rng& rng)
      : config_(config), scheme_(models::scheme_of(config.positions)), maps_(maps) {
    if (scheme_.acts_on == ActsOn::nothing) return;
    if (scheme_.acts_on == ActsOn::tokens) {
      if (!scheme_.is_learned()) basis_ = Var(basis_of(config, scheme_));
      const int64_t rows = scheme_.is_learned() ? config.length : basis_.dim(1);
      add("queries", {config.starts, maps, rows, config.head_dim}, rng);
      add("keys", {config.starts, maps, rows, config.head_dim}, rng);
    } else {
      features_ = Var(lag_features(config, scheme_.turns()));
      add("weights", {config.starts, maps, features_.dim(1), 1}, rng);
    }
  }

  const std::vector<autograd::Parameter>& parameters() const { return parameters_; }

  /// (S, maps, T, T) from parameters like parameters(), of S starts.
  Var operator()(const std::vector<Var>& of) const {
    const int64_t t = config_.length;
    if (of.empty()) return Var(Tensor::zeros({config_.starts, maps_, t, t}, DType::f64));
    const Var& first = of[0];
    if (features_.defined()) {
      const Var weights = scheme_.turns() ? first : autograd::exp(first);  // a slope is above 0
      return autograd::reshape(autograd::matmul(features_, weights), {first.dim(0), maps_, t, t});
    }
    const auto placed = [&](const Var& x) { return basis_.defined() ? autograd::matmul(basis_, x) : x; };
    return autograd::matmul(placed(first), placed(of[1]), false, true) /
           std::sqrt(static_cast<double>(config_.head_dim));
  }

 private:
  void add(const char* name, const Shape& shape, Rng& rng) {
    Tensor x = engine::random_normal(shape, rng, name, 0, 1, DType::f64);
    double* at = x.mutable_data<double>();
    const int64_t each = shape.numel() / shape[0];
    for (int64_t i = 0; i < shape[0]; ++i) {
      const double share = shape[0] > 1 ? static_cast<double>(i) / static_cast<double>(shape[0] - 1) : 0.5;
      const double spread = least_spread * std::pow(most_spread / least_spread, share);
      for (int64_t j = 0; j < each; ++j) at[i * each + j] *= spread;
    }
    parameters_.push_back({name, Var(x, true), false});
  }

  const RepresentabilityConfig& config_;
  const models::PositionScheme& scheme_;
  int64_t maps_;
  Var basis_, features_;
  std::vector<autograd::Parameter> parameters_;
};

/// The result of a start: the target's unexplained share, and Σ_h |m_h|.
struct Fit {
  double share, gain;
};

/// The scores of one start, improved by L-BFGS: its error and its gain.
Fit refine(const RepresentabilityConfig& config, const Scores& scores, const Tensor& target, int64_t start) {
  std::vector<double> first;
  std::vector<Shape> shapes;
  for (const autograd::Parameter& parameter : scores.parameters()) {
    const Tensor own = parameter.var.value().slice(0, start, start + 1).contiguous();
    shapes.push_back(own.shape());
    first.insert(first.end(), own.data<double>(), own.data<double>() + own.numel());
  }
  const auto scores_of = [&](const std::vector<double>& x, std::vector<Var>& leaves) {
    auto from = x.begin();
    for (const Shape& shape : shapes) {
      leaves.emplace_back(Tensor::from(shape, std::vector<double>(from, from + shape.numel())), true);
      from += shape.numel();
    }
    return scores(leaves);
  };
  const auto objective = [&](const std::vector<double>& x, std::vector<double>& gradient) {
    std::vector<Var> leaves;
    const Var made = scores_of(x, leaves);
    const Tensor values = made.value().contiguous();
    const auto finite = [](double score) { return std::isfinite(score); };
    if (!std::all_of(values.data<double>(), values.data<double>() + values.numel(), finite))
      return std::numeric_limits<double>::infinity();  // a step too long
    const Var value = autograd::log(autograd::sum(share_left(made, target, config.first_position)) + least_shown);
    value.backward();
    auto to = gradient.begin();
    for (const Var& leaf : leaves) {
      const Tensor own = leaf.grad().contiguous();
      to = std::copy_n(own.data<double>(), own.numel(), to);
    }
    return value.value().item();
  };
  const engine::linalg::Minimum found =
      engine::linalg::lbfgs(objective, std::move(first), {.steps = config.refine, .enough = std::log(fitted)});
  std::vector<Var> leaves;
  std::vector<double> gains;
  const Tensor share =
      share_left(scores_of(found.x, leaves), target, config.first_position, &gains).value().contiguous();
  return {share.data<double>()[0], gains[0]};
}

}  // namespace

void validate(const RepresentabilityConfig& config) {
  validate(config.kernel);
  require(config.kernel.ranks.empty(), "kernel: lags with ranks are not fitted");
  require(config.token_dim >= 1, "token_dim: expected >= 1, got {}", config.token_dim);
  require(config.length >= 2 && config.length <= 128, "length: expected 2..128, got {}", config.length);
  require(config.first_position >= 0 && config.first_position < config.length, "first_position: expected 0..{}, got {}",
          config.length - 1, config.first_position);
  require(config.width >= 2 && config.heads >= 1 && config.head_dim >= 1,
          "width, heads, head_dim: expected >= 2, 1 and 1, got {}, {} and {}", config.width, config.heads,
          config.head_dim);
  const int64_t parts = config.head_dim < config.token_dim ? config.token_dim / config.head_dim : 1;
  require(config.head_dim >= config.token_dim || config.token_dim % config.head_dim == 0,
          "head_dim: {} is below token_dim = {} and does not divide it", config.head_dim, config.token_dim);
  require(config.heads < parts || config.heads % parts == 0,
          "heads: {} heads of width {} do not share out {} coordinates evenly", config.heads, config.head_dim,
          config.token_dim);
  require(models::scheme_of(config.positions).acts_on != ActsOn::angles_and_scores,
          "positions: one of RoPE and ALiBi at a time");
  require(!models::scheme_of(config.positions).turns() || config.head_dim % 2 == 0,
          "head_dim: these positions turn pairs, so it must be even, got {}", config.head_dim);
  require(config.starts >= 1 && config.steps >= 1 && config.refine >= 0,
          "starts, steps, refine: expected >= 1, 1 and 0, got {}, {} and {}", config.starts, config.steps,
          config.refine);
  require(config.lr > 0 && std::isfinite(config.lr), "lr: expected > 0, got {}", config.lr);
}

Var share_left(const Var& scores, const Tensor& target, int64_t first_position, std::vector<double>* gains) {
  const int64_t starts = scores.dim(0), maps = scores.dim(1), t = scores.dim(2), rows = t - first_position;
  const Var attention = autograd::softmax(autograd::masked_fill(scores, future(t), -INFINITY));  // (S, N, T, T)
  const Var scored = autograd::reshape(autograd::slice(attention, 2, first_position, t), {starts, maps, rows * t});
  const Tensor wanted = target.slice(0, first_position, t).contiguous();  // (rows, T)
  const double* k = wanted.data<double>();
  double whole = 0;
  for (int64_t i = 0; i < rows * t; ++i) whole += k[i] * k[i];

  // Columns: each map, then the residual.
  Tensor columns = Tensor::zeros({starts, rows * t, maps + 1}, DType::f64);
  Tensor answers = Tensor::zeros({starts, rows * t, 1}, DType::f64);
  const Tensor a = scored.value().contiguous();
  double* c = columns.mutable_data<double>();
  double* y = answers.mutable_data<double>();
  for (int64_t i = 0; i < starts; ++i)
    for (int64_t e = 0; e < rows * t; ++e) {
      double* row = c + (i * rows * t + e) * (maps + 1);
      for (int64_t n = 0; n < maps; ++n) row[n] = a.data<double>()[(i * maps + n) * rows * t + e];
      row[maps] = e / t + first_position == e % t ? 1 : 0;
      y[i * rows * t + e] = k[e];
    }
  const Tensor m = engine::linalg::least_squares(columns, answers, alike).contiguous();  // (S, N + 1, 1)
  Tensor left = Tensor::zeros({starts, 1, rows * t}, DType::f64);                        // K − m_0 I
  Tensor weights = Tensor::zeros({starts, 1, maps}, DType::f64);
  if (gains) gains->assign(static_cast<size_t>(starts), 0);
  for (int64_t i = 0; i < starts; ++i) {
    const double* best = m.data<double>() + i * (maps + 1);
    for (int64_t e = 0; e < rows * t; ++e)
      left.mutable_data<double>()[i * rows * t + e] = k[e] - best[maps] * c[(i * rows * t + e) * (maps + 1) + maps];
    for (int64_t n = 0; n < maps; ++n) {
      weights.mutable_data<double>()[i * maps + n] = best[n];
      if (gains) (*gains)[static_cast<size_t>(i)] += std::abs(best[n]);
    }
  }
  const Var residual = Var(left) - autograd::matmul(Var(weights), scored);  // (S, 1, rows·T)
  return autograd::sum(residual * residual, {1, 2}) / whole;
}

double lower_bound(const RepresentabilityConfig& config) {
  const double by_width =
      1 - static_cast<double>(config.heads * config.head_dim) / static_cast<double>(config.token_dim);
  const std::vector<double> rho = kernel_values(config.kernel, config.length - 1);
  double ones = 0, sums = 0, squares = 0, whole = 0;  // Σ w, Σ w·r, Σ w·r² and Σ K², w = 1/(t + 1)
  for (int64_t t = config.first_position; t < config.length; ++t) {
    double r = 0;
    for (int64_t lag = 1; lag <= std::min<int64_t>(t, std::ssize(rho)); ++lag) {
      const double value = rho[static_cast<size_t>(lag - 1)];
      r += value;
      whole += value * value;
    }
    const double weight = 1 / static_cast<double>(t + 1);
    ones += weight;
    sums += weight * r;
    squares += weight * r * r;
  }
  const double by_rows = (squares - sums * sums / ones) / whole;
  const double difference = 1e-12;  // one that is 0 but for rounding
  return std::max({0.0, by_width, by_rows < difference ? 0 : by_rows});
}

Metrics Representability::compute(uint64_t seed) const {
  const auto [served, maps] = shared_out(config_);
  const Tensor target = target_of(config_);
  Rng rng(seed);
  const Scores scores(config_, maps, rng);
  std::vector<Var> leaves;
  for (const autograd::Parameter& parameter : scores.parameters()) leaves.push_back(parameter.var);
  std::vector<Fit> fits;
  if (leaves.empty()) {
    std::vector<double> gains;
    const Tensor shares = share_left(scores(leaves), target, config_.first_position, &gains).value().contiguous();
    for (size_t i = 0; i < gains.size(); ++i) fits.push_back({shares.data<double>()[i], gains[i]});
  } else {
    const auto adam = autograd::make_optimizer({.kind = "adam", .lr = config_.lr, .eps = 1e-12},
                                               autograd::ParameterArena(scores.parameters()));
    for (int64_t step = 0; step < config_.steps; ++step) {
      for (const Var& leaf : leaves) leaf.zero_grad();
      // The logarithm: a start's steps do not shrink with its error.
      autograd::sum(autograd::log(share_left(scores(leaves), target, config_.first_position) + least_shown)).backward();
      const double done = static_cast<double>(step) / static_cast<double>(config_.steps);
      adam->step(config_.lr * (1 + std::cos(std::numbers::pi * done)) / 2);
    }
    for (int64_t i = 0; i < config_.starts; ++i) fits.push_back(refine(config_, scores, target, i));
  }
  std::sort(fits.begin(), fits.end(), [](const Fit& a, const Fit& b) { return a.share < b.share; });
  const auto of_all = [served = served](double share) { return std::max(least_shown, served * share + 1 - served); };
  const double best = of_all(fits.front().share);
  const size_t count = fits.size();
  const auto reached = std::count_if(
      fits.begin(), fits.end(), [&](const Fit& fit) { return of_all(fit.share) <= as_good * std::max(best, fitted); });
  return {{"relative_mse", best},
          {"median_start", of_all((fits[(count - 1) / 2].share + fits[count / 2].share) / 2)},
          {"worst_start", of_all(fits.back().share)},
          {"starts_reached", static_cast<double>(reached)},
          {"lower_bound", lower_bound(config_)},
          {"gain", fits.front().gain}};
}

std::string Representability::describe() const {
  return fmt::format("{} by {} of width {}, {} positions", tasks::describe(config_.kernel),
                     config_.heads == 1 ? "1 head" : fmt::format("{} heads", config_.heads), config_.head_dim,
                     models::scheme_of(config_.positions).words);
}

}  // namespace headroom::tasks
