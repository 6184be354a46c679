#include "experiments/studies/pages/report.h"

#include <set>

#include "engine/error.h"
#include "experiments/output/file.h"
#include "experiments/output/plot/gnuplot.h"
#include "experiments/studies/claims/claims.h"
#include "experiments/studies/claims/verdict_file.h"
#include "experiments/studies/pages/csv.h"
#include "experiments/studies/pages/figure.h"
#include "experiments/studies/pages/index_page.h"
#include "experiments/studies/pages/page.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

/// Draws every figure into `parts` and writes its file. A study is worth a report even where gnuplot is missing or
/// fails: the page then says why it lacks figures, and none of an earlier report stays behind.
void draw_figures(const StudyResults& results, const fs::path& folder, PageParts& parts) {
  std::set<fs::path> earlier;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".svg" && entry.path().filename().string().starts_with("figure"))
      earlier.insert(entry.path());
  const auto gnuplot = find_gnuplot();
  if (!gnuplot) parts.without_figures = "gnuplot is not installed.";
  for (const Figure& figure : gnuplot ? study_figures(results) : std::vector<Figure>{}) {
    Drawing drawn;
    try {
      drawn = draw(*gnuplot, figure.plot);
    } catch (const Error& error) {
      parts.without_figures = error.what();
      continue;
    }
    const fs::path path = folder / (figure.plot.id + ".svg");
    write_file(path, drawn.file);
    earlier.erase(path);
    parts.figures.push_back({figure, std::move(drawn), path.filename().string()});
  }
  std::error_code ignored;
  for (const fs::path& path : earlier) fs::remove(path, ignored);
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
  write_file(folder / "summary.json", summary_json(results, parts.verdicts));
  draw_figures(results, folder, parts);
  // Last: a page never points at files that are not there yet.
  write_file(folder / "report.html", page(results, parts));
  return folder / "report.html";
}

}  // namespace headroom::experiments
