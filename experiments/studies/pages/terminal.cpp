#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "engine/excerpt.h"
#include "experiments/output/number.h"
#include "experiments/output/text.h"
#include "experiments/output/wrap.h"
#include "experiments/studies/analysis/centre.h"
#include "experiments/studies/analysis/curve.h"
#include "experiments/studies/analysis/standings.h"
#include "experiments/studies/analysis/verdict.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/pages/page.h"
#include "experiments/studies/pages/report.h"
#include "experiments/studies/pages/verdict_change.h"
#include "experiments/studies/words/verdict_words.h"

namespace headroom::experiments {
namespace {

std::string right(const std::string& text, size_t columns) {
  return std::string(columns > display_width(text) ? columns - display_width(text) : 0, ' ') + text;
}
std::string left(const std::string& text, size_t columns) {
  return text + std::string(columns > display_width(text) ? columns - display_width(text) : 0, ' ');
}

/// Labelled rows of equally many cells.
using Rows = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// At most `columns` characters.
std::string cut(const std::string& text, size_t columns) {
  return display_width(text) <= columns ? text : clip(text, columns - 1) + "…";
}

Rows curve_rows(const Analysis& r, const Curve& c) {
  Rows rows;
  const auto add = [&](const std::string& label, const Curve& of, const auto& cell) {
    std::vector<std::string>& cells = rows.emplace_back(label, std::vector<std::string>{}).second;
    for (const Point& p : of.points) cells.push_back(cell(p));
  };
  if (!r.report.x_key.empty()) add(last_part(r.report.x_key), c, [](const Point& p) { return exact(p.x); });
  for (const Measure& measure : shown_measures(r.report)) {
    const Curve& of = r.shown_curve(c.series, measure.metric);
    add(cut(measure.metric, 24), of, [&](const Point& p) { return rounded(centre(p, of.kind).mean); });
    add("±", of, [&](const Point& p) { return rounded(centre(p, of.kind).standard_error); });
  }
  std::set<std::string> keys;
  for (const Point& p : c.points)
    for (const auto& chosen : p.choice) keys.insert(chosen.first);
  for (const std::string& key : keys)
    add(cut(last_part(key), 24), c, [&](const Point& p) {
      const auto chosen = p.choice.find(key);
      const bool is_edge = std::count(p.edges.begin(), p.edges.end(), key) > 0;
      return chosen == p.choice.end() ? "" : exact(chosen->second) + (is_edge ? "!" : "");
    });
  if (std::any_of(c.points.begin(), c.points.end(), [](const Point& p) { return !p.failed.empty(); }))
    add("failed", c, [](const Point& p) { return p.failed.empty() ? "" : std::to_string(p.failed.size()); });
  return rows;
}

/// The rows, broken into blocks of columns where they are too wide.
std::string layout(const Rows& rows, size_t columns) {
  size_t label = 0, cell = 0;
  for (const auto& [name, cells] : rows) {
    label = std::max(label, display_width(name));
    for (const std::string& text : cells) cell = std::max(cell, display_width(text));
  }
  cell += 2;
  const size_t count = rows[0].second.size(), fit = columns > label + cell ? (columns - label) / cell : 1;
  std::string out;
  for (size_t first = 0; first < count; first += fit) {
    if (first) out += '\n';
    for (const auto& [name, cells] : rows) {
      out += name == "±" ? right(name, label) : left(name, label);
      for (size_t i = first; i < std::min(count, first + fit); ++i) out += right(cells[i], cell);
      while (out.back() == ' ') out.pop_back();
      out += '\n';
    }
  }
  return out;
}

std::string coloured_verdict(VerdictStatus status, const std::string& word) {
  const char* const colour = status == VerdictStatus::pass ? "32" : status == VerdictStatus::fail ? "31" : "33";
  return status == VerdictStatus::not_run ? word : fmt::format("\x1b[{}m{}\x1b[0m", colour, word);
}

/// Parts with dots between them, in lines of at most `columns` characters that end at a dot where parts allow; 0: one.
std::string dotted(const std::vector<std::string>& parts, size_t columns) {
  const std::string dot = " · ";
  std::vector<std::string> lines;
  for (const std::string& part : parts) {
    const bool fits =
        !lines.empty() && (columns == 0 || display_width(lines.back()) + display_width(dot + part) <= columns);
    if (fits) lines.back() += dot + part;
    else lines.push_back(part);
  }
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + wrapped(line, columns);
  return text;
}

/// The verdict, the claim in its author's words, and below them the numbers, each with what it belongs to, and how it
/// turns; with sentences and p-values where those are asked for.
std::string verdict_text(const Verdict& v, const std::string& turned, TerminalLook look) {
  constexpr size_t indent = 12;  // behind "undecided"
  const auto columns = static_cast<size_t>(look.columns);
  const size_t room = columns == 0 ? 0 : columns > 2 * indent ? columns - indent : indent;
  std::vector<std::string> brief = words_of(v).numbers;
  const bool has_brief = !look.is_verbose && !brief.empty();
  brief.push_back(needs(v));
  const std::string with_p = look.is_verbose ? fmt::format("{} ({})", sentence(v), summary(v)) : sentence(v);
  std::string below = has_brief ? clean(dotted(brief, room)) : wrapped(one_line(with_p), room);
  if (const std::string open = what_is_open(v); has_brief && !open.empty())
    below += "\n" + wrapped(capitalized(open) + ".", room);
  if (!turned.empty()) below += "\n" + wrapped(clean(capitalized(turned)) + ".", room);
  const std::string status = name(v.status),
                    text = wrapped(one_line(in_words(v.claim) + subject_in_brackets(v.claim)), room) + "\n" + below,
                    shown = look.has_colours ? coloured_verdict(v.status, status) : status;
  std::string out = shown + std::string(indent - display_width(status), ' ');
  for (const char c : text) out += c == '\n' ? "\n" + std::string(indent, ' ') : std::string(1, c);
  return out + "\n";
}

/// How each x of a series stands among the others, the one to use first: "heads: use 8 · as good 4, 16".
std::string standings_text(const Analysis& r, size_t columns) {
  using Standing = HeadChoice::Option::Standing;
  std::string out, margin;
  for (const std::string& series : series_names(r)) {
    const std::optional<Standings> all = standings(r, series);
    if (!all) continue;
    const bool has_open = std::ranges::any_of(all->at, [](const auto& x) { return x.second == Standing::open; });
    std::vector<std::string> parts;
    for (const auto& [standing, words] : {std::pair(Standing::best, has_open ? "best so far" : "use"),
                                          {Standing::as_good, "as good"},
                                          {Standing::open, "open"},
                                          {Standing::worse, "worse"}}) {
      std::vector<std::string> xs;
      for (const auto& [x, own] : all->at)
        if (own == standing) xs.push_back(exact(x));
      if (!xs.empty()) parts.push_back(fmt::format("{} {}", words, fmt::join(xs, ", ")));
    }
    out += wrapped(fmt::format("{}{}: {}", last_part(r.report.x_key),
                               series.empty() ? "" : fmt::format(" ({})", one_line(series)), fmt::join(parts, " · ")),
                   columns) +
           "\n";
    margin = fmt::format("the first is the best on validation; as good, open, worse: by {:.0f} % of the {}, over {}",
                         100 * (all->margin - 1), all->metric, counted(all->seeds, "seed"));
  }
  return out.empty() ? "" : out + wrapped(margin, columns) + "\n\n";
}

/// What a reader must know before the numbers: a line each.
std::string notes_on(const StudyResults& r) {
  std::string out;
  for (const std::string& line : seal_lines(r)) out += line + "\n";
  for (const std::string& setting : r.overrides) out += fmt::format("changed by --set {}\n", excerpt(setting));
  if (r.left_out > 0)
    out += fmt::format(
        "{} of an earlier state of this study {} not in this report: its file, or one that it names, has changed\n",
        counted(r.left_out, "finished trial"), r.left_out == 1 ? "is" : "are");
  return out.empty() ? out : out + "\n";
}

/// "heads  1 ▆  2 ▃  4 ▁   mse 0.01 to 1.03": each x with its value of the report's metric, low or high on the
/// report's scale.
std::string bars_of(const Analysis& r, const Curve& c) {
  static const char* const eighths[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::vector<double> means, heights;
  for (const Point& p : c.points) means.push_back(centre(p, c.kind).mean);
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double mean : means) {
    const double height = heights.emplace_back(r.report.y_scale == Scale::log10 ? std::log10(mean) : mean);
    if (std::isfinite(height)) low = std::min(low, height), high = std::max(high, height);
  }
  std::string out = last_part(r.report.x_key);
  for (size_t i = 0; i < heights.size(); ++i) {
    const double share = high > low ? (heights[i] - low) / (high - low) : 0;
    out += fmt::format("  {} {}", exact(c.points[i].x), std::isfinite(share) ? eighths[std::lround(7 * share)] : "?");
  }
  const auto [least, most] = std::ranges::minmax(means);
  return fmt::format("{}   {} {} to {}", out, r.report.y_metric, rounded(least), rounded(most));
}

}  // namespace

std::vector<std::string> series_news(const Analysis& so_far, const std::string& series,
                                     std::map<std::string, VerdictStatus>& told) {
  const Curve& curve = so_far.curve(series);
  if (curve.points.size() < 2) return {};
  std::vector<std::string> lines{fmt::format("{}: {}", one_line(series), bars_of(so_far, curve))};
  // A grid that goes on may change the choice, and with it the verdict.
  if (std::ranges::any_of(curve.points, [](const Point& p) { return !p.edges.empty(); })) return lines;
  for (const Verdict& v : so_far.verdicts()) {
    const std::vector<std::string> about = series_of(so_far, v.claim);
    if (std::ranges::find(about, series) == about.end()) continue;
    const VerdictStatus now = is_decided(v) ? v.status : VerdictStatus::undecided;
    const auto claim = told.try_emplace(claim_name(v.claim) + own_words(v.claim), VerdictStatus::undecided).first;
    if (std::exchange(claim->second, now) == now) continue;
    std::vector<std::string> numbers = words_of(v).numbers;
    lines.push_back(fmt::format("  {}  {}: {}", name(v.status), one_line(in_words(v.claim)),
                                clean(dotted(numbers.empty() ? std::vector{sentence(v)} : numbers, 0))));
  }
  return lines;
}

std::string terminal_table(const Analysis& results, TerminalLook look) {
  constexpr int columns_of_a_log = 100;
  const auto columns = static_cast<size_t>(look.columns > 0 ? look.columns : columns_of_a_log);
  const auto sentence = static_cast<size_t>(look.columns);
  const std::vector<Verdict>& verdicts = results.verdicts();
  std::string out = aligned({{headline(results)}}, sentence) + "\n";
  const SecondBest second = second_best(results);
  for (size_t i = 0; i < verdicts.size(); ++i) out += verdict_text(verdicts[i], second.turned[i], look);
  if (!second.sentence.empty()) out += "\n" + wrapped(second.sentence, sentence) + "\n";
  if (!verdicts.empty()) out += "\n";
  out += standings_text(results, sentence);
  out += notes_on(results);
  bool edge = false;
  for (const std::string& series : series_names(results)) {
    const Curve& c = results.curve(series);
    if (!series.empty()) out += one_line(series) + "\n";
    out += c.points.empty() ? "no trial has run\n" : layout(curve_rows(results, c), columns);
    out += '\n';
    for (const Point& p : c.points) edge = edge || !p.edges.empty();
  }
  if (edge)
    out += aligned({{std::string("! best at an end of the values tried") +
                     (results.foreign ? "" : ": extend = true in best_of widens them")}},
                   columns);
  std::vector<std::string> geometric;
  for (const Measure& measure : geometric_measures(results)) geometric.push_back(measure.metric);
  if (!geometric.empty())
    out += aligned({{fmt::format("± standard error over seeds; geometric means, which claims compare: {}",
                                 fmt::join(geometric, ", "))}},
                   columns);
  if (edge || !geometric.empty()) out += '\n';
  if (const Blocks law = law_section(results); !law.empty()) out += as_text(law[0].parts, sentence) + "\n";
  if (const std::string levels = interval_levels(verdicts); !levels.empty())
    out += aligned({{fmt::format("[ ] confidence intervals at {}, as each test needs", levels)}}, sentence);
  if (results.profile.starts_with("smoke"))
    out += aligned({{"profile smoke: shows that the study runs; its numbers mean nothing"}}, sentence);
  return out;
}

}  // namespace headroom::experiments
