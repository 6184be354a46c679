#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "experiments/output/number.h"
#include "experiments/studies/pages/centre.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/pages/measured.h"
#include "experiments/studies/pages/page_sections.h"
#include "experiments/studies/pages/settings_line.h"
#include "experiments/studies/pages/task_words.h"

namespace headroom::experiments {
namespace {

/// "1, 2, 4, …, 128": all of a few values, the first and the last of many.
std::string few_of(const std::set<double>& values) {
  std::vector<std::string> parts;
  for (const double value : values) parts.push_back(exact(value));
  if (parts.size() <= 6) return fmt::format("{}", fmt::join(parts, ", "));
  return fmt::format("{}, {}, {}, …, {}", parts[0], parts[1], parts[2], parts.back());
}

/// What is varied and what is measured.
std::string sweep_words(const StudyResults& r) {
  std::set<double> xs;
  std::set<int64_t> seeds;
  for (const TrialRecord& t : r.trials) xs.insert(t.x), seeds.insert(t.seed);
  const auto names = series_names(r);
  std::string out = fmt::format("{} = {}", r.report.x_label, few_of(xs));
  if (names.size() > 1) out += fmt::format(", in {} series", names.size());
  const MeanKind kind = metric_curve(r, names[0], r.report.y_metric).kind;
  const bool larger = metric_curve(r, names[0], r.report.y_metric).larger_is_better;
  out += fmt::format(". Shown is {}, {} is better", r.report.y_label, larger ? "more" : "less");
  if (seeds.size() > 1) out += fmt::format(": the {} over seeds with its 95 % interval", name(kind));
  return out + ".";
}

void add_fact(std::vector<Fact>& rows, const std::string& term, const std::string& text) {
  if (!text.empty()) rows.push_back({term, {{text}}, {}});
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
    out.push_back(
        paragraph(fmt::format("{} finished {} of an earlier state of this study {} not in this report.", r.left_out,
                              r.left_out == 1 ? "trial" : "trials", r.left_out == 1 ? "is" : "are"),
                  Role::changed));
  return out;
}

}  // namespace

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
  const TaskWords task = task_words(r);
  add_fact(opening.facts, "Task", task.words);
  if (!task.words.empty() && !task.example.empty()) {
    Phrase& text = opening.facts.back().text;
    text.push_back({" "});
    text.push_back({.text = fmt::format("For example, {}.", task.example), .role = Role::example});
  }
  add_fact(opening.facts, "Model", settings_line(r, Edges::left_out));
  if (!r.trials.empty()) add_fact(opening.facts, "Varied", sweep_words(r));
  if (!verdicts.empty()) opening.parts.push_back(paragraph(finding(r, verdicts), Role::headline));
  opening.parts.push_back(paragraph(headline(r, verdicts), Role::muted));
  return {std::move(top), std::move(opening)};
}

}  // namespace headroom::experiments
