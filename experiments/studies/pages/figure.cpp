#include "experiments/studies/pages/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "experiments/output/plot/svg.h"
#include "experiments/output/text.h"
#include "experiments/studies/claims/curve.h"

namespace headroom::experiments {
namespace {

/// Collects figures under ids of their own: "figure", "figure-d-256", "figure-d-256-2", …
class Collection {
 public:
  void add(std::optional<Figure> figure) {
    if (!figure) return;
    const std::string part = slug(figure->series);
    // Also the name of a file: 255 bytes are all that a file system takes.
    const std::string base = (slug(figure->plot.id) + (part.empty() ? "" : "-" + part)).substr(0, 80);
    std::string id = base;
    for (int i = 2; !taken_.insert(id).second; ++i) id = fmt::format("{}-{}", base, i);
    figure->plot.id = id;
    figures_.push_back(std::move(*figure));
  }
  std::vector<Figure> take() { return std::move(figures_); }

 private:
  std::set<std::string> taken_;
  std::vector<Figure> figures_;
};

}  // namespace

std::vector<std::string> drawn_series(const StudyResults& results) {
  std::vector<std::string> names = series_names(results);
  if (names.size() > most_series_drawn) names.resize(most_series_drawn);
  return names;
}

std::vector<SeriesGroup> series_groups(const StudyResults& results) {
  const std::vector<std::string> names = drawn_series(results);
  std::vector<SeriesGroup> groups;
  std::map<std::string, size_t> colours;  // label → category
  for (const std::string& name : names) {
    const size_t end = std::min(name.find(", "), name.find(": "));
    if (end == std::string::npos) break;
    const std::string group = name.substr(0, end), label = name.substr(end + 2);
    auto found = std::find_if(groups.begin(), groups.end(), [&](const SeriesGroup& g) { return g.name == group; });
    if (found == groups.end()) found = groups.insert(groups.end(), SeriesGroup{group, {}, {}, {}});
    found->series.push_back(name);
    found->labels.push_back(label);
    found->colours.push_back(colours.emplace(label, colours.size()).first->second);
  }
  size_t grouped = 0;
  for (const SeriesGroup& group : groups) grouped += group.series.size() > 1 ? group.series.size() : 0;
  if (names.size() > svg::kCategories && grouped == names.size() && groups.size() > 1) return groups;
  SeriesGroup all{"", names, names, {}};
  for (size_t i = 0; i < names.size(); ++i) all.colours.push_back(i);
  return {all};
}

std::vector<Figure> study_figures(const StudyResults& r) {
  Collection all;
  const auto names = drawn_series(r);
  const std::vector<SeriesGroup> groups = series_groups(r);
  const auto compare = [&](const FurtherFigure& which, bool is_main) {
    for (const SeriesGroup& group : groups)
      if (auto figure = comparison_figure(r, which, group)) {
        figure->is_main = is_main;
        all.add(std::move(figure));
      }
  };
  if (names.size() > 1) {
    compare({{r.report.y_metric, r.report.y_label, r.report.y_scale}, {}}, true);
  } else if (auto figure = curve_figure(r, names[0])) {
    figure->is_main = true;
    all.add(std::move(figure));
  }
  for (const FurtherFigure& which : r.report.also) compare(which, false);
  for (const std::string& series : names) {
    if (names.size() > 1) all.add(curve_figure(r, series));
    if (r.report.heat_map) all.add(heat_map(r, series));
    if (r.report.learning_curves) all.add(learning_curves(r, series));
    if (r.report.predictions) all.add(prediction_figure(r, series));
  }
  return all.take();
}

}  // namespace headroom::experiments
