#include "experiments/report/figure.h"

#include <fmt/format.h>

#include <set>

#include "experiments/claims/curve.h"
#include "experiments/report/text.h"

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

std::vector<Figure> study_figures(const StudyResults& r) {
  Collection all;
  const auto names = drawn_series(r);
  if (names.size() > 1) all.add(comparison_figure(r, {{r.report.y_metric, r.report.y_label, r.report.y_scale}, {}}));
  else all.add(curve_figure(r, names[0]));
  for (const FurtherFigure& which : r.report.also) all.add(comparison_figure(r, which));
  for (const std::string& series : names) {
    if (names.size() > 1) all.add(curve_figure(r, series));
    if (r.report.heat_map) all.add(heat_map(r, series));
    if (r.report.learning_curves) all.add(learning_curves(r, series));
    if (r.report.predictions) all.add(prediction_figure(r, series));
  }
  return all.take();
}

}  // namespace headroom::experiments
