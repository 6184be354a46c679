#include "experiments/studies/analysis/estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/error.h"
#include "experiments/studies/analysis/statistics.h"

namespace headroom::experiments {
namespace {

double square(double x) { return x * x; }

/// Whether values near 1 are the same but for rounding.
bool are_equal(const std::vector<double>& values) {
  constexpr double rounding = 4 * std::numeric_limits<double>::epsilon();
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *most - *least <= rounding;
}

/// The parts' share of the variance, from the mean squares of a two-way table without repetition.
void add_parts(const std::vector<std::vector<double>>& table, Estimate& out) {
  const size_t rows = table.size(), columns = table[0].size();
  std::vector<double> by_row(rows), by_column(columns);
  double all = 0;
  for (size_t s = 0; s < rows; ++s) {
    require(table[s].size() == columns, "estimate: seed {} has {} parts, the first has {}", s, table[s].size(),
            columns);
    for (size_t k = 0; k < columns; ++k) {
      by_row[s] += table[s][k] / static_cast<double>(columns);
      by_column[k] += table[s][k] / static_cast<double>(rows);
      all += table[s][k] / static_cast<double>(rows * columns);
    }
  }
  double parts = 0, rest = 0;
  for (size_t k = 0; k < columns; ++k) parts += static_cast<double>(rows) * square(by_column[k] - all);
  for (size_t s = 0; s < rows; ++s)
    for (size_t k = 0; k < columns; ++k) rest += square(table[s][k] - by_row[s] - by_column[k] + all);
  const double column_degrees = static_cast<double>(columns - 1);
  const double rest_degrees = column_degrees * static_cast<double>(rows - 1);
  const double cells = static_cast<double>(rows * columns);
  const double parts_share = parts / column_degrees / cells, rest_share = rest / rest_degrees / cells;
  out.has_parts = true;
  out.parts_variance = std::max(0.0, parts_share - rest_share);
  out.parts_degrees = column_degrees;
}

}  // namespace

double Estimate::error(double n) const {
  if (is_computed()) return 0;
  return seeds < 2 ? none : std::scalbn(std::sqrt(seed_variance / n + parts_variance_at(n)), exponent);
}

VarianceSum Estimate::variance(double n) const {
  const double free = n * (1 - static_cast<double>(censored) / seeds) - 1;
  if (is_anytime && is_unpaired)  // all of it is of seeds that are still added
    return {seed_variance / n + parts_variance_at(n), free > 0 ? free : none, 0, 0, true};
  const double further = is_unpaired && seeds > 1 ? parts_degrees * (n - 1) / (seeds - 1) : parts_degrees;
  return {seed_variance / n, free > 0 ? free : none, parts_variance_at(n), free > 0 ? further : none, is_anytime};
}

double Estimate::errors_beyond(double threshold, double n) const {
  if (seeds < 2 || has_no_spread()) return none;
  const double distance = std::scalbn(value, -exponent) - std::scalbn(threshold, -exponent);
  return distance / std::sqrt(seed_variance / n + parts_variance_at(n));
}

Estimate::Sides Estimate::sides(double threshold) const {
  const double t = errors_beyond(threshold, seeds);
  if (std::isnan(t)) return {};
  const VarianceSum sum = variance(seeds);
  if (is_anytime) return known({sum.tail(t), sum.tail(-t)});
  const double tail = sum.tail(std::abs(t));
  return known(t > 0 ? Sides{tail, 1 - tail} : Sides{1 - tail, tail});
}

Estimate::Sides Estimate::sides(double threshold, double n) const {
  constexpr double four_of_five = 0.8416212335729143;  // of a normal variable lie below
  const double t = errors_beyond(threshold, n);
  if (std::isnan(t)) return {};
  const VarianceSum sum = variance(n);
  return known({sum.tail(t - four_of_five), sum.tail(-t - four_of_five)});
}

Estimate::Sides Estimate::hoped_for(double threshold, double n) const {
  constexpr double chance = 0.1;
  VarianceSum now = variance(seeds);
  now.is_anytime = false;  // one prediction, not a test
  const double t = errors_beyond(threshold, n), luck = now.quantile(chance);
  if (std::isnan(t) || std::isnan(luck)) return known({0, 0});
  const double ahead =
      luck * std::sqrt(seed_variance * (1 / static_cast<double>(seeds) - 1 / n) / (seed_variance / n + parts_variance));
  const VarianceSum sum = variance(n);
  return known({sum.tail(t + ahead), sum.tail(ahead - t)});
}

Estimate::Sides Estimate::known(Sides sides) const {
  if (may_be_less) sides.above = none;
  if (may_be_more) sides.below = none;
  return sides;
}

std::pair<double, double> Estimate::interval(double level) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (is_computed()) return {value, value};
  const double half = has_no_spread() ? none : error() * variance(seeds).quantile((1 - level) / 2);
  if (std::isnan(value) || std::isnan(half)) return {none, none};
  return {may_be_less ? -infinity : value - half, may_be_more ? infinity : value + half};
}

