#include "experiments/report/report.h"

#include <nlohmann/json.hpp>
#include <set>

#include "engine/error.h"
#include "experiments/claims/claims.h"
#include "experiments/claims/curve.h"
#include "experiments/report/csv.h"
#include "experiments/report/figure.h"
#include "experiments/report/file.h"
#include "experiments/report/gnuplot.h"
#include "experiments/report/overlay.h"
#include "experiments/report/page.h"
#include "experiments/report/text.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

/// A name of its own for each series: "figure", or "figure-d-256".
std::map<std::string, std::string> figure_names(const StudyResults& results) {
  std::map<std::string, std::string> names;
  std::set<std::string> taken;
  for (const std::string& series : series_names(results)) {
    const std::string base = slug(series).empty() ? "figure" : "figure-" + slug(series);
    std::string name = base;
    for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}-{}", base, i);
    names[series] = name;
  }
  return names;
}

/// Draws every series into `parts` and writes its file. A study is worth a report even where gnuplot is missing or
/// fails: the page then says why it has no figures, and none of an earlier report stays behind.
void draw_figures(const StudyResults& results, const fs::path& folder, PageParts& parts) {
  const auto gnuplot = find_gnuplot();
  if (!gnuplot) parts.without_figures = "gnuplot is not installed.";
  for (const auto& [series, name] : figure_names(results)) {
    const fs::path path = folder / (name + ".svg");
    std::error_code ignored;
    const Curve measured = curve(results, series);
    if (!gnuplot || measured.points.empty()) {
      fs::remove(path, ignored);
      continue;
    }
    const FigureSpec spec{results.report, measured, overlay_of(results, series), name,
                          series.empty() ? results.title : results.title + ", " + series};
    std::string file;
    try {
      parts.figures[series] = {draw_figure(*gnuplot, spec, Format::wide, Paint::page),
                               draw_figure(*gnuplot, spec, Format::narrow, Paint::page), path.filename().string()};
      file = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n" + draw_figure(*gnuplot, spec, Format::wide, Paint::file);
    } catch (const Error& error) {
      parts.figures.erase(series);
      parts.without_figures = error.what();
      fs::remove(path, ignored);
      continue;
    }
    write_file(path, file);
  }
}

std::string verdicts_json(const StudyResults& results, const std::vector<Verdict>& verdicts) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const Verdict& v : verdicts) {
    Json numbers = Json::object();
    for (const auto& [key, value] : v.numbers) numbers[key] = value;  // null where not finite
    Json claim = {{"kind", v.claim.kind}, {"series", v.claim.series}, {"paper", v.claim.paper}};
    if (!v.claim.among.empty()) claim["among"] = v.claim.among;
    if (v.claim.at) claim["at"] = *v.claim.at;
    claim.update(
        {{"factor", v.claim.factor}, {"significance", v.claim.significance}, {"log_error", v.claim.log_error}});
    list.push_back({{"claim", claim},
                    {"status", name(v.status)},
                    {"numbers", numbers},
                    {"sentence", v.sentence},
                    {"notes", v.notes}});
  }
  const Json all = {{"study", results.id}, {"profile", results.profile}, {"verdicts", list}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

fs::path write_report(const StudyResults& results, const fs::path& folder) {
  make_folder(folder);
  PageParts parts;
  parts.verdicts = judge(results);
  write_file(folder / "results.csv", csv(results, Clock::kept));
  write_file(folder / "metrics.csv", csv(results, Clock::left_out));
  write_file(folder / "config.toml", results.resolved_config);
  write_file(folder / "verdicts.json", verdicts_json(results, parts.verdicts));
  draw_figures(results, folder, parts);
  // Last: a page never points at files that are not there yet.
  write_file(folder / "report.html", page(results, parts));
  return folder / "report.html";
}

}  // namespace headroom::experiments
