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
#include "engine/linalg/least_squares.h"
#include "models/positions.h"

namespace headroom::tasks {
namespace {

using engine::DType, engine::Rng, engine::Shape, models::ActsOn;

/// Below this |r_jj|/|r_00| maps count as alike: m stays below about its inverse.
constexpr double alike = 1e-10;
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

/// What scores by lag are sums of, (T·T, features): RoPE's cosines and sines of the lag, or the lag.
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

/// The vectors of the positions, divided by the square root of half their width: sinusoids then have norm 1.
Tensor table_of(const RepresentabilityConfig& config, const models::PositionScheme& scheme) {
  Tensor table = scheme.table(config.length, config.width, DType::f64).contiguous();
  double* at = table.mutable_data<double>();
  for (int64_t i = 0; i < table.numel(); ++i) at[i] /= std::sqrt(static_cast<double>(config.width) / 2);
  return table;
}

/// Parameters of all starts, and the scores that they give.
class Scores {
 public:
  Scores(const RepresentabilityConfig& config, int64_t maps, Rng& rng)
      : config_(config), scheme_(models::scheme_of(config.positions)), maps_(maps) {
    if (scheme_.acts_on == ActsOn::nothing) return;
    if (scheme_.acts_on == ActsOn::tokens) {
      if (!scheme_.is_learned()) table_ = Var(table_of(config, scheme_));
      const int64_t rows = scheme_.is_learned() ? config.length : config.width;
      add("queries", {config.starts, maps, rows, config.head_dim}, rng);
      add("keys", {config.starts, maps, rows, config.head_dim}, rng);
    } else {
      features_ = Var(lag_features(config, scheme_.turns()));
      add("weights", {config.starts, maps, features_.dim(1), 1}, rng);
    }
  }

  const std::vector<autograd::Parameter>& parameters() const { return parameters_; }

  /// (starts, maps, T, T)
  Var operator()() const {
    const int64_t t = config_.length;
    if (parameters_.empty()) return Var(Tensor::zeros({config_.starts, maps_, t, t}, DType::f64));
    const Var& first = parameters_[0].var;
    if (features_.defined()) {
      const Var weights = scheme_.turns() ? first : autograd::exp(first);  // a slope is above 0
      return autograd::reshape(autograd::matmul(features_, weights), {config_.starts, maps_, t, t});
    }
    const auto placed = [&](const Var& x) { return table_.defined() ? autograd::matmul(table_, x) : x; };
    return autograd::matmul(placed(first), placed(parameters_[1].var), false, true) /
           std::sqrt(static_cast<double>(config_.head_dim));
  }

 private:
  void add(const char* name, const Shape& shape, Rng& rng) {
    Tensor x = engine::random_normal(shape, 0, 1, rng.take(name, (shape.numel() + 1) / 2 * 2), DType::f64);
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
  Var table_, features_;
  std::vector<autograd::Parameter> parameters_;
};

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
  require(!models::scheme_of(config.positions).turns() || config.head_dim % 2 == 0,
          "head_dim: these positions turn pairs, so it must be even, got {}", config.head_dim);
  require(config.starts >= 1 && config.steps >= 1, "starts, steps: expected >= 1, got {} and {}", config.starts,
          config.steps);
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
  const double rounding = 1e-12;  // of a difference that is 0
  return std::max({0.0, by_width, by_rows < rounding ? 0 : by_rows});
}

Representability::Representability(const RepresentabilityConfig& config) : config_(config) { validate(config); }

Metrics Representability::compute(uint64_t seed) const {
  const auto [served, maps] = shared_out(config_);
  const Tensor target = target_of(config_);
  Rng rng(seed);
  const Scores scores(config_, maps, rng);
  const auto count = static_cast<size_t>(config_.starts);
  std::vector<double> least(count, std::numeric_limits<double>::infinity()), gain(count), gains;
  const auto keep = [&](const Tensor& shares) {
    for (size_t i = 0; i < count; ++i)
      if (const double share = shares.data<double>()[i]; share < least[i]) least[i] = share, gain[i] = gains[i];
  };
  if (scores.parameters().empty()) {
    keep(share_left(scores(), target, config_.first_position, &gains).value());
  } else {
    const auto adam = autograd::make_optimizer({.kind = "adam", .lr = config_.lr, .eps = 1e-12},
                                               autograd::ParameterArena(scores.parameters()));
    for (int64_t step = 0; step < config_.steps; ++step) {
      const Var shares = share_left(scores(), target, config_.first_position, &gains);
      keep(shares.value());
      for (const autograd::Parameter& parameter : scores.parameters()) parameter.var.zero_grad();
      autograd::sum(autograd::log(shares + 1e-300)).backward();  // a start's steps do not shrink with its error
      const double done = static_cast<double>(step) / static_cast<double>(config_.steps);
      adam->step(config_.lr * (1 + std::cos(std::numbers::pi * done)) / 2);
    }
  }
  const auto best = static_cast<size_t>(std::min_element(least.begin(), least.end()) - least.begin());
  const double best_gain = gain[best];
  std::sort(least.begin(), least.end());
  const auto of_all = [&](double share) { return served * share + 1 - served; };
  return {{"relative_mse", of_all(least.front())},
          {"median_start", of_all((least[(count - 1) / 2] + least[count / 2]) / 2)},
          {"worst_start", of_all(least.back())},
          {"lower_bound", lower_bound(config_)},
          {"gain", best_gain}};
}

std::string Representability::describe() const {
  return fmt::format("{} by {} of width {}, {} positions", tasks::describe(config_.kernel),
                     config_.heads == 1 ? "1 head" : fmt::format("{} heads", config_.heads), config_.head_dim,
                     models::scheme_of(config_.positions).words);
}

}  // namespace headroom::tasks
