#include "experiments/studies/pages/page.h"

#include <fmt/format.h>

#include <set>

#include "experiments/output/html.h"
#include "experiments/output/number.h"
#include "experiments/studies/pages/centre.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/pages/law_section.h"
#include "experiments/studies/pages/set_up.h"

namespace headroom::experiments {
namespace {

/// "1, 2, 4, …, 128": all of a few values, the first and the last of many.
std::string few_of(const std::set<double>& values) {
  std::vector<std::string> parts;
  for (const double value : values) parts.push_back(exact(value));
  if (parts.size() > 6) parts = {parts[0], parts[1], parts[2], "…", parts.back()};
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// What is varied and what is measured.
std::string sweep_words(const StudyResults& r) {
  std::set<double> xs;
  std::set<int64_t> seeds;
  for (const TrialRecord& t : r.trials) xs.insert(t.x), seeds.insert(t.seed);
  const auto names = series_names(r);
  std::string out = fmt::format("{} = {}", r.report.x_label, few_of(xs));
  if (names.size() > 1) out += fmt::format(", in {} series", names.size());
  const Curve c = metric_curve(r, names[0], r.report.y_metric);
  out += fmt::format(". Shown is {}, {} is better", r.report.y_label, c.larger_is_better ? "more" : "less");
  if (seeds.size() > 1) out += fmt::format(": the {} over seeds with its 95 % interval", name(c.kind));
  return out + ".";
}

/// What a reader has to know before the numbers: a profile or settings that are not the study's own.
Blocks warnings(const StudyResults& r) {
  Blocks out;
  if (!r.overrides.empty())
    out.push_back(paragraph({{.text = "Not as the study’s file has it.", .is_strong = true},
                             {" Changed by --set: "},
                             {.text = fmt::format("{}", fmt::join(r.overrides, ", ")), .is_code = true}},
                            Role::changed));
  if (r.profile.starts_with("smoke"))
    out.push_back(paragraph(
        {{.text = "Profile smoke", .is_strong = true}, {" shows that the study runs; its numbers mean nothing."}},
        Role::changed));
  if (r.left_out > 0)
    out.push_back(paragraph(fmt::format("{} of an earlier state of this study {} not in this report.",
                                        counted(r.left_out, "finished trial"), r.left_out == 1 ? "is" : "are"),
                            Role::changed));
  return out;
}

Block report_figure(const PageFigure& f) { return figure(f.figure.plot, f.figure.caption, f.drawing, f.file); }

/// The figures of `series` that stand further down.
Blocks further_figures(const PageParts& parts, const std::string& series) {
  Blocks out;
  for (const PageFigure& one : parts.figures)
    if (!one.figure.is_main && one.figure.series == series) out.push_back(report_figure(one));
  return out;
}

Block main_figures(const PageParts& parts, size_t series) {
  Blocks out;
  for (const PageFigure& one : parts.figures)
    if (one.figure.is_main) out.push_back(report_figure(one));
  if (!parts.without_figures.empty())
    out.push_back(paragraph(
        fmt::format("Figures are missing: {} The tables hold the same numbers.", parts.without_figures), Role::notes));
  if (series > most_series_drawn)
    out.push_back(paragraph(
        fmt::format("Figures show the first {} of {} series. The tables hold all of them.", most_series_drawn, series),
        Role::notes));
  Block all = section("", std::move(out), "main-figure");
  all.name = "The figure";
  return all;
}

/// One series: a line that says what came of it, and on demand its figures and numbers.
Block series_fold(const StudyResults& r, const PageParts& parts, const std::string& series, const std::string& id,
                  bool is_open) {
  Blocks body = further_figures(parts, series);
  append(body, curve_table(r, series));
  Block out = fold("", std::move(body), is_open);
  out.line = {{.text = series_words(r, series), .role = Role::muted}};
  out.name = series;
  out.id = id;
  return out;
}

Block series_section(const StudyResults& r, const PageParts& parts, const std::vector<std::string>& names) {
  if (names[0].empty()) return section("In numbers", {section("", curve_table(r, ""), "series-1")}, "series");
  Blocks series;
  for (size_t i = 0; i < names.size(); ++i)
    series.push_back(series_fold(r, parts, names[i], fmt::format("series-{}", i + 1), names.size() == 1));
  return section("Each series", std::move(series), "series");
}

/// The question, what `--set` changed, the set-up in three lines (task, model, what is varied) and the finding.
Blocks opening_section(const StudyResults& r, const std::vector<Verdict>& verdicts) {
  const std::string question =
      r.question.empty() ? fmt::format("How does {} depend on {}?", r.report.y_label, r.report.x_label) : r.question;
  Block top =
      header({paragraph(fmt::format("{} · {}{}", r.id, r.profile, r.paper.empty() ? "" : " · " + r.paper), Role::over),
              title(r.title), paragraph(question, Role::question)});
  top.id = "finding";
  top.name = "Summary";
  append(top.parts, warnings(r));
  top.parts.push_back(paragraph(progress_of(r), Role::muted));

  Block opening;
  opening.kind = Block::Kind::opening;
  if (const TaskWords task = task_words(r); !task.words.empty()) {
    Phrase& text = opening.facts.emplace_back(Fact{"Task", {{task.words}}, {}}).text;
    if (!task.example.empty()) {
      text.push_back({" "});
      text.push_back({.text = fmt::format("For example, {}.", task.example), .role = Role::example});
    }
  }
  if (const std::string model = settings_line(r, Edges::left_out); !model.empty())
    opening.facts.push_back({"Model", {{model}}, {}});
  if (!r.trials.empty()) opening.facts.push_back({"Varied", {{sweep_words(r)}}, {}});
  if (!verdicts.empty()) opening.parts.push_back(paragraph(finding(r, verdicts), Role::headline));
  opening.parts.push_back(paragraph(headline(r, verdicts), Role::muted));
  return {std::move(top), std::move(opening)};
}

}  // namespace

std::string page(const StudyResults& results, const PageParts& parts) {
  Document page{fmt::format("{} · {}", results.title, results.profile), opening_section(results, parts.verdicts),
                "output/assets/report.css", true};
  const auto names = series_names(results);
  if (Block figures = main_figures(parts, names.size()); !figures.parts.empty())
    page.blocks.push_back(std::move(figures));
  append(page.blocks, verdict_section(results, parts.verdicts));
  append(page.blocks, law_section(results));
  append(page.blocks, failed_section(results));
  page.blocks.push_back(series_section(results, parts, names));
  if (Blocks more = further_figures(parts, ""); !more.empty())
    page.blocks.push_back(section("More figures", std::move(more), "more"));
  page.blocks.push_back(about_section(results));
  return as_html(page);
}

}  // namespace headroom::experiments
