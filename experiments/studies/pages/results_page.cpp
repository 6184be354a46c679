#include "experiments/studies/pages/results_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/error.h"
#include "experiments/output/file.h"
#include "experiments/output/number.h"
#include "experiments/output/plot/svg.h"
#include "experiments/output/units.h"
#include "experiments/studies/analysis/centre.h"
#include "experiments/studies/pages/answer.h"
#include "experiments/studies/pages/figure.h"
#include "experiments/studies/pages/grounds_page.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/pages/models_page.h"
#include "experiments/studies/pages/scoreboard.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

const char *const guideline_file = "guideline.md", *const models_file = "models.md",
                  *const grounds_file = "headlines.md";

std::string machine(const StudyResults& r) {
  std::vector<std::string> parts;
  for (const char* key : {"CPU", "instruction set", "products", "threads", "headroom", "compiler"})
    if (const auto found = r.provenance.find(key); found != r.provenance.end())
      parts.push_back(fmt::format("{} {}", key, found->second));
  return fmt::format("{}", fmt::join(parts, "; "));
}

Block overview(const std::vector<Analysis>& all, const std::string& folder) {
  std::vector<std::vector<Phrase>> rows;
  for (const Analysis& r : all) {
    rows.push_back(text_cells({r.title, r.profile, r.verdicts().empty() ? "" : answer(r).words,
                               tally(r.verdicts(), ClaimSource::paper), tally(r.verdicts(), ClaimSource::theorem),
                               tally(r.verdicts(), ClaimSource::ours), std::to_string(count_trials(r.trials)),
                               seconds_text(wall_seconds(r))}));
    rows.back()[0][0].link = fmt::format("{}/{}.md", folder, page_name(all, r));
    rows.back()[1][0].is_code = true;
  }
  return table(
      "Studies",
      {"study", "profile", "what was found", "the paper’s claims", "theorems", "our own", "trials", "wall time"},
      std::move(rows));
}

/// All verdicts of studies and of pilots, apart: what a pilot says is not what the paper's own experiment would.
Blocks totals(const std::vector<Analysis>& all) {
  Blocks out;
  for (const bool pilots : {false, true}) {
    std::vector<Verdict> verdicts;
    for (const Analysis& f : all)
      if (is_pilot(f) == pilots) verdicts.insert(verdicts.end(), f.verdicts().begin(), f.verdicts().end());
    if (!verdicts.empty())
      out.push_back(item(fmt::format("{}: {}", pilots ? "Pilots" : "Studies at their own settings, and computed values",
                                     headline(verdicts))));
  }
  return out;
}

/// How often the paper's guideline, to start with few heads and to search upward, ends at a number of heads that is
/// shown to be good, on curves of trained models; "" without any.
std::string guideline_sentence(const std::vector<HeadChoice>& choices) {
  const ChoiceTally tally = guideline_tally(distinct_learned(choices));
  if (tally.curves == 0) return "";
  return fmt::format(
      "The paper advises a local search: start with the fewest heads and add more until validation stops improving. It "
      "ends at the best number on validation on {} of {} curves. That number is shown to be within the margin (10 % of "
      "an error, 1 % of a cross-entropy or an accuracy) of every other on {} of them and worse on {}{}; {} are "
      "undecided. Each number tried costs a search of learning rates.",
      tally.best, tally.curves, tally.good, tally.worse,
      tally.worse > 0 ? fmt::format(" (by at most {} times)", rounded(tally.worst)) : "", tally.open());
}

/// Where the guideline's search ends, with a row per curve.
Blocks guideline_page(const std::vector<HeadChoice>& choices) {
  std::vector<std::vector<Phrase>> rows;
  for (const HeadChoice& c : choices) {
    if (!c.found) continue;
    const HeadChoice::Option& found = *c.found;
    const bool is_worse = found.standing == HeadChoice::Option::Standing::worse;
    const bool is_good = found.standing == HeadChoice::Option::Standing::as_good;
    rows.push_back(text_cells({c.study, c.series, exact(found.heads), exact(c.best().heads),
                               in_words(Centre{found.ratio, found.low, found.high}),
                               is_worse  ? "worse"
                               : is_good ? "within the margin"
                                         : "open",
                               fmt::format("{:.0f} %", 100 * (c.margin - 1))}));
    rows.back()[0][0].is_code = true;
    rows.back()[5][0].is_strong = is_worse;
  }
  return {
      title("The guideline: start with few heads and search upward"), paragraph(guideline_sentence(choices)),
      paragraph("The table has every curve. The sentence counts those that learned their task, and counts a setting "
                "once if several studies share it. A number of heads is within the margin if every comparison with "
                "another number shows it. The table’s interval is that of one comparison, with the best other "
                "number, and may be wider than the test’s."),
      table("Every curve",
            {"study", "series", "ends at", "best on validation", "times the error of the best other [interval]",
             "against every other number", "margin"},
            std::move(rows))};
}