Estimate sum_of_unpaired(std::vector<Estimate> samples) {
  std::sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) { return a.seeds < b.seeds; });
  Estimate sum{.value = 0, .seeds = samples.at(0).seeds};
  std::vector<double> errors;
  for (const Estimate& one : samples) {
    sum.value += one.value;
    sum.may_be_more |= one.may_be_more;
    sum.may_be_less |= one.may_be_less;
    errors.push_back(one.error());
  }
  if (sum.seeds < 2) return sum;
  sum.is_unpaired = true;
  sum.exponent = common_exponent(errors);
  const auto variance_of = [&](size_t i) { return square(std::scalbn(errors[i], -sum.exponent)); };
  sum.seed_variance = variance_of(0) * sum.seeds;
  for (size_t i = 1; i < samples.size(); ++i) sum.parts_variance += variance_of(i);
  sum.parts_degrees = samples.size() > 1 ? samples[1].seeds - 1 : 0;
  return sum;
}

Estimate estimate(const Sample& sample) {
  Estimate out;
  out.value = mean(sample.seeds);
  out.seeds = static_cast<int>(sample.seeds.size());
  out.may_be_more = sample.may_be_more;
  out.may_be_less = sample.may_be_less;
  out.censored = sample.censored;
  if (out.seeds < 2) {
    out.seeds = std::max(out.seeds, 1);  // 0 says that nothing spreads
    return out;
  }
  require(sample.parts.empty() || sample.parts.size() == sample.seeds.size(), "estimate: {} seeds have parts, not {}",
          sample.parts.size(), sample.seeds.size());
  std::vector<double> all = sample.seeds;
  for (const std::vector<double>& parts : sample.parts) all.insert(all.end(), parts.begin(), parts.end());
  out.exponent = common_exponent(all);
  const std::vector<double> seeds = scaled(sample.seeds, -out.exponent);
  if (!are_equal(seeds)) out.seed_variance = static_cast<double>(out.seeds) * square(standard_error(seeds));
  if (sample.parts.empty() || sample.parts[0].size() < 2) return out;
  std::vector<std::vector<double>> parts;
  for (const std::vector<double>& row : sample.parts) parts.push_back(scaled(row, -out.exponent));
  if (are_equal(scaled(all, -out.exponent))) out.has_parts = true;  // what rounding leaves is no spread
  else add_parts(parts, out);
  return out;
}

Estimate estimate_over_parts(const Sample& sample) {
  const Estimate computed{
      .value = mean(sample.seeds), .may_be_more = sample.may_be_more, .may_be_less = sample.may_be_less};
  if (sample.parts.empty()) return computed;
  std::vector<double> parts(sample.parts[0].size());
  for (const std::vector<double>& of_seed : sample.parts)
    for (size_t k = 0; k < parts.size(); ++k) parts[k] += of_seed[k] / static_cast<double>(sample.parts.size());
  Estimate out = estimate({.seeds = parts});
  if (out.has_no_spread()) return computed;
  out.value = computed.value;
  out.has_parts = out.is_over_parts = true;
  return out;
}

}  // namespace headroom::experiments
