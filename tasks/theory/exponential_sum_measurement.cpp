#include "tasks/theory/exponential_sum_measurement.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "tasks/theory/allocation.h"
#include "tasks/theory/exponential_fit.h"
#include "tasks/theory/exponential_sum.h"

namespace headroom::tasks {
namespace {

using Rates = ExponentialSumConfig::Rates;

constexpr double f32_roundoff = 0x1p-24, bf16_roundoff = 0x1p-8, f64_roundoff = 0x1p-53;
constexpr double scale_of_the_infimum = 1e-6;  ///< nodes up to there; the error falls with it in proportion

/// How far y is from a proof that no sum on these nodes errs by less than 1: its excess over |y_t| <= 1, and
/// Σ_t y_t x_k^t in place of 0.
double slack_of(const std::vector<double>& y, const std::vector<double>& nodes, int64_t lag) {
  double slack = std::abs(y[static_cast<size_t>(lag)] - 1);
  for (const double value : y) slack = std::max(slack, std::abs(value) - 1);
  for (const double x : nodes) {
    double sum = 0;
    for (size_t t = y.size(); t-- > 0;) sum = sum * x + y[t];
    slack = std::max(slack, std::abs(sum));
  }
  return slack;
}

/// Any rates: 1 by zero amplitudes, as the certificate on a sample of nodes proves; beyond the lag what nodes near 0
/// reach.
Metrics best_rates(const ExponentialSumConfig& config) {
  const int64_t lag = config.lag, terms = config.terms;
  Metrics metrics;
  if (terms <= lag) {
    metrics["l1"] = 1;
    metrics["log10_gain"] = 0;
    for (const double c : {0.1, 0.5, 0.99}) {
      const std::vector<double> nodes = chebyshev_nodes(c, terms);
      metrics["proof_slack"] = std::max(metrics["proof_slack"], slack_of(certificate(nodes, lag), nodes, lag));
    }
  } else {
    const ExponentialSum sum = interpolate(chebyshev_nodes(scale_of_the_infimum, lag + 1), lag);  // more change little
    metrics["l1"] = sum.l1;
    metrics["log10_gain"] = sum.ln_gain / std::log(10);
    metrics["proof_slack"] = 0;
  }
  metrics["f32_error"] = best_float_fit(lag, terms, f32_roundoff).estimate;
  metrics["bf16_error"] = best_float_fit(lag, terms, bf16_roundoff).estimate;
  metrics["f64_error"] = best_float_fit(lag, terms, f64_roundoff).estimate;
  if (!config.float_limits) return metrics;
  metrics["f32_limit"] = float_limit(lag, f32_roundoff).estimate;
  metrics["bf16_limit"] = float_limit(lag, bf16_roundoff).estimate;
  return metrics;
}

}  // namespace

void validate(const ExponentialSumConfig& config) {
  require(config.lag >= 1 && config.lag <= 1000, "lag: expected 1..1000, got {}", config.lag);
  require(config.terms >= 1 && config.terms <= 512, "terms: expected 1..512, got {}", config.terms);
  require(config.step > 0 && std::isfinite(config.step), "step: expected > 0, got {}", config.step);
  require(config.low > 0 && config.low < config.high && std::isfinite(config.high),
          "low, high: expected 0 < low < high, got {} and {}", config.low, config.high);
  require(config.rates != Rates::geometric || config.terms >= 2, "terms: geometric rates need >= 2, got {}",
          config.terms);
  require(config.rate > 0 && std::isfinite(config.rate), "rate: expected > 0, got {}", config.rate);
}

Metrics ExponentialSumMeasurement::compute(uint64_t) const {
  const int64_t lag = config_.lag, terms = config_.terms;
  const auto m = static_cast<double>(terms), t = static_cast<double>(lag);
  Metrics metrics;
  switch (config_.rates) {
    case Rates::any:
      metrics = best_rates(config_);
      break;
    case Rates::linear:
      metrics["l1"] = best_fit(linear_rates(config_.step, terms), lag).l1;
      break;
    case Rates::geometric:
      metrics["l1"] = best_fit(geometric_rates(config_.low, config_.high, terms), lag).l1;
      break;
    case Rates::cited:
      metrics["l1"] = bump_construction_error(config_.rate, lag, terms);
      break;
  }
  metrics["paper_bound"] = extraction_error(lag, m);
  // 50/e is the least C for which C e^{0.02T}/m is at least 1 for all m <= T: at T = m = 50 it is 1.
  metrics["true_bound"] = 50 / m * std::exp(0.02 * t - 1);
  metrics["log10_ratio"] = std::max(-16.0, std::log10(metrics["l1"] / metrics["paper_bound"]));
  return metrics;
}

std::string ExponentialSumMeasurement::describe() const {
  const char* rates[] = {"any rates", "rates step·k", "geometric rates", "the cited construction"};
  return fmt::format("delta at lag {} by {} exponentials, {}", config_.lag, config_.terms,
                     rates[static_cast<size_t>(config_.rates)]);
}

std::set<std::string> metric_names_of(const ExponentialSumConfig& config) {
  std::set<std::string> names{"l1", "paper_bound", "true_bound", "log10_ratio"};
  if (config.rates != ExponentialSumConfig::Rates::any) return names;
  names.insert({"log10_gain", "proof_slack", "f32_error", "bf16_error", "f64_error"});
  if (config.float_limits) names.insert({"f32_limit", "bf16_limit"});
  return names;
}

}  // namespace headroom::tasks