/// The study's main figures as `folder`/`page`.svg, or `page`-2.svg and so on where there are several; their titles and
/// the files' names. None without data.
std::vector<StudyFigure> write_figures(const Analysis& r, const fs::path& folder, const std::string& page) {
  std::vector<StudyFigure> written;
  if (r.trials.empty()) return written;
  for (const Figure& figure : study_figures(r)) {
    if (!figure.is_main) continue;
    const std::string number = written.empty() ? "" : fmt::format("-{}", written.size() + 1);
    const std::string name = page + number + ".svg";
    write_file(folder / name, svg_of(figure.plot, {.surface = Surface::file}));
    written.push_back({figure.plot.title, figure.caption, name});
  }
  return written;
}

}  // namespace

std::vector<HeadChoice> head_choices(const std::vector<Analysis>& all) {
  std::vector<HeadChoice> choices;
  for (const Analysis& f : all) choices.insert(choices.end(), f.head_choices().begin(), f.head_choices().end());
  return choices;
}

std::string page_name(const std::vector<Analysis>& all, const Analysis& f) {
  std::map<std::string, int> profiles;
  int same = 0;
  for (const Analysis& other : all) {
    ++profiles[other.profile];
    same += other.id == f.id ? 1 : 0;
  }
  const int own = profiles[f.profile];
  const bool is_usual = std::all_of(profiles.begin(), profiles.end(), [&](const auto& profile) {
    return profile.first == f.profile || profile.second < own;
  });
  return same == 1 || is_usual ? f.id : f.id + "-" + f.profile;
}

Blocks results_index(const std::vector<Analysis>& all, const std::string& folder) {
  const std::vector<HeadChoice> choices = head_choices(all);
  Blocks out{title("Results"),
             paragraph({{"Written by "},
                        {.text = "headroom report STUDY… --results FILE", .is_code = true},
                        {" from the run stores: change a study, not this page. Each study has a page with its figure, "
                         "its settings, its claims and its numbers. A profile other than "},
                        {.text = "paper", .is_code = true},
                        {" is a pilot: smaller and shorter than what the paper trained."}})};
  append(out, scoreboard(all, folder));
  if (const std::string words = models_sentence(claims_by_model(all)); !words.empty())
    out.push_back(paragraph(
        {{words + " "}, {.text = "Model by model", .link = fmt::format("{}/{}", folder, models_file)}, {"."}}));
  append(out, totals(all));
  out.push_back(overview(all, folder));
  std::set<std::string> machines;
  for (const Analysis& f : all) machines.insert(machine(f));
  for (const std::string& words : machines)
    if (!words.empty()) out.push_back(paragraph(fmt::format("Machine: {}.", words)));
  if (const std::string words = guideline_sentence(choices); !words.empty())
    append(out, {heading("The guideline: start with few heads and search upward"),
                 paragraph({{words + " "},
                            {.text = "Curve by curve", .link = fmt::format("{}/{}", folder, guideline_file)},
                            {"."}})});
  return out;
}

void check_results(const fs::path& file) {
  const fs::path folder = file.parent_path() / file.stem();
  require(file.has_stem() && file.has_extension(), "{}: expected a name with an extension, such as results.md",
          file.string());
  check_file(file, true);
  std::error_code none;
  require(!fs::exists(folder, none) || fs::is_directory(folder, none),
          "{}: its pages go into {}, which is no folder; name another", file.string(), folder.string());
}

void write_results(const std::vector<Analysis>& all, const fs::path& file) {
  check_results(file);
  const std::string folder = file.stem().string();
  const fs::path pages = file.parent_path() / folder;
  make_folder(pages);
  for (const Analysis& f : all) {
    const std::string page = page_name(all, f);
    write_file(pages / (page + ".md"), as_markdown(study_page(f, write_figures(f, pages, page))));
  }
  if (const std::vector<HeadChoice> choices = head_choices(all); !guideline_sentence(choices).empty())
    write_file(pages / guideline_file, as_markdown(guideline_page(choices)));
  if (const std::vector<ModelClaim> claims = claims_by_model(all); !claims.empty())
    write_file(pages / models_file, as_markdown(models_page(all, claims)));
  if (const Blocks grounds = grounds_page(all); !grounds.empty())
    write_file(pages / grounds_file, as_markdown(grounds));
  // Last: an index never points at pages that are not there yet.
  write_file(file, as_markdown(results_index(all, folder)));
}

}  // namespace headroom::experiments
