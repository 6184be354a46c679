#include "tasks/measure/head_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "engine/error.h"

namespace headroom::tasks {
namespace {

struct Measure {
  const char* name;
  double (*value)(const QueryMeasures& m, double keys);
};

constexpr std::array<Measure, 11> measures{{
    {"jacobian_norm", [](const QueryMeasures& m, double) { return m.jacobian_norm; }},
    {"scaled_norm", [](const QueryMeasures& m, double keys) { return keys * m.jacobian_norm; }},
    {"logits_rms", [](const QueryMeasures& m, double) { return m.logits_rms; }},
    {"logits_rms_all", [](const QueryMeasures& m, double) { return m.logits_rms_all; }},
    {"logits_deviation", [](const QueryMeasures& m, double) { return m.logits_deviation; }},
    {"entropy", [](const QueryMeasures& m, double) { return m.entropy; }},
    {"sink_mass", [](const QueryMeasures& m, double) { return m.sink_mass; }},
    {"largest_probability", [](const QueryMeasures& m, double) { return m.largest; }},
    {"largest_logit", [](const QueryMeasures& m, double) { return m.largest_logit; }},
    {"log10_paper", [](const QueryMeasures& m, double) { return m.log10_paper; }},
    {"log10_spread", [](const QueryMeasures& m, double) { return m.log10_spread; }},
}};

/// Quantiles over heads that trends tell, by name.
constexpr std::array<std::pair<const char*, double>, 7> slope_quantiles{{{"slope_0", 0.0},
                                                                         {"slope_5", 0.05},
                                                                         {"slope_25", 0.25},
                                                                         {"slope_50", 0.5},
                                                                         {"slope_75", 0.75},
                                                                         {"slope_95", 0.95},
                                                                         {"slope_100", 1.0}}};

double mean_value(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

std::vector<double> of_layer(const HeadValues& all, int64_t layer) {
  const auto first = all.values.begin() + layer * all.heads;
  return {first, first + all.heads};
}

/// The slope of log y on log x.
double slope_of(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0, square = 0, product = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    require(y[i] > 0, "trend: a value is {}, which has no logarithm", y[i]);
    mean_x += std::log(x[i]) / n;
    mean_y += std::log(y[i]) / n;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    square += (std::log(x[i]) - mean_x) * (std::log(x[i]) - mean_x);
    product += (std::log(x[i]) - mean_x) * (std::log(y[i]) - mean_y);
  }
  return product / square;
}

double ratio_of(const std::vector<double>& y) {
  const auto [least, most] = std::minmax_element(y.begin(), y.end());
  return *most / *least;
}

/// One number for each x.
template <class F>
std::vector<double> over_x(const HeadTrend& trend, const F& f) {
  std::vector<double> out;
  for (const HeadValues& at : trend.at) out.push_back(f(at));
  return out;
}

double count_where(const std::vector<double>& values, bool (*holds)(double)) {
  return static_cast<double>(std::count_if(values.begin(), values.end(), holds));
}

}  // namespace

const std::vector<std::string>& head_measures() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Measure& measure : measures) all.emplace_back(measure.name);
    return all;
  }();
  return names;
}

HeadValues head_values(const std::string& measure, const std::vector<AttentionProbe>& probes, int64_t layers,
                       int64_t heads, int64_t keys) {
  const auto found =
      std::find_if(measures.begin(), measures.end(), [&](const Measure& m) { return m.name == measure; });
  require(found != measures.end(), "{}: is not measured; known: {}", measure, fmt::join(head_measures(), ", "));
  require(!probes.empty(), "{}: no text", measure);
  HeadValues out{measure, heads, {}};
  for (int64_t layer = 0; layer < layers; ++layer)
    for (int64_t head = 0; head < heads; ++head) {
      double sum = 0;
      for (const AttentionProbe& probe : probes)
        sum += found->value(probe.at(layer, head, 0), static_cast<double>(keys));
      out.values.push_back(sum / static_cast<double>(probes.size()));
    }
  return out;
}

