#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "experiments/output/number.h"
#include "experiments/studies/analysis/centre.h"
#include "experiments/studies/analysis/verdict.h"
#include "experiments/studies/pages/figure.h"

namespace headroom::experiments {
namespace {

std::string hover(const std::string& axis, const Point& p, const Centre& c) {
  std::string text =
      fmt::format("{} = {}: {} ({})", axis, exact(p.x), in_words(c), counted(std::ssize(p.values), "seed"));
  for (const auto& [key, value] : p.choice) text += fmt::format(", {} = {}", last_part(key), exact(value));
  return text;
}

Layer mean_layer(const Curve& s, const std::string& axis, Colour colour) {
  Layer layer;
  layer.colour = colour;
  for (const Point& p : s.points) {
    const Centre c = centre(p, s.kind);
    if (!std::isfinite(c.mean)) continue;
    Mark mark{p.x, c.mean, c.low, c.high, hover(axis, p, c)};
    if (!c.has_interval()) mark.low = mark.high = c.mean;
    if (p.values.size() > 1)
      for (const auto& entry : p.values) mark.seeds.push_back(entry.second);
    layer.marks.push_back(std::move(mark));
  }
  layer.points = layer.marks.size() <= 24;
  return layer;
}

/// What a y axis must show of the layers: means and seeds, and of intervals what does not dwarf them.
Axis fit_y(const std::vector<Layer>& layers, Scale scale) {
  std::vector<double> values, ends;
  for (const Layer& layer : layers) {
    if (layer.kind == Layer::Kind::crosses) continue;
    for (const Mark& m : layer.marks) {
      values.push_back(m.y);
      values.insert(values.end(), m.seeds.begin(), m.seeds.end());
      if (m.high > m.low) ends.insert(ends.end(), {m.low, m.high});
    }
  }
  if (values.empty()) return fit_axis(scale, {1});
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const bool log = scale != Scale::linear && *least >= 0 && *most > 0;
  const double low = log ? least_positive(values) : *least, high = *most, factor = 2;
  for (const double end : ends)
    values.push_back(log ? std::clamp(end, low / factor, high * factor)
                         : std::clamp(end, low - (high - low) / factor, high + (high - low) / factor));
  return fit_axis(scale, values);
}

/// The same values on the other scale, where that shows more than a straight line would.
std::optional<Axis> fit_other(const std::vector<Layer>& layers, const Axis& y) {
  if (y.scale != Scale::linear) return fit_y(layers, Scale::linear);
  double low = INFINITY, high = 0;
  for (const Layer& layer : layers)
    for (const Mark& m : layer.marks) low = std::min(low, m.y), high = std::max(high, m.y);
  if (!(low > 0) || high / low < 3) return std::nullopt;
  const Axis log = fit_y(layers, Scale::log10);
  return log.scale == Scale::linear ? std::nullopt : std::optional(log);
}

Axis fit_x(Scale scale, const std::vector<double>& xs) {
  Axis axis = fit_axis(scale, xs);
  std::vector<double> distinct = xs;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (distinct.size() <= 12) axis.ticks = distinct;
  return axis;
}

std::string in_words(const Curve& s, const std::string& axis) {
  const auto value = [&](const Point& p) {
    return fmt::format("{} at {} = {}", rounded(centre(p, s.kind).mean), axis, exact(p.x));
  };
  const Point* best = s.choose(s.all_points());
  if (!best) return "No trial finished.";
  std::vector<const Point*> drawn = s.all_points();
  std::erase_if(drawn, [](const Point* p) { return !std::isfinite(p->mean); });
  return fmt::format("The {} over seeds is {}, {}, and best, {}.", name(s.kind), value(*drawn.front()),
                     value(*drawn.back()), value(*best));
}

/// A panel below the measured curve, over the same x: nothing there is compared by its height with what is above.
Plot panel(const Plot& above, const std::string& label, Layer layer, Scale scale) {
  Plot plot;
  plot.x = above.x;
  plot.x_label = above.x_label;
  plot.y_label = label;
  plot.low = true;
  plot.layers = {std::move(layer)};
  plot.y = fit_y(plot.layers, scale);
  return plot;
}

/// The overlay's points between the ends of the measured curve.
void add_overlay(Plot& plot, const Overlay& overlay, const Curve& c, const std::string& axis) {
  Layer layer;
  layer.colour = Colour::theory;
  layer.style = 1;
  std::vector<double> values;
  for (const auto& [x, y] : overlay.points) {
    if (!(x >= c.points.front().x && x <= c.points.back().x) || !std::isfinite(y)) continue;
    layer.marks.push_back({x, y, y, y, fmt::format("{}, {} = {}: {}", overlay.label, axis, exact(x), rounded(y))});
    values.push_back(y);
  }
  if (values.empty()) return;
  layer.points = values.size() <= 24;
  std::sort(layer.marks.begin(), layer.marks.end(), [](const Mark& a, const Mark& b) { return a.x < b.x; });
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const Scale scale = *low > 0 && *high / *low > 100 ? Scale::log10 : Scale::linear;
  plot.below.push_back(panel(plot, overlay.label, std::move(layer), scale));
  plot.description += fmt::format(" Below, in a panel of its own: {}.", overlay.label);
}

/// A second metric.
void add_second(Plot& plot, const Measure& measure, const Curve& s, const std::string& axis) {
  Layer layer = mean_layer(s, axis, category(1));
  if (layer.marks.empty()) return;
  plot.below.push_back(panel(plot, measure.label, std::move(layer), measure.scale));
  plot.description += fmt::format(" Below, in a panel of its own: {}. {}", measure.label, in_words(s, axis));
}

/// Puts every point of a curve at what another metric measured at its x. Points where that has no mean are left out.
void put_over(Curve& c, const Curve& over) {
  std::vector<Point> points;
  for (Point& p : c.points) {
    const Point* at = over.at(p.x);
    const double x = at ? centre(*at, over.kind).mean : NAN;
    if (!std::isfinite(x)) continue;
    p.x = x;
    points.push_back(std::move(p));
  }
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
  c.points = std::move(points);
}

/// Where the paper says that the best x is, by the claims on the report's metric: of one series, or of those
/// that are drawn.
std::vector<PlotGuide> paper_guides(const StudyResults& r, const std::optional<std::string>& series, const Axis& x,
                                    const std::vector<std::string>& among = {}) {
  std::map<double, std::vector<std::string>> by_x;
  for (const ClaimConfig& claim : r.claims) {
    if (claim.kind != &claim_kind("optimum_at") || claim.paper.empty() || claim.keys.among.size() != 1) continue;
    if (!claim.metric.empty() && claim.metric != r.report.y_metric) continue;
    if (series && !claim.series.empty() && claim.series != *series) continue;
    if (!among.empty() && !claim.series.empty() && std::count(among.begin(), among.end(), claim.series) == 0) continue;
    const double best = claim.keys.among[0];
    if (best >= x.low && best <= x.high) by_x[best].push_back(series ? "" : claim.series);
  }
  std::vector<PlotGuide> guides;
  for (const auto& [best, of] : by_x) {
    const bool is_named = of.size() == 1 && !of[0].empty();
    guides.push_back({best, fmt::format("paper’s best{}: {}", is_named ? ", " + of[0] : "", exact(best))});
  }
  return guides;
}

/// Formulas have no test data.
const char* on_data(const StudyResults& r) {
  const bool trains = std::any_of(r.trials.begin(), r.trials.end(), [](const auto& t) { return t.parameters > 0; });
  return trains ? " on the test data" : "";
}

/// What the marks of a layer are: "geometric mean over seeds with its 95 % interval".
std::string marks_words(MeanKind kind, const std::vector<Layer>& layers) {
  bool has_interval = false, has_seeds = false;
  for (const Layer& layer : layers)
    for (const Mark& m : layer.marks) {
      has_interval = has_interval || m.high > m.low;
      has_seeds = has_seeds || !m.seeds.empty();
    }
  if (!has_seeds) return "a trial at each point";
  return fmt::format("{} over seeds{}", name(kind), has_interval ? " with its 95 % interval" : "");
}

/// The series of a group that stand in the large panel: those that the study names, else those that claims speak of, in
/// their order, else the first.
std::vector<std::string> large_lines(const StudyResults& r, const SeriesGroup& group) {
  if (group.series.size() <= most_lines) return group.series;
  std::vector<std::string> names, wanted;
  wanted = r.report.lines;
  if (wanted.empty())
    for (const ClaimConfig& claim : r.claims) wanted.insert(wanted.end(), {claim.series, claim.keys.than.series});
  wanted.insert(wanted.end(), group.series.begin(), group.series.end());
  for (const std::string& name : wanted)
    if (names.size() < most_lines && std::count(group.series.begin(), group.series.end(), name) > 0 &&
        std::count(names.begin(), names.end(), name) == 0)
      names.push_back(name);
  return names;
}

/// The ratios that verdicts rest on, where they are a factor of two or more: three at most, of the lines that are
/// drawn.
void add_notes(const Analysis& r, Plot& plot, const std::map<std::string, size_t>& layer_of) {
  constexpr size_t most_notes = 3;
  for (const Verdict& v : r.verdicts()) {
    const ClaimConfig& claim = v.claim;
    if (!is_decided(v) || (claim.kind->form != Form::best && claim.kind->form != Form::ends)) continue;
    if ((!claim.metric.empty() && claim.metric != r.report.y_metric) || !layer_of.contains(claim.series)) continue;
    if (claim.from || claim.to) continue;
    const Layer& layer = plot.layers[layer_of.at(claim.series)];
    for (const ConfidenceInterval& ratio : v.intervals) {
      const auto mark =
          std::find_if(layer.marks.begin(), layer.marks.end(), [&](const Mark& m) { return m.x == ratio.of.x; });
      if (ratio.is_difference() || mark == layer.marks.end() || (ratio.value < 2 && ratio.value > 0.5)) continue;
      const auto is_taken = [&](const PlotNote& n) { return n.x == mark->x && n.y == mark->y; };
      if (plot.notes.size() < most_notes && std::none_of(plot.notes.begin(), plot.notes.end(), is_taken))
        plot.notes.push_back({mark->x, mark->y, rounded(ratio.value) + "×", layer.colour, ratio.value < 1});
    }
  }
  for (const PlotNote& n : plot.notes) plot.description += fmt::format(" At {}: {} the best.", exact(n.x), n.text);
}

size_t place_of(const StudyResults& r, const std::string& series) {
  const auto names = drawn_series(r);
  return static_cast<size_t>(std::find(names.begin(), names.end(), series) - names.begin());
}

}  // namespace

std::optional<Figure> curve_figure(const Analysis& r, const std::string& series) {
  const ReportConfig& report = r.report;
  const Curve& c = r.shown_curve(series, report.y_metric);
  if (c.points.empty()) return std::nullopt;
  const std::string axis = last_part(report.x_key);
  Figure figure = without_layers("figure", series.empty() ? r.title : r.title + ", " + series, report.x_label,
                                 report.y_label, series);
  Plot& plot = figure.plot;
  plot.description = fmt::format("{} against {}. {}", report.y_label, report.x_label, in_words(c, axis));

  Layer means = mean_layer(c, axis, category(place_of(r, series))), failed;
  means.legend = name(c.kind);
  std::vector<double> xs;
  for (const Point& p : c.points) xs.push_back(p.x);
  plot.layers = {std::move(means)};
  plot.x = fit_x(report.x_scale, xs);
  plot.y = fit_y(plot.layers, report.y_scale);
  plot.other_y = fit_other(plot.layers, plot.y);
  plot.guides = paper_guides(r, series, plot.x);
  figure.caption =
      fmt::format("{}{} against {}: {}.", report.y_label, on_data(r), report.x_label, marks_words(c.kind, plot.layers));
  failed.kind = Layer::Kind::crosses;
  failed.legend = "failed seeds";
  failed.colour = Colour::warning;
  for (const Point& p : c.points) {
    if (p.failed.empty()) continue;
    // A point without a finished seed is marked at the top, where an error without bound belongs.
    const Centre middle = centre(p, c.kind);
    failed.marks.push_back({p.x, std::isfinite(middle.mean) ? middle.mean : plot.y.high, 0, 0,
                            fmt::format("{} = {}: {} of {} seeds failed", axis, exact(p.x), p.failed.size(),
                                        p.failed.size() + p.values.size())});
  }
  if (!failed.marks.empty()) plot.layers.push_back(std::move(failed));
  if (report.right) add_second(plot, *report.right, r.shown_curve(series, report.right->metric), axis);
  else if (const Overlay* overlay = overlay_of(r, series)) add_overlay(plot, *overlay, c, axis);
  if (!plot.below.empty()) figure.caption += fmt::format(" Below: {}.", plot.below[0].y_label);
  return figure;
}

std::optional<Figure> comparison_figure(const Analysis& r, const FurtherFigure& which, const SeriesGroup& group) {
  const Measure& measure = which.y;
  const std::string axis = which.over ? which.over->metric : last_part(r.report.x_key);
  const std::string& x_label = which.over ? which.over->label : r.report.x_label;
  const std::string part = group.name.empty() ? "" : group.name + ": ";
  const std::string id = "figure-" + measure.metric + (which.over ? "-over-" + which.over->metric : "") +
                         (group.name.empty() ? "" : "-" + group.name);
  Figure figure = without_layers(id, fmt::format("{}: {}{}", r.title, part, measure.label), x_label, measure.label);
  Plot& plot = figure.plot;
  plot.description = fmt::format("{}{} against {}.", part, measure.label, x_label);
  std::vector<double> xs;
  MeanKind kind = MeanKind::geometric;
  const std::vector<std::string>& names = group.series;
  const std::vector<std::string> large = large_lines(r, group);
  std::map<std::string, size_t> layer_of;  // series → layer
  std::vector<Layer> others;
  for (size_t i = 0; i < names.size(); ++i) {
    Curve s = r.shown_curve(names[i], measure.metric);
    if (which.over) put_over(s, r.shown_curve(names[i], which.over->metric));
    kind = s.kind;
    Layer layer = mean_layer(s, axis, category(group.colours[i]));
    if (layer.marks.empty()) continue;
    layer.legend = names.size() > 1 ? group.labels[i] : name(s.kind);
    layer.style = static_cast<int>(group.colours[i] / kCategories);
    for (Mark& mark : layer.marks) {
      if (!names[i].empty()) mark.hover = names[i] + ", " + mark.hover;
      xs.push_back(mark.x);
    }
    plot.description += fmt::format(" {}{}", names[i].empty() ? "" : names[i] + ": ", in_words(s, axis));
    if (std::count(large.begin(), large.end(), names[i]) > 0) {
      layer_of[names[i]] = plot.layers.size();
      plot.layers.push_back(std::move(layer));
    } else {
      others.push_back(std::move(layer));
    }
  }
  if (plot.layers.empty() && others.empty()) return std::nullopt;
  if (plot.layers.empty()) std::swap(plot.layers, others);
  std::vector<Layer> all = plot.layers;
  all.insert(all.end(), others.begin(), others.end());
  const Scale x_scale = which.over ? which.over->scale : r.report.x_scale;
  std::vector<double> large_xs;
  for (const Layer& layer : plot.layers)
    for (const Mark& mark : layer.marks) large_xs.push_back(mark.x);
  plot.x = fit_x(x_scale, large_xs);
  const Axis shared = fit_y(all, measure.scale), own = fit_y(plot.layers, measure.scale);
  // All on one scale, unless that squeezes the lines of the large panel.
  const bool is_shared = share_of(shared, own.high) - share_of(shared, own.low) > 0.5;
  plot.y = is_shared ? shared : own;
  plot.other_y = fit_other(is_shared ? all : plot.layers, plot.y);
  for (Layer& layer : others) {
    Plot& small = plot.small.emplace_back();
    small.x = fit_x(x_scale, xs);
    small.y = shared;
    small.other_y = fit_other(all, shared);
    layer.style = 0;  // alone in its panel
    small.x_label = plot.x_label;
    small.y_label = plot.y_label;
    small.layers.push_back(std::move(layer));
  }
  if (!which.over && measure.metric == r.report.y_metric) {
    plot.guides = paper_guides(r, {}, plot.x, large);
    if (layer_of.size() == plot.layers.size()) add_notes(r, plot, layer_of);
  }
  figure.caption = fmt::format("{}{}{} against {}{}: {}.", part, measure.label, on_data(r), x_label,
                               names.size() > 1 && part.empty() ? ", all series" : "", marks_words(kind, all));
  if (!plot.notes.empty()) figure.caption += " A number with × beside a point: how many times the error of the best.";
  return figure;
}

}  // namespace headroom::experiments
