#include "experiments/studies/pages/results_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "experiments/output/number.h"
#include "experiments/studies/analysis/centre.h"
#include "experiments/studies/pages/answer.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/pages/page.h"
#include "experiments/studies/pages/set_up.h"
#include "experiments/studies/pages/verdict_change.h"
#include "experiments/studies/words/verdict_words.h"

namespace headroom::experiments {
namespace {

/// "pass in a pilot": what a pilot says is not what the paper's own experiment would.
Phrase status_cell(const StudyResults& r, const Verdict& v) {
  const bool is_the_papers = source(v.claim) == ClaimSource::paper;
  Phrase cell{{.text = name(v.status), .is_strong = true}};
  if (is_decided(v) && is_the_papers && is_pilot(r)) cell.push_back({" in a pilot"});
  return cell;
}

/// Numbers of the verdicts, those in the same words one after the other.
std::vector<size_t> by_words(const std::vector<Verdict>& verdicts) {
  std::map<std::string, size_t> first;
  std::vector<std::pair<size_t, size_t>> order;
  for (size_t i = 0; i < verdicts.size(); ++i)
    order.emplace_back(first.try_emplace(in_words(verdicts[i].claim), i).first->second, i);
  std::sort(order.begin(), order.end());
  std::vector<size_t> out;
  for (const auto& one : order) out.push_back(one.second);
  return out;
}

/// The claim's words with what they are about, or "the same" where `above` is worded alike.
std::string words_below(const ClaimConfig& claim, const Verdict* above) {
  const std::string words = in_words(claim), about = subject_in_brackets(claim);
  return (above && !about.empty() && in_words(above->claim) == words ? "the same" : words) + about;
}

/// The claim, and whether it was there before the data.
Phrase claim_cell(const Verdict& v, const Verdict* above) {
  Phrase cell{{words_below(v.claim, above)}};
  if (v.claim.worded_after.empty()) return cell;
  cell.push_back({". "});
  cell.push_back({.text = fmt::format("Worded after {} had been seen", v.claim.worded_after), .role = Role::why});
  return cell;
}

Block claim_table(const Analysis& r, const SecondBest& second) {
  const std::vector<Verdict>& verdicts = r.verdicts();
  std::vector<std::vector<Phrase>> rows;
  const Verdict* above = nullptr;
  for (const ClaimSource source : claim_sources)
    for (const size_t i : by_words(verdicts)) {
      const Verdict& v = verdicts[i];
      if (experiments::source(v.claim) != source) continue;
      Phrase change{{what_would_change(r, v)}};
      if (!second.turned[i].empty())
        change.insert(change.begin(), {{.text = second.turned[i], .is_strong = true}, {"; "}});
      rows.push_back({status_cell(r, v),
                      {{name(source)}},
                      claim_cell(v, std::exchange(above, &v)),
                      {{v.status == VerdictStatus::not_run ? "" : fmt::format("{}; {}", summary(v), needs(v))}},
                      std::move(change)});
    }
  return table("Claims", {"verdict", "whose", "claim", "numbers", "margin, and what would change it"}, std::move(rows));
}

/// Why smallest effects are not the usual ones.
Blocks effects(const std::vector<Verdict>& verdicts) {
  nlohmann::ordered_map<std::string, std::vector<std::string>> reasons;  // each with its claims
  for (const Verdict& v : verdicts) {
    if (v.claim.because.empty()) continue;
    auto& claims = reasons[fmt::format("{}×: {}", exact(v.claim.keys.factor), v.claim.because)];
    const std::string words = fmt::format("“{}”", in_words(v.claim));
    if (std::count(claims.begin(), claims.end(), words) == 0) claims.push_back(words);
  }
  if (reasons.empty()) return {};
  Blocks out{
      paragraph("Unusual smallest effects (the usual: 1.1 for errors, 1.01 for cross-entropies and accuracies):")};
  for (const auto& [reason, claims] : reasons)
    out.push_back(item(fmt::format("{} ({})", reason, fmt::join(claims, ", "))));
  return out;
}

/// Every claim that does not hold, and every trial that failed, in plain words.
Blocks failures(const Analysis& f) {
  Blocks out{paragraph("Failed, undecided or not run, and why:")};
  std::map<std::string, int> not_run;  // reason → claims
  const Verdict* above = nullptr;
  for (const size_t i : by_words(f.verdicts())) {
    const Verdict& v = f.verdicts()[i];
    if (v.status == VerdictStatus::not_run) ++not_run[sentence(v)];
    if (v.status == VerdictStatus::pass || v.status == VerdictStatus::not_run) continue;
    Phrase line{{.text = name(v.status), .is_strong = true},
                {fmt::format(": {}. {}", words_below(v.claim, above), sentence(v))}};
    if (v.status == VerdictStatus::fail && !v.why.empty()) {
      line.push_back({" "});
      line.push_back({.text = "Why:", .role = Role::why});
      line.push_back({" " + v.why});
    }
    for (const std::string& note : v.notes)
      if (!above || std::count(above->notes.begin(), above->notes.end(), note) == 0)
        line.push_back({fmt::format(" ({})", note)});
    above = &v;
    out.push_back(item(std::move(line)));
  }
  for (const auto& [reason, count] : not_run)
    out.push_back(item({{.text = name(VerdictStatus::not_run), .is_strong = true},
                        {fmt::format(": {}. {}", counted(count, "claim"), reason)}}));
  std::map<std::string, int> broken;
  for (const TrialRecord& t : f.trials)
    if (t.status == TrialStatus::failed)
      ++broken[fmt::format("{}{} = {}", t.series.empty() ? "" : t.series + ", ", last_part(f.report.x_key),
                           exact(t.x))];
  for (const auto& [where, count] : broken)
    out.push_back(item(fmt::format("{} failed at {}, and no mean includes them.", counted(count, "trial"), where)));
  return out.size() == 1 ? Blocks{} : out;
}

/// Rows as columns.
std::vector<std::vector<std::string>> turned(const std::vector<std::vector<std::string>>& cells) {
  std::vector<std::vector<std::string>> out(cells[0].size());
  for (const std::vector<std::string>& row : cells)
    for (size_t i = 0; i < row.size(); ++i) out[i].push_back(row[i]);
  return out;
}

/// One metric as a table under its name, a row per series that has it and a column per x; turned where the columns
/// would be many. Nothing where no trial has the metric.
Blocks measure_table(const Analysis& r, const Measure& measure) {
  constexpr size_t most_columns = 10;
  std::set<double> xs;
  std::vector<Curve> curves;
  for (const std::string& series : series_names(r)) {
    Curve c = r.shown_curve(series, measure.metric);
    std::erase_if(c.points, [](const Point& p) { return !std::isfinite(p.mean); });
    for (const Point& p : c.points) xs.insert(p.x);
    if (!c.points.empty()) curves.push_back(std::move(c));
  }
  if (curves.empty()) return {};
  const bool is_turned = xs.size() > std::max(most_columns, curves.size());
  const bool is_alone = curves.size() == 1 && curves[0].series.empty();
  std::vector<std::vector<std::string>> cells{{(is_turned || is_alone ? "" : "series \\ ") + r.report.x_label}};
  for (const double x : xs) cells[0].push_back(exact(x));
  for (const Curve& c : curves) {
    std::vector<std::string>& row = cells.emplace_back();
    row.push_back(is_alone ? measure.label : c.series);
    for (const double x : xs) {
      const Point* p = c.at(x);
      const Centre middle = p ? centre(*p, c.kind) : Centre{};
      row.push_back(p ? with_error(middle.mean, middle.standard_error) : "");
    }
  }
  return {paragraph({{.text = measure.label, .is_strong = true}}),
          cells_table(measure.label, is_turned ? turned(cells) : cells, {0})};
}

/// "Words: one; two."; nothing for no lines.
Blocks listed(const std::string& words, const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  return {paragraph(fmt::format("{}: {}.", words, fmt::join(lines, "; ")))};
}

/// "round 2: 114 more trials" of each line, without the values and seeds behind the second colon.
std::vector<std::string> in_short(const std::vector<std::string>& rounds) {
  std::vector<std::string> out;
  for (const std::string& line : rounds) {
    const size_t first = line.find(": ");
    out.push_back(first == std::string::npos ? line : line.substr(0, line.find(": ", first + 2)));
  }
  return out;
}

}  // namespace

Blocks study_page(const Analysis& r, const std::vector<StudyFigure>& figures) {
  const std::string settings = settings_line(r), levels = interval_levels(r.verdicts());
  const SecondBest second = second_best(r);
  const Answer found = answer(r);
  Blocks out{title(r.title)};
  if (!r.question.empty()) out.push_back(paragraph(r.question));
  if (!r.verdicts().empty()) out.push_back(paragraph({{.text = found.words, .is_strong = true}}));
  if (!found.mismatch.empty()) out.push_back(paragraph(found.mismatch));
  for (const StudyFigure& one : figures) {
    out.push_back(figure({}, one.title, one.file));
    if (figures.size() > 1) out.push_back(paragraph(one.caption));
  }
  out.push_back(paragraph(headline(r)));
  Blocks set_up{paragraph({{.text = r.id, .is_code = true},
                           {" · profile "},
                           {.text = r.profile, .is_code = true},
                           {fmt::format("{}{} · {}", is_pilot(r) ? ", a pilot" : "",
                                        r.paper.empty() ? "" : " · " + r.paper, progress_of(r))}})};
  if (!settings.empty()) set_up.push_back(paragraph(fmt::format("Settings: {}.", settings)));
  append(set_up, listed("Not as in the paper", r.deviations));
  append(set_up, listed("Changed from the study’s own settings (in brackets)", r.changes));
  append(set_up, listed("Rounds", in_short(r.rounds)));
  out.push_back(fold("Set-up", std::move(set_up)));
  if (!r.verdicts().empty()) {
    append(out, {heading("Claims"), claim_table(r, second)});
    append(out, effects(r.verdicts()));
    append(out, failures(r));
  }
  if (!levels.empty())
    out.push_back(paragraph(fmt::format("In brackets: confidence intervals at {}, as each test needs.", levels)));
  if (!second.sentence.empty()) out.push_back(paragraph(second.sentence));
  append(out, law_section(r));
  out.push_back(heading("Numbers"));
  if (r.trials.empty()) {
    out.push_back(paragraph("No trial has run."));
    return out;
  }
  std::vector<std::string> geometric;
  for (const Measure& measure : geometric_measures(r)) geometric.push_back(measure.label);
  out.push_back(paragraph(fmt::format(
      "Means over seeds ± their standard error, on test data if a model was trained{}.",
      geometric.empty()
          ? ""
          : fmt::format("; geometric means, which the claims compare, of {}", fmt::join(geometric, ", ")))));
  for (const Measure& measure : shown_measures(r.report)) append(out, measure_table(r, measure));
  append(out, tried_choices(r));
  return out;
}

}  // namespace headroom::experiments
