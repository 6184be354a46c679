#include "experiments/studies/pages/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "experiments/output/file.h"
#include "experiments/output/number.h"
#include "experiments/output/plot/converter.h"
#include "experiments/output/plot/svg.h"
#include "experiments/output/text.h"
#include "experiments/studies/analysis/curve.h"

namespace headroom::experiments {
namespace {

/// Gives figures ids of their own: "figure", "figure-d-256", "figure-d-256-2", …
void name_apart(std::vector<Figure>& figures) {
  std::set<std::string> taken;
  for (Figure& figure : figures) {
    const std::string part = slug(figure.series);
    // Also the name of a file: 255 bytes are all that a file system takes.
    const std::string base = (slug(figure.plot.id) + (part.empty() ? "" : "-" + part)).substr(0, 80);
    figure.plot.id = base;
    for (int i = 2; !taken.insert(figure.plot.id).second; ++i) figure.plot.id = fmt::format("{}-{}", base, i);
  }
}

}  // namespace

Figure without_layers(const std::string& id, const std::string& title, const std::string& x_label,
                      const std::string& y_label, const std::string& series) {
  Figure figure;
  figure.plot.id = id;
  figure.plot.title = title;
  figure.plot.x_label = x_label;
  figure.plot.y_label = y_label;
  figure.series = series;
  return figure;
}

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
  if (names.size() > kCategories && grouped == names.size() && groups.size() > 1) return groups;
  SeriesGroup all{"", names, names, std::vector<size_t>(names.size())};
  std::iota(all.colours.begin(), all.colours.end(), size_t{0});
  return {all};
}

std::vector<Figure> study_figures(const Analysis& r) {
  std::vector<Figure> all;
  const auto add = [&](std::optional<Figure> figure, bool is_main = false) {
    if (!figure) return;
    figure->is_main = is_main;
    all.push_back(std::move(*figure));
  };
  const std::vector<std::string> names = drawn_series(r);
  const bool is_alone = names.size() == 1;
  const auto compare = [&](const FurtherFigure& which, bool is_main) {
    for (const SeriesGroup& group : series_groups(r)) add(comparison_figure(r, which, group), is_main);
  };
  if (is_alone) add(curve_figure(r, names[0]), true);
  else compare({{r.report.y_metric, r.report.y_label, r.report.y_scale}, {}}, true);
  for (const FurtherFigure& which : r.report.also) compare(which, false);
  for (const std::string& series : names) {
    if (!is_alone) add(curve_figure(r, series));
    if (r.report.heat_map) add(heat_map(r, series));
    if (r.report.learning_curves) add(learning_curves(r, series));
    if (r.report.predictions) add(prediction_figure(r, series));
  }
  name_apart(all);
  return all;
}

std::string write_document_figures(const Analysis& study, const std::filesystem::path& folder) {
  const auto converter = find_svg_converter();
  int64_t count = 0;
  for (const Figure& figure : study_figures(study)) {
    if (!figure.is_main) continue;
    const std::string number = ++count > 1 ? fmt::format("-{}", count) : "";
    const std::string stem = fmt::format("{}-{}{}", study.id, study.profile, number);
    make_folder(folder);
    write_file(folder / (stem + ".tex"), pgf_of(figure.plot));
    // A caption stands below it in a document: no title of its own.
    const std::string svg = svg_of(figure.plot, {.surface = Surface::file, .has_title = false});
    if (converter)
      for (const char* ending : {".pdf", ".png"}) convert_svg(*converter, svg, folder / (stem + ending));
  }
  const std::string where = fmt::format("figures {}: {} for LaTeX", folder.string(), counted(count, "figure"));
  if (converter) return fmt::format("{}, as PDF and as PNG\n", where);
  return where + "; for PDF and PNG install rsvg-convert (Debian: librsvg2-bin), inkscape or cairosvg\n";
}

}  // namespace headroom::experiments
