#include "experiments/studies/pages/report.h"

#include <set>

#include "experiments/output/file.h"
#include "experiments/output/plot/svg.h"
#include "experiments/studies/analysis/verdict.h"
#include "experiments/studies/pages/csv.h"
#include "experiments/studies/pages/figure.h"
#include "experiments/studies/pages/index_page.h"
#include "experiments/studies/pages/page.h"
#include "experiments/studies/pages/verdict_file.h"
#include "models/files/entries_of.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

/// Writes every figure's file, and removes those of an earlier report that are no more.
std::vector<PageFigure> write_figures(const Analysis& results, const fs::path& folder) {
  std::set<fs::path> earlier;
  for (const fs::path& file : models::entries_if_any(folder, ".svg"))
    if (file.filename().string().starts_with("figure")) earlier.insert(file);
  std::vector<PageFigure> written;
  for (const Figure& figure : study_figures(results)) {
    const fs::path path = folder / (figure.plot.id + ".svg");
    write_file(path, svg_of(figure.plot, {.surface = Surface::file}));
    earlier.erase(path);
    written.push_back({figure, path.filename().string()});
  }
  std::error_code ignored;
  for (const fs::path& path : earlier) fs::remove(path, ignored);
  return written;
}

}  // namespace

fs::path write_report(const Analysis& results, const fs::path& folder) {
  make_folder(folder);
  write_file(folder / "results.csv", csv(results, Clock::kept));
  write_file(folder / "metrics.csv", csv(results, Clock::left_out));
  write_file(folder / "config.toml", results.resolved_config);
  write_file(folder / "verdicts.json", verdicts_json(results));
  const std::vector<PageFigure> figures = write_figures(results, folder);
  std::vector<std::string> main_figures;
  for (const PageFigure& one : figures)
    if (one.figure.is_main) main_figures.push_back(one.file);
  write_file(folder / "summary.json", summary_json(results, main_figures));
  // Last: a page never points at files that are not there yet.
  write_file(folder / "report.html", page(results, figures));
  return folder / "report.html";
}

}  // namespace headroom::experiments
