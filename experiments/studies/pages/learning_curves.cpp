#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "experiments/output/number.h"
#include "experiments/output/plot/svg.h"
#include "experiments/studies/claims/statistics.h"
#include "experiments/studies/pages/centre.h"
#include "experiments/studies/pages/figure.h"
#include "experiments/studies/pages/measured.h"

namespace headroom::experiments {
namespace {

constexpr size_t kMostPoints = 80;  ///< of a line: more cannot be told apart, and a page must stay small

using Track = std::pair<std::string, std::string>;  // (split, metric)

/// What to follow: the study's metric on validation, else any on validation, else any.
std::optional<Track> track_of(const StudyResults& r, const std::string& series) {
  std::optional<Track> best;
  const auto rank = [&](const Track& t) { return t.first != "validation" ? 2 : t.second != r.report.y_metric ? 1 : 0; };
  for (const TrialRecord& t : r.trials) {
    if (t.series != series) continue;
    for (const HistoryPoint& p : t.history) {
      const Track track{p.split, p.metric};
      if (!best || std::make_pair(rank(track), track) < std::make_pair(rank(*best), *best)) best = track;
    }
  }
  return best;
}

/// step → mean over the trials that have it.
std::map<int64_t, double> followed(const std::vector<const TrialRecord*>& trials, const Track& track, MeanKind kind) {
  std::map<int64_t, std::vector<double>> values;
  for (const TrialRecord* t : trials)
    for (const HistoryPoint& p : t->history)
      if (p.split == track.first && p.metric == track.second && std::isfinite(p.value))
        values[p.step].push_back(p.value);
  std::map<int64_t, double> means;
  const size_t stride = (values.size() + kMostPoints - 1) / kMostPoints;
  size_t i = 0;
  for (const auto& [step, list] : values) {
    const bool is_last = i + 1 == values.size();
    if (i++ % std::max<size_t>(stride, 1) == 0 || is_last) means[step] = mean(list, kind);
  }
  return means;
}

}  // namespace

std::optional<Figure> learning_curves(const StudyResults& r, const std::string& series) {
  const auto track = track_of(r, series);
  if (!track) return std::nullopt;
  const std::string axis = last_part(r.report.x_key);
  const bool own = track->second == r.report.y_metric;
  const std::string label = own ? r.report.y_label : track->second;
  Figure figure;
  figure.series = series;
  Plot& plot = figure.plot;
  plot.id = "figure-learning";
  plot.title = fmt::format("{}: learning curves", r.title);
  plot.x_label = "step";
  plot.y_label = fmt::format("{}, {}", label, track->first);
  plot.description = fmt::format("{} on the {} data along training, a line per {}.", label, track->first, axis);
  const Curve c = curve(r, series);
  // What the report shows is followed by the report's own mean; losses by the plain one.
  const MeanKind kind = own ? c.kind : MeanKind::arithmetic;
  std::vector<double> steps, values;
  for (size_t i = 0; i < c.points.size(); ++i) {
    const Point& point = c.points[i];
    Layer layer;
    layer.colour =
        svg::ramp(c.points.size() > 1 ? static_cast<double>(i) / static_cast<double>(c.points.size() - 1) : 0);
    layer.style = static_cast<int>(i % 3 == 0 ? 0 : i % 3 + 1);
    layer.points = false;
    layer.legend = fmt::format("{} = {}", axis, exact(point.x));
    for (const auto& [step, value] : followed(chosen_trials(r, series, point), *track, kind)) {
      layer.marks.push_back(
          {static_cast<double>(step), value, 0, 0, fmt::format("{}, step {}: {}", layer.legend, step, rounded(value))});
      steps.push_back(static_cast<double>(step));
      values.push_back(value);
    }
    if (layer.marks.empty()) continue;
    plot.description +=
        fmt::format(" {}: from {} to {}.", layer.legend, rounded(layer.marks.front().y), rounded(layer.marks.back().y));
    layer.points = layer.marks.size() == 1;
    plot.layers.push_back(std::move(layer));
  }
  if (plot.layers.empty()) return std::nullopt;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  plot.x = fit_axis(Scale::linear, steps);
  plot.y = fit_axis(own ? r.report.y_scale : *low > 0 && *high / *low > 20 ? Scale::log10 : Scale::linear, values);
  if (plot.y.scale != Scale::linear) plot.other_y = fit_axis(Scale::linear, values);
  figure.caption = fmt::format("{} on the {} data along training, at the chosen values, {} over seeds.", label,
                               track->first, name(kind));
  return figure;
}

}  // namespace headroom::experiments
