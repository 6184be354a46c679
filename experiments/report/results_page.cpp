#include "experiments/report/results_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "engine/error.h"
#include "experiments/claims/guideline.h"
#include "experiments/claims/number.h"
#include "experiments/report/figure.h"
#include "experiments/report/file.h"
#include "experiments/report/gnuplot.h"
#include "experiments/report/headline.h"
#include "experiments/report/markdown.h"
#include "experiments/report/study_page.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

std::string machine(const StudyResults& r) {
  std::vector<std::string> parts;
  for (const char* key : {"CPU", "instruction set", "threads", "headroom", "compiler"})
    if (const auto found = r.provenance.find(key); found != r.provenance.end())
      parts.push_back(fmt::format("{} {}", key, markdown(found->second)));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string overview(const std::vector<Finding>& all, const std::string& folder) {
  std::vector<std::vector<std::string>> rows;
  for (const Finding& f : all) {
    const StudyResults& r = f.results;
    rows.push_back({fmt::format("[{}]({}/{}.md)", markdown(r.title), folder, page_name(all, f)),
                    markdown_code(r.profile), tally(f.verdicts, false), tally(f.verdicts, true),
                    fmt::format("{}", r.trials.size()), duration(wall_seconds(r)), duration(training_seconds(r))});
  }
  return markdown_table({"study", "profile", "the paper’s claims", "our own", "trials", "time", "time of all trials"},
                        rows);
}

/// Whether models were trained for a series: not a formula, and not the construction of a proof.
bool is_trained(const StudyResults& r, const std::string& series) {
  return std::any_of(r.trials.begin(), r.trials.end(),
                     [&](const TrialRecord& t) { return t.series == series && t.steps > 0; });
}

/// Did a search upward from few heads find the best, on every curve of trained models over heads?
std::string guideline(const std::vector<Finding>& all) {
  std::vector<std::vector<std::string>> rows;
  int reached = 0;
  for (const Finding& f : all) {
    if (last_part(f.results.report.x_key) != "heads") continue;
    for (const std::string& series : series_names(f.results)) {
      if (!is_trained(f.results, series)) continue;
      const auto search = search_upward(curve(f.results, series));
      if (!search) continue;
      reached += search->reached ? 1 : 0;
      rows.push_back({markdown_code(f.results.id), markdown(series), exact(search->found_x), exact(search->best_x),
                      rounded(search->times_worse), search->reached ? "yes" : "**no**"});
    }
  }
  if (rows.empty()) return "";
  return fmt::format(
             "## The guideline: start with few heads and search locally\n\nStarting from the fewest heads and adding "
             "more as long as the mean improves ends within 10 % of the best on {} of {} curves of trained models.\n\n",
             reached, rows.size()) +
         markdown_table({"study", "series", "found", "best", "times worse", "within 10 %"}, rows);
}

/// The study's first figure as `folder`/`page`.svg; the file's name, or "" without gnuplot or data.
std::string write_figure(const StudyResults& r, const fs::path& folder, const std::string& page) {
  const auto gnuplot = find_gnuplot();
  if (!gnuplot || r.trials.empty()) return "";
  const std::vector<Figure> figures = study_figures(r);
  if (figures.empty()) return "";
  const std::string name = page + ".svg";
  write_file(folder / name, draw(*gnuplot, figures.front().plot).file);
  return name;
}

}  // namespace

std::vector<Finding> findings(const std::vector<StudyResults>& studies) {
  std::vector<const StudyResults*> sorted;
  for (const StudyResults& r : studies) sorted.push_back(&r);
  std::sort(sorted.begin(), sorted.end(), [](const StudyResults* a, const StudyResults* b) {
    return std::tie(a->id, a->profile) < std::tie(b->id, b->profile);
  });
  std::vector<Finding> all;
  for (const StudyResults* r : sorted) all.push_back({*r, judge(*r)});
  return all;
}

std::string page_name(const std::vector<Finding>& all, const Finding& f) {
  const auto same =
      std::count_if(all.begin(), all.end(), [&](const Finding& other) { return other.results.id == f.results.id; });
  return same > 1 ? f.results.id + "-" + f.results.profile : f.results.id;
}

std::string results_index(const std::vector<Finding>& all, const std::string& folder) {
  std::string out =
      "# Results\n\nWritten by `headroom report STUDY… --results FILE` from the run stores: change a study, not this "
      "page. Each study has a page with its figure, its settings, its claims and its numbers. A profile other than "
      "`paper` is a pilot: smaller and shorter than what the paper trained.\n\n";
  out += overview(all, folder);
  std::set<std::string> machines;
  for (const Finding& f : all) machines.insert(machine(f.results));
  for (const std::string& words : machines)
    if (!words.empty()) out += fmt::format("Machine: {}.\n\n", words);
  out += guideline(all);
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

void write_results(const std::vector<StudyResults>& studies, const fs::path& file) {
  const std::string folder = file.stem().string();
  require(!folder.empty() && folder != file.filename(), "{}: wants a name with an extension, such as results.md",
          file.string());
  const fs::path pages = file.parent_path() / folder;
  make_folder(pages);
  const std::vector<Finding> all = findings(studies);
  for (const Finding& f : all) {
    const std::string page = page_name(all, f);
    write_file(pages / (page + ".md"), study_page(f, write_figure(f.results, pages, page)));
  }
  // Last: an index never points at pages that are not there yet.
  write_file(file, results_index(all, folder));
}

}  // namespace headroom::experiments
