#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "experiments/output/number.h"
#include "experiments/output/text.h"
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

std::string row(const std::string& term, const std::string& html) {
  return html.empty() ? "" : fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape(term), html);
}

}  // namespace

std::string opening_section(const StudyResults& r, const PageParts& parts) {
  const std::string question =
      r.question.empty() ? fmt::format("How does {} depend on {}?", r.report.y_label, r.report.x_label) : r.question;
  std::string out = fmt::format(
      "<header id=\"finding\">\n<p class=\"over\">{} · {}{}</p>\n<h1>{}</h1>\n<p class=\"question\">{}</p>\n",
      escape(r.id), escape(r.profile), r.paper.empty() ? "" : " · " + escape(r.paper), escape(r.title),
      escape(question));
  if (!r.overrides.empty())
    out += fmt::format(
        "<p class=\"changed\"><b>Not as the study’s file has it.</b> Changed by --set: <code>{}</code></p>\n",
        escape(fmt::format("{}", fmt::join(r.overrides, ", "))));
  if (r.profile.starts_with("smoke"))
    out += "<p class=\"changed\"><b>Profile smoke</b> shows that the study runs; its numbers mean nothing.</p>\n";
  if (r.left_out > 0)
    out += fmt::format(
        "<p class=\"changed\">{} finished {} of an earlier state of this study {} not in this report.</p>\n",
        r.left_out, r.left_out == 1 ? "trial" : "trials", r.left_out == 1 ? "is" : "are");
  out += fmt::format("<p class=\"muted\">{}</p>\n</header>\n", escape(progress_of(r)));
  const TaskWords task = task_words(r);
  const std::string example =
      task.example.empty() ? "" : fmt::format(" <span class=\"example\">For example, {}.</span>", escape(task.example));
  const std::string rows = row("Task", task.words.empty() ? "" : escape(task.words) + example) +
                           row("Model", escape(settings_line(r, Edges::left_out))) +
                           row("Varied", r.trials.empty() ? "" : escape(sweep_words(r)));
  // On a phone the finding stands before the set-up, on its first screen.
  out += "<div class=\"opening\">\n";
  if (!rows.empty()) out += "<dl class=\"setup\">\n" + rows + "</dl>\n";
  out += "<div class=\"found\">\n";
  if (!parts.verdicts.empty()) out += fmt::format("<p class=\"headline\">{}</p>\n", escape(finding(r, parts.verdicts)));
  return out + fmt::format("<p class=\"muted\">{}</p>\n</div>\n</div>\n", escape(headline(r, parts.verdicts)));
}

}  // namespace headroom::experiments
