#include "models/write/rope_divisors.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/error.h"
#include "models/rope_cache.h"

namespace headroom::models {
namespace {

/// Frequencies of the first group under a scaling.
std::vector<double> frequencies_with(TransformerConfig config, const RopeScaling& scaling) {
  config.rope_scaling = scaling;
  HeadGroup group = first_group(config);
  group.rope_frequencies.clear();
  return rope_frequencies(config, group, 0);
}

double largest_relative_error(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] / b[i] - 1));
  return worst;
}

/// A dimension whose frequency is neither kept nor divided by the whole factor: there 1/divisor gives the share
/// s = (L/λ - low)/(high - low) that is kept.
struct Between {
  double wavelength, share;
};

/// Rules that may have given the frequencies. Only L/low and L/high can be seen, so that low = 1 is no restriction.
std::vector<RopeScaling> candidates(const std::vector<double>& plain, const std::vector<double>& have) {
  double factor = 1, longest_kept = 0, shortest_divided = INFINITY;
  for (size_t i = 0; i < plain.size(); ++i) factor = std::max(factor, plain[i] / have[i]);
  std::vector<Between> between;
  for (size_t i = 0; i < plain.size(); ++i) {
    const double divisor = plain[i] / have[i], wavelength = 2 * std::numbers::pi / plain[i];
    if (std::abs(divisor - 1) < 1e-6) longest_kept = std::max(longest_kept, wavelength);
    else if (std::abs(divisor / factor - 1) < 1e-6) shortest_divided = std::min(shortest_divided, wavelength);
    else between.push_back({wavelength, (1 / divisor - 1 / factor) / (1 - 1 / factor)});
  }
  const auto rule = [&](double length, double high) {
    return RopeScaling{RopeScalingKind::llama3, factor, 1, high, std::llround(std::max(1.0, length))};
  };
  // If none lies between, any length works that separates the two kinds: longest_kept < L/4 and L < shortest_divided.
  if (between.empty())
    return {rule(std::exp2(std::ceil(std::log2(4 * longest_kept + 1))), 4), rule(4 * longest_kept + 1, 4),
            rule(shortest_divided - 1, 4)};
  std::vector<RopeScaling> rules{rule(between[0].wavelength * (3 * between[0].share + 1), 4)};
  if (between.size() == 1) return rules;
  // s is linear in 1/λ: two dimensions give its slope L/(high - 1) and its value -1/(high - 1) at 0.
  const Between &a = between.front(), &b = between.back();
  const double slope = (a.share - b.share) / (1 / a.wavelength - 1 / b.wavelength);
  const double high = 1 - 1 / (a.share - slope / a.wavelength);
  rules.push_back(rule(slope * (high - 1), high));
  return rules;
}

}  // namespace

bool has_gguf_yarn(const TransformerConfig& config) {
  const RopeScaling& s = config.rope_scaling;
  return s.kind == RopeScalingKind::yarn && s.low == yarn_slow && s.high == yarn_fast && s.truncate;
}

std::vector<float> rope_divisors(const TransformerConfig& config) {
  std::vector<float> divisors;
  const HeadGroup group = first_group(config);
  const RopeScalingKind kind = config.rope_scaling.kind;
  const bool has_own = !group.rope_frequencies.empty() || kind == RopeScalingKind::llama3 ||
                       (kind == RopeScalingKind::yarn && !has_gguf_yarn(config));
  if (!has_own) return divisors;
  const std::vector<double> plain = frequencies_with(config, {});
  const std::vector<double> scaled = rope_frequencies(config, group, 0);
  for (size_t i = 0; i < plain.size(); ++i) divisors.push_back(static_cast<float>(plain[i] / scaled[i]));
  return divisors;
}

RopeScaling scaling_of_frequencies(const TransformerConfig& config) {
  const std::vector<double>& have = config.groups[0].rope_frequencies;
  const std::vector<double> plain = frequencies_with(config, {});
  const double attention = config.rope_scaling.attention_factor;
  const bool is_plain = attention == 1;
  if (is_plain && largest_relative_error(have, plain) < 1e-6) return {};
  for (const RopeScaling& rule : is_plain ? candidates(plain, have) : std::vector<RopeScaling>())
    if (std::isfinite(rule.high) && rule.high > rule.low &&
        largest_relative_error(have, frequencies_with(config, rule)) < 1e-5)
      return rule;
  RopeScaling own{
      .kind = RopeScalingKind::longrope, .original_length = config.max_length, .attention_factor = attention};
  for (size_t i = 0; i < plain.size(); ++i) own.long_factors.push_back(plain[i] / have[i]);
  own.short_factors = own.long_factors;
  return own;
}

}  // namespace headroom::models
