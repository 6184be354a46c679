#include "experiments/output/plot/axis.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "engine/error.h"
#include "experiments/output/number.h"

namespace headroom::experiments {
namespace {

constexpr size_t fewest_ticks = 3;  ///< with fewer an axis cannot be read

/// Powers of the base times each of the multiples, within the range and in order.
std::vector<double> log_ticks(double base, const std::vector<double>& multiples, double low, double high) {
  const auto power = [&](double x) { return std::log(x) / std::log(base); };
  const int first = static_cast<int>(std::floor(power(low))), last = static_cast<int>(std::ceil(power(high)));
  const int step = std::max(1, (last - first) / 9);
  std::vector<double> ticks;
  for (int e = first; e <= last; e += step) {
    for (const double multiple : multiples) {
      // Negative powers as quotients: 1 / 10 is the nearest double to 0.1, pow(10, −1) need not be.
      const double unit = e < 0 ? multiple / std::pow(base, -e) : multiple * std::pow(base, e);
      if (unit >= low && unit <= high) ticks.push_back(unit);
    }
  }
  return ticks;
}

/// Three to seven multiples of 1, 2 or 5 times a power of ten within the range. Also serves logarithmic axes whose
/// range is so narrow that they are nearly straight.
std::vector<double> even_ticks(double low, double high) {
  const double rough = high / fewest_ticks - low / fewest_ticks, unit = std::pow(10, std::floor(std::log10(rough)));
  const double step = rough >= 5 * unit ? 5 * unit : rough >= 2 * unit ? 2 * unit : unit;
  std::vector<double> ticks;
  // The range is too narrow for doubles.
  if (!(step > 1e-12 * std::max(std::abs(low), std::abs(high))) || !std::isfinite(high / step)) return ticks;
  // Goes through text: 3 × 0.1 would be labelled 0.30000000000000004.
  for (double i = std::ceil(low / step); i * step <= high; ++i)
    ticks.push_back(std::strtod(rounded(i * step, 6).c_str(), nullptr) + 0.0);
  return ticks;
}

/// Uses as few kinds of ticks as give enough of them.
std::vector<double> readable_ticks(Scale scale, double low, double high) {
  if (scale == Scale::log2) {
    const std::vector<double> powers = log_ticks(2, {1}, low, high);
    return powers.empty() ? even_ticks(low, high) : powers;
  }
  for (const std::vector<double>& multiples : {std::vector<double>{1}, {1, 2, 5}, {1, 1.5, 2, 3, 4, 5, 6, 8}})
    if (std::vector<double> ticks = log_ticks(10, multiples, low, high); ticks.size() >= fewest_ticks) return ticks;
  return even_ticks(low, high);
}

/// 0.001 → "0.001", 1e-5 → "10⁻⁵", 2e-5 → "2·10⁻⁵": an exponent only if the plain number is long. Numbers without a
/// round factor stay plain, and so do large ones that are no power of ten: steps and tokens are read as integers.
/// `always`: use an exponent for short numbers too, because other ticks of the axis have one.
std::string tick_label(double tick, bool always) {
  static const char* const superscripts[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  if (!(tick > 0)) return exact(tick);
  const int e = static_cast<int>(std::floor(std::log10(tick) + 1e-9));
  const double factor = e < 0 ? tick * std::pow(10, -e) : tick / std::pow(10, e);
  const bool is_power = std::abs(factor - 1) < 1e-9;
  const bool is_round = std::abs(10 * factor - std::round(10 * factor)) < 1e-9;
  if ((std::abs(e) < 4 && (!always || e == 0)) || !is_round || (e > 0 && !is_power)) return exact(tick);
  std::string label = (is_power ? "" : exact(std::round(10 * factor) / 10) + "·") + (e < 0 ? "10⁻" : "10");
  for (char digit : std::to_string(std::abs(e))) label += superscripts[digit - '0'];
  return label;
}

}  // namespace

double least_positive(const std::vector<double>& values) {
  double least = INFINITY;
  for (const double value : values)
    if (value > 0) least = std::min(least, value);
  return least;
}

Axis fit_axis(Scale scale, const std::vector<double>& values) {
  require(!values.empty(), "figure: an axis without values");
  std::vector<double> shown;
  for (double value : values)
    if (std::isfinite(value)) shown.push_back(value);
  if (shown.empty()) return {Scale::linear, 0, 1, {0, 0.5, 1}, {}};
  using Limits = std::numeric_limits<double>;
  const auto [low, high] = std::minmax_element(shown.begin(), shown.end());
  Axis axis{scale, *low, *high, {}, {}};
  if (axis.low < 0 || axis.high <= 0) axis.scale = Scale::linear;
  if (axis.scale != Scale::linear && axis.low == 0)
    axis.low = least_positive(shown) / 2;  // the foot, below everything else
  if (axis.scale == Scale::linear) {
    const double spread = std::min(axis.high - axis.low, Limits::max());
    const double air = spread > 0 ? 0.06 * spread : std::max(std::abs(axis.high) * 0.1, 1e-12);
    // An axis that nearly reaches zero begins there.
    axis.low = axis.low > 0 && axis.low < 2 * air ? 0 : std::max(axis.low - air, Limits::lowest());
    axis.high = std::min(axis.high + air, Limits::max());
    axis.ticks = even_ticks(axis.low, axis.high);
    if (axis.ticks.empty()) axis.ticks = {*low};
    return axis;
  }
  const double air = std::max(1.12, std::pow(std::min(axis.high / axis.low, Limits::max()), 0.05));
  axis.low = std::max(axis.low / air, Limits::denorm_min());
  axis.high = std::min(axis.high * air, Limits::max());
  axis.ticks = readable_ticks(axis.scale, axis.low, axis.high);
  if (axis.ticks.empty()) axis.ticks = {*low};
  return axis;
}

double share_of(const Axis& axis, double value) {
  // Computes with halves, or differences of logarithms: the whole range of doubles would overflow.
  if (axis.scale == Scale::linear) return (value / 2 - axis.low / 2) / (axis.high / 2 - axis.low / 2);
  return (std::log(value) - std::log(axis.low)) / (std::log(axis.high) - std::log(axis.low));
}

Axis category_axis(const std::vector<std::string>& labels) {
  Axis axis{Scale::linear, -0.5, static_cast<double>(labels.size()) - 0.5, {}, labels};
  for (size_t i = 0; i < labels.size(); ++i) axis.ticks.push_back(static_cast<double>(i));
  return axis;
}

std::string tick_text(const Axis& axis, size_t i) {
  if (i < axis.labels.size()) return axis.labels[i];
  // Keeps one style of numbers: next to 10⁻⁵ write 10⁻¹, not 0.1.
  const auto is_small = [](double tick) { return tick > 0 && tick < 0.9e-3; };
  const bool has_small = axis.scale == Scale::log10 && std::any_of(axis.ticks.begin(), axis.ticks.end(), is_small);
  return tick_label(axis.ticks[i], has_small);
}

}  // namespace headroom::experiments
