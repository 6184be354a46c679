#include "experiments/studies/pages/page.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <set>

#include "experiments/output/html.h"
#include "experiments/output/number.h"
#include "experiments/output/text.h"
#include "experiments/output/units.h"
#include "experiments/studies/analysis/centre.h"
#include "experiments/studies/pages/answer.h"
#include "experiments/studies/pages/csv.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/pages/set_up.h"
#include "experiments/studies/words/verdict_words.h"

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
std::string sweep_words(const Analysis& r) {
  std::set<double> xs;
  std::set<int64_t> seeds;
  for (const TrialRecord& t : r.trials) xs.insert(t.x), seeds.insert(t.seed);
  const auto names = series_names(r);
  std::string out = fmt::format("{} = {}", r.report.x_label, few_of(xs));
  if (names.size() > 1) out += fmt::format(", in {} series", names.size());
  const Curve& c = r.shown_curve(names[0], r.report.y_metric);
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

Block report_figure(const PageFigure& f) { return figure(f.figure.plot, f.figure.caption, f.file); }

/// The figures of `series` that stand further down.
Blocks further_figures(const std::vector<PageFigure>& figures, const std::string& series) {
  Blocks out;
  for (const PageFigure& one : figures)
    if (!one.figure.is_main && one.figure.series == series) out.push_back(report_figure(one));
  return out;
}

Block main_figures(const std::vector<PageFigure>& figures, size_t series) {
  Blocks out;
  for (const PageFigure& one : figures)
    if (one.figure.is_main) out.push_back(report_figure(one));
  if (series > most_series_drawn)
    out.push_back(paragraph(
        fmt::format("Figures show the first {} of {} series. The tables hold all of them.", most_series_drawn, series),
        Role::notes));
  Block all = section("", std::move(out), "main-figure");
  all.name = "The figure";
  return all;
}

/// One series: a line that says what came of it, and on demand its figures and numbers.
Block series_fold(const Analysis& r, const std::vector<PageFigure>& figures, const std::string& series,
                  const std::string& id, bool is_open) {
  Blocks body = further_figures(figures, series);
  append(body, curve_table(r, series));
  Block out = fold("", std::move(body), is_open);
  out.line = {{.text = series_words(r, series), .role = Role::muted}};
  out.name = series;
  out.id = id;
  return out;
}

Block series_section(const Analysis& r, const std::vector<PageFigure>& figures, const std::vector<std::string>& names) {
  if (names[0].empty()) return section("In numbers", {section("", curve_table(r, ""), "series-1")}, "series");
  Blocks series;
  for (size_t i = 0; i < names.size(); ++i)
    series.push_back(series_fold(r, figures, names[i], fmt::format("series-{}", i + 1), names.size() == 1));
  return section("Each series", std::move(series), "series");
}

/// The question, what `--set` changed, and the answer.
Block opening(const StudyResults& r, const Answer& answer) {
  const std::string question =
      r.question.empty() ? fmt::format("How does {} depend on {}?", r.report.y_label, r.report.x_label) : r.question;
  Block top = header({paragraph({{r.title}, {fmt::format(" · {} · {}", r.id, r.profile)}}, Role::over), title(question),
                      paragraph(answer.words, Role::headline)});
  top.id = "finding";
  top.name = "Answer";
  append(top.parts, warnings(r));
  for (const std::string& line : seal_lines(r)) top.parts.push_back(paragraph(line, Role::notes));
  if (!answer.mismatch.empty()) top.parts.push_back(paragraph(answer.mismatch, Role::changed));
  return top;
}

/// Task, model and what is varied, to be opened.
Block set_up_fold(const Analysis& r) {
  std::vector<Fact> facts;
  if (const TaskWords task = task_words(r); !task.words.empty()) {
    Phrase& text = facts.emplace_back(Fact{"Task", {{task.words}}, {}}).text;
    if (!task.example.empty()) {
      text.push_back({" "});
      text.push_back({.text = fmt::format("For example, {}.", task.example), .role = Role::example});
    }
  }
  if (const std::string model = settings_line(r, Edges::left_out); !model.empty())
    facts.push_back({"Model", {{model}}, {}});
  if (!r.trials.empty()) facts.push_back({"Varied", {{sweep_words(r)}}, {}});
  if (!r.paper.empty()) facts.push_back({"Paper", {{r.paper}}, {}});
  Block out = fold("", {definitions(std::move(facts))});
  out.line = {{.text = progress_of(r), .role = Role::muted}};
  out.name = "Set-up";
  out.id = "set-up";
  return out;
}

/// "2026-11-22 18:03 UTC to 2026-11-22 19:40 UTC", from the first trial's begin to the last one's end; "" of a store
/// that did not keep it.
std::string trained(const StudyResults& r) {
  double first = INFINITY, last = 0;
  for (const TrialRecord& t : r.trials) {
    if (!(t.ended > 0)) continue;
    first = std::min(first, t.ended - t.seconds);
    last = std::max(last, t.ended);
  }
  const auto date = [](double seconds) { return fmt::gmtime(static_cast<std::time_t>(seconds)); };
  return last > 0 ? fmt::format("{:%Y-%m-%d %H:%M} UTC to {:%Y-%m-%d %H:%M} UTC", date(first), date(last)) : "";
}

/// The command that gives these results again, where this report was asked for.
std::string command_of(const StudyResults& r) {
  std::string out = fmt::format("headroom run {} --profile {}", shell_word(r.given.empty() ? r.id : r.given),
                                r.profile.substr(0, r.profile.find('+')));
  if (!r.out.empty() && r.out != "runs") out += " --out " + shell_word(r.out);
  for (const std::string& setting : r.overrides) out += " --set " + shell_word(setting);
  return out;
}

/// Versions of the program that trained the trials.
std::string programs(const StudyResults& r) {
  std::set<std::string> versions;
  for (const TrialRecord& t : r.trials)
    if (!t.code.empty()) versions.insert(t.code);
  return fmt::format("{}", fmt::join(versions, ", "));
}

Block all_trials(const StudyResults& r) {
  const auto measures = shown_measures(r.report);
  const bool several = !series_names(r)[0].empty();
  std::vector<std::string> heads;
  if (several) heads.emplace_back("series");
  heads.insert(heads.end(), {last_part(r.report.x_key), "chosen among", "seed"});
  for (const Measure& measure : measures) heads.push_back(measure.label);
  heads.insert(heads.end(), {"parameters", "FLOPs", "seconds"});
  std::vector<std::vector<Phrase>> rows;
  for (const TrialRecord* trial : ordered_trials(r)) {
    const TrialRecord& t = *trial;
    std::vector<std::string> choice;
    for (const auto& [key, value] : t.choice) choice.push_back(fmt::format("{} {}", last_part(key), exact(value)));
    std::vector<Phrase> cells =
        text_cells({t.series, exact(t.x), fmt::format("{}", fmt::join(choice, ", ")), fmt::format("{}", t.seed)});
    if (!several) cells.erase(cells.begin());
    for (const Measure& measure : measures) {
      const auto found = t.test.find(measure.metric);
      if (t.status == TrialStatus::failed) cells.push_back({{.text = "failed", .role = Role::bad}});
      else cells.push_back({{found == t.test.end() ? "—" : rounded(found->second)}});
    }
    for (const std::string& text : {fmt::format("{}", t.parameters), rounded(t.flops), rounded(t.seconds)})
      cells.push_back({{text}});
    rows.push_back(std::move(cells));
  }
  return fold(fmt::format("All {} trials", r.trials.size()), {table("All trials", heads, std::move(rows), {})});
}

/// A fact of many lines, which show on demand.
Fact folded(const std::string& term, const std::string& summary, const std::vector<std::string>& lines) {
  Blocks parts;
  for (const std::string& line : lines) parts.push_back(paragraph(line));
  return {term, {}, {fold(summary, std::move(parts))}};
}

/// Machine, versions, data, all trials and the resolved config.
Block about_section(const Analysis& r) {
  std::vector<Fact> rows;
  const auto row = [&](const std::string& key, const std::string& text, bool is_code = false) {
    rows.push_back({key, {{.text = text, .is_code = is_code}}, {}});
  };
  row("command", command_of(r), true);
  for (const std::string& setting : r.overrides) row("changed by --set", setting, true);
  if (const std::string when = trained(r); !when.empty()) row("trained", when);
  if (const std::string by = programs(r); !by.empty()) row("trained by headroom", by);
  for (const auto& [key, value] : r.provenance)
    if (key != "threads")  // those of the report, not of the trials, and no result depends on them
      row(key == "headroom" ? "reported by headroom" : key, value);
  if (training_seconds(r) > 0) {
    row("time", seconds_text(wall_seconds(r)));
    row("time of all trials together", seconds_text(training_seconds(r)));
  }
  for (const std::string& line : r.deviations) row("not as in the paper", line);
  if (!r.changes.empty())
    rows.push_back(folded("not the study’s own settings (in brackets)",
                          fmt::format("{} that this profile changes", r.changes.size()), r.changes));
  if (!r.rounds.empty())
    rows.push_back(folded("rounds", counted(std::ssize(r.rounds), "line") + " of what later rounds added", r.rounds));
  for (const auto& [file, hash] : r.data)
    rows.push_back({"read", {{file + ", SHA-256 "}, {.text = hash, .is_code = true}}, {}});
  rows.push_back({"results",
                  {{.text = "results.csv", .link = "results.csv", .csv = csv(r, Clock::kept)},
                   {", a row per trial, within this page · beside it "},
                   {.text = "metrics.csv", .link = "metrics.csv"},
                   {", the same without times, "},
                   {.text = "verdicts.json", .link = "verdicts.json"},
                   {" and "},
                   {.text = "config.toml", .link = "config.toml"}},
                  {}});
  return section("Where this comes from",
                 {facts(std::move(rows)), all_trials(r), fold("Resolved configuration", {code(r.resolved_config)})},
                 "about");
}

}  // namespace

std::string page(const Analysis& results, const std::vector<PageFigure>& figures) {
  Document page{fmt::format("{} · {}", results.title, results.profile),
                {opening(results, answer(results))},
                "output/assets/report.css",
                true};
  const auto names = series_names(results);
  if (Block main = main_figures(figures, names.size()); !main.parts.empty()) page.blocks.push_back(std::move(main));
  append(page.blocks, verdict_section(results));
  page.blocks.push_back(set_up_fold(results));
  append(page.blocks, law_section(results));
  append(page.blocks, failed_section(results));
  page.blocks.push_back(series_section(results, figures, names));
  if (Blocks more = further_figures(figures, ""); !more.empty())
    page.blocks.push_back(section("More figures", std::move(more), "more"));
  page.blocks.push_back(about_section(results));
  return as_html(page);
}

}  // namespace headroom::experiments
