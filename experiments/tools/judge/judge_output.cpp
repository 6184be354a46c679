#include "experiments/tools/judge/judge_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/output/html.h"
#include "experiments/output/number.h"
#include "experiments/output/text.h"
#include "experiments/studies/analysis/centre.h"
#include "experiments/studies/analysis/curve.h"
#include "experiments/studies/pages/answer.h"
#include "experiments/studies/pages/csv.h"
#include "experiments/studies/pages/figure.h"
#include "experiments/studies/pages/page.h"
#include "experiments/studies/words/verdict_words.h"
#include "experiments/version.h"

namespace headroom::experiments {
namespace {

/// The arms side by side, where no number orders them: each one's mean with its interval and its seeds.
Plot arms_plot(const Analysis& r, const std::vector<std::string>& names) {
  Plot plot;
  plot.id = "figure";
  plot.title = plot.description = fmt::format("{} of each arm", r.report.y_metric);
  plot.y_label = r.report.y_label;
  plot.x = category_axis(names);
  std::vector<double> values;
  for (size_t i = 0; i < names.size(); ++i) {
    const Curve& c = r.curve(names[i]);
    Layer layer;
    layer.colour = category(i % kCategories);
    for (const Point& p : c.points) {
      const Centre middle = centre(p, c.kind);
      if (!std::isfinite(middle.mean)) continue;
      Mark mark{static_cast<double>(i), middle.mean, middle.low, middle.high,
                fmt::format("{}: {}", names[i], in_words(middle))};
      for (const auto& entry : p.values) mark.seeds.push_back(entry.second);
      values.insert(values.end(), mark.seeds.begin(), mark.seeds.end());
      values.push_back(mark.y);
      if (middle.has_interval()) values.insert(values.end(), {mark.low, mark.high});
      layer.marks.push_back(std::move(mark));
    }
    if (!layer.marks.empty()) plot.layers.push_back(std::move(layer));
  }
  if (!values.empty()) plot.y = fit_axis(Scale::linear, values);
  return plot;
}

/// What is seen first: arms side by side, or curves over the claims file's x.
Blocks figures(const Analysis& r) {
  if (!r.report.x_key.empty()) {
    Blocks out;
    for (const Figure& one : study_figures(r))
      if (one.is_main) out.push_back(figure(one.plot, one.caption));
    return out;
  }
  const Plot plot = arms_plot(r, drawn_series(r));
  if (plot.layers.empty()) return {};
  const Curve& c = r.curve(drawn_series(r).front());
  return {figure(plot, fmt::format("{} of each arm at its own best settings: {} over seeds with its 95 % interval.",
                                   r.report.y_metric, name(c.kind)))};
}

/// A row an arm and x: mean, interval, seeds, what was chosen.
Block arms_table(const Analysis& r) {
  const bool has_x = !r.report.x_key.empty();
  std::vector<std::string> head{"arm"};
  if (has_x) head.push_back(r.report.x_label);
  head.insert(head.end(), {"mean", "95 % interval", "seeds", "failed", "chosen"});
  std::vector<std::vector<Phrase>> rows;
  for (const std::string& arm : series_names(r)) {
    const Curve& c = r.curve(arm);
    for (const Point& p : c.points) {
      const Centre middle = centre(p, c.kind);
      std::vector<std::string> chosen;
      for (const auto& [key, value] : p.choice) {
        const bool is_edge = std::count(p.edges.begin(), p.edges.end(), key) > 0;
        chosen.push_back(fmt::format("{} {}{}", key, exact(value), is_edge ? " (an end of those tried)" : ""));
      }
      std::vector<std::string> cells{arm.empty() ? "all" : arm};
      if (has_x) cells.push_back(exact(p.x));
      cells.insert(cells.end(),
                   {rounded(middle.mean),
                    middle.has_interval() ? fmt::format("{} – {}", rounded(middle.low), rounded(middle.high)) : "—",
                    fmt::format("{}", p.values.size()), fmt::format("{}", p.failed.size()),
                    fmt::format("{}", fmt::join(chosen, ", "))});
      rows.push_back(text_cells(cells));
    }
  }
  return table("The arms in numbers", head, std::move(rows), {0, head.size() - 1});
}

/// "How does test_loss depend on code_share?", "Which arm has the lowest test_loss?"
std::string question(const Analysis& r) {
  if (!r.report.x_key.empty()) return fmt::format("How does {} depend on {}?", r.report.y_label, r.report.x_label);
  const bool is_more_better = r.curve(series_names(r).front()).larger_is_better;
  return fmt::format("Which arm has the {} {}?", is_more_better ? "highest" : "lowest", r.report.y_metric);
}

}  // namespace

std::string judge_page(const Analysis& r, const std::vector<std::string>& notes, const std::string& command) {
  Block top = header({paragraph(fmt::format("{} · {}", r.id, counted(std::ssize(r.trials), "run")), Role::over),
                      title(question(r)), paragraph(answer(r).words, Role::headline)});
  for (const std::string& line : seal_lines(r)) top.parts.push_back(paragraph(line, Role::notes));
  Document page{r.id, {std::move(top)}, "output/assets/report.css", true};
  if (Blocks shown = figures(r); !shown.empty()) page.blocks.push_back(section("", std::move(shown), "main-figure"));
  append(page.blocks, verdict_section(r));
  page.blocks.push_back(section("The arms in numbers", {arms_table(r)}, "arms"));
  if (!notes.empty()) {
    Blocks lines;
    for (const std::string& note : notes) lines.push_back(item(note));
    page.blocks.push_back(section("What was done with the runs", std::move(lines), "runs"));
  }
  page.blocks.push_back(
      section("Where this comes from",
              {facts({{"command", {{.text = command, .is_code = true}}, {}},
                      {"judged by headroom", {{version_text()}}, {}},
                      {"runs",
                       {{.text = "runs.csv", .link = "runs.csv", .csv = csv(r, Clock::kept)}, {", within this page"}},
                       {}}}),
               fold("Claims file", {code(r.resolved_config)})},
              "about"));
  return as_html(page);
}

std::string junit_xml(const std::string& suite, const std::vector<Verdict>& verdicts,
                      const std::vector<std::string>& notes) {
  const auto failed =
      std::count_if(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.status == VerdictStatus::fail; });
  const auto skipped = std::count_if(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return !is_decided(v); });
  std::string xml = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" "
      "skipped=\"{}\">\n",
      escape(one_line(suite)), verdicts.size(), failed, skipped);
  for (const Verdict& v : verdicts) {
    const std::string says = escape(one_line(sentence(v)));
    xml += fmt::format("  <testcase classname=\"{}\" name=\"{}\">", escape(one_line(suite)),
                       escape(one_line(claim_name(v.claim))));
    if (v.status == VerdictStatus::fail) xml += fmt::format("<failure message=\"{}\"/>", says);
    else if (!is_decided(v)) xml += fmt::format("<skipped message=\"{}\"/>", says);
    else xml += fmt::format("<system-out>{}</system-out>", says);
    xml += "</testcase>\n";
  }
  std::string said;
  for (const std::string& note : notes) said += one_line(note) + "\n";
  return xml + (said.empty() ? "" : fmt::format("  <system-out>{}</system-out>\n", escape(said))) + "</testsuite>\n";
}

}  // namespace headroom::experiments