double quantile(std::vector<double> values, double q) {
  require(!values.empty(), "quantile: of no values");
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  if (below + 1 == values.size()) return values.back();
  return values[below] + (place - static_cast<double>(below)) * (values[below + 1] - values[below]);
}

void add_summary(Metrics& metrics, const HeadValues& of, int64_t layer, int64_t head) {
  const std::string& name = of.measure;
  metrics[name] = of.values[static_cast<size_t>(layer * of.heads + head)];
  metrics["layer_" + name] = mean_value(of_layer(of, layer));
  metrics["mean_" + name] = mean_value(of.values);
  metrics["median_" + name] = quantile(of.values, 0.5);
  metrics["least_" + name] = quantile(of.values, 0);
  metrics["low_" + name] = quantile(of.values, 0.1);
  metrics["high_" + name] = quantile(of.values, 0.9);
  metrics["most_" + name] = quantile(of.values, 1);
}

std::vector<std::string> summary_names() {
  std::vector<std::string> names;
  for (const std::string& measure : head_measures())
    for (const char* prefix : {"", "layer_", "mean_", "median_", "least_", "low_", "high_", "most_"})
      names.push_back(prefix + measure);
  return names;
}

void add_trend(Metrics& metrics, const HeadTrend& trend, int64_t layer, int64_t head) {
  require(trend.x.size() >= 2 && trend.x.size() == trend.at.size(), "trend: expected at least two x, got {}",
          trend.x.size());
  const size_t heads = trend.at[0].values.size(), one = static_cast<size_t>(layer * trend.at[0].heads + head);
  std::vector<double> slopes, ratios;
  double in_band = 0;
  for (size_t h = 0; h < heads; ++h) {
    const std::vector<double> own = over_x(trend, [&](const HeadValues& at) { return at.values[h]; });
    slopes.push_back(slope_of(trend.x, own));
    ratios.push_back(ratio_of(own));
    in_band += std::all_of(own.begin(), own.end(), [&](double y) { return y >= trend.low && y <= trend.high; }) ? 1 : 0;
  }
  const auto mean_curve = over_x(trend, [](const HeadValues& at) { return mean_value(at.values); });
  metrics["slope"] = slopes[one];
  metrics["layer_slope"] =
      slope_of(trend.x, over_x(trend, [&](const HeadValues& at) { return mean_value(of_layer(at, layer)); }));
  metrics["mean_slope"] = slope_of(trend.x, mean_curve);
  metrics["median_slope"] =
      slope_of(trend.x, over_x(trend, [](const HeadValues& at) { return quantile(at.values, 0.5); }));
  for (const auto& [name, q] : slope_quantiles) metrics[name] = quantile(slopes, q);
  metrics["heads_near_minus_1"] = count_where(slopes, [](double s) { return std::abs(s + 1) <= 0.25; });
  metrics["heads_flatter"] = count_where(slopes, [](double s) { return s > -0.5; });
  metrics["ratio"] = ratios[one];
  metrics["mean_ratio"] = ratio_of(mean_curve);
  metrics["least_ratio"] = quantile(ratios, 0);
  metrics["median_ratio"] = quantile(ratios, 0.5);
  metrics["most_ratio"] = quantile(ratios, 1);
  metrics["heads_within_4"] = count_where(ratios, [](double r) { return r <= 4; });
  metrics["heads_in_band"] = in_band;
}

std::vector<std::string> trend_names() {
  std::vector<std::string> names{
      "slope",      "layer_slope", "mean_slope",   "median_slope", "heads_near_minus_1", "heads_flatter", "ratio",
      "mean_ratio", "least_ratio", "median_ratio", "most_ratio",   "heads_within_4",     "heads_in_band"};
  for (const auto& [name, q] : slope_quantiles) names.emplace_back(name);
  return names;
}

}  // namespace headroom::tasks
