#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/output/number.h"
#include "experiments/output/plot/svg.h"
#include "experiments/studies/pages/centre.h"
#include "experiments/studies/pages/figure.h"
#include "experiments/studies/pages/measured.h"

namespace headroom::experiments {
namespace {

constexpr size_t kMostDots = 200;

/// The correlation of targets and outputs; NaN where one of them does not vary.
double correlation(const std::vector<std::pair<double, double>>& pairs) {
  double mean_a = 0, mean_b = 0, ab = 0, aa = 0, bb = 0;
  const auto n = static_cast<double>(pairs.size());
  for (const auto& [a, b] : pairs) {
    mean_a += a / n;
    mean_b += b / n;
  }
  for (const auto& [a, b] : pairs) {
    ab += (a - mean_a) * (b - mean_b);
    aa += (a - mean_a) * (a - mean_a);
    bb += (b - mean_b) * (b - mean_b);
  }
  return ab / std::sqrt(aa * bb);
}

}  // namespace

std::optional<Figure> prediction_figure(const StudyResults& r, const std::string& series) {
  const Curve c = metric_curve(r, series, r.report.y_metric);
  const Point* best = c.choose(c.all_points());
  if (!best) return std::nullopt;
  std::vector<std::pair<double, double>> pairs;
  for (const TrialRecord* t : chosen_trials(r, series, *best))
    for (const auto& pair : t->predictions)
      if (std::isfinite(pair.first) && std::isfinite(pair.second)) pairs.push_back(pair);
  if (pairs.empty()) return std::nullopt;

  const std::string at = fmt::format("{} = {}", last_part(r.report.x_key), exact(best->x));
  Figure figure;
  figure.series = series;
  Plot& plot = figure.plot;
  plot.id = "figure-predictions";
  plot.title = fmt::format("{}: output against target at {}", r.title, at);
  plot.x_label = "target";
  plot.y_label = "output";
  plot.square = true;
  plot.description = fmt::format("{} test values of the model at {}: output against target, correlation {}.",
                                 pairs.size(), at, rounded(correlation(pairs)));
  Layer dots, line;
  dots.kind = Layer::Kind::dots;
  dots.colour = svg::category(0);
  dots.legend = fmt::format("test values, {}", at);
  std::vector<double> values;
  const size_t stride = (pairs.size() + kMostDots - 1) / kMostDots;
  for (size_t i = 0; i < pairs.size(); i += stride) {
    const auto& [target, output] = pairs[i];
    dots.marks.push_back({target, output, 0, 0, fmt::format("target {}, output {}", rounded(target), rounded(output))});
    values.insert(values.end(), {target, output});
  }
  plot.x = plot.y = fit_axis(Scale::linear, values);
  line.colour = svg::kMuted;
  line.style = 1;
  line.points = false;
  line.legend = "output = target";
  line.marks = {{plot.x.low, plot.x.low}, {plot.x.high, plot.x.high}};
  plot.layers = {std::move(line), std::move(dots)};
  figure.caption = fmt::format("Output against target on the test data at {}, the best; correlation {}.", at,
                               rounded(correlation(pairs)));
  return figure;
}

}  // namespace headroom::experiments
