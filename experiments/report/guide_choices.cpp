#include "experiments/report/guide_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "experiments/claims/number.h"

namespace headroom::experiments {
namespace {

using Standing = HeadChoice::Option::Standing;

/// How many curves find heads of a width good, leave it open, or find it worse.
struct Count {
  int good = 0, open = 0, worse = 0;
  int all() const { return good + open + worse; }
};

/// positions → width → count, and how many curves there are.
struct Counts {
  std::map<std::string, std::map<double, Count>> by_positions;
  std::map<std::string, int> curves;
};

Counts counts_of(const std::vector<HeadChoice>& choices) {
  Counts counts;
  for (const HeadChoice& c : choices) {
    if (!has_equal_widths(c)) continue;
    ++counts.curves[c.positions];
    for (const HeadChoice::Option& o : c.options) {
      Count& count = counts.by_positions[c.positions][o.qk_dim];
      const bool is_good = o.standing == Standing::best || o.standing == Standing::as_good;
      ++(is_good ? count.good : o.standing == Standing::open ? count.open : count.worse);
    }
  }
  return counts;
}

/// "4 (16 wide), 8 (8 wide)"; two widths where queries and values differ.
std::string options_text(const HeadChoice& choice, Standing standing) {
  std::vector<std::string> parts;
  for (const HeadChoice::Option& o : choice.options) {
    if (o.standing != standing) continue;
    parts.push_back(o.qk_dim == o.v_dim
                        ? fmt::format("{} ({} wide)", exact(o.heads), exact(o.qk_dim))
                        : fmt::format("{} ({}, values {} wide)", exact(o.heads), exact(o.qk_dim), exact(o.v_dim)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string list(const std::vector<double>& widths) {
  std::vector<std::string> parts;
  for (const double width : widths) parts.push_back(exact(width));
  return fmt::format("{}", fmt::join(parts, ", "));
}

Block width_table(const Counts& counts) {
  std::map<double, int> curves;
  for (const auto& [positions, by_width] : counts.by_positions)
    for (const auto& [width, count] : by_width) curves[width] += count.all();
  int all = 0;
  for (const auto& [positions, count] : counts.curves) all += count;
  if (all > 3) std::erase_if(curves, [](const auto& entry) { return entry.second < 2; });  // a width of one curve alone
  std::vector<std::string> head{"positions \\ width of a head"};
  for (const auto& [width, count] : curves) head.push_back(exact(width));
  std::vector<std::vector<Phrase>> rows;
  for (const auto& [positions, by_width] : counts.by_positions) {
    std::vector<Phrase>& row = rows.emplace_back();
    row.push_back({{positions}});
    for (const auto& [width, unused] : curves) {
      const auto found = by_width.find(width);
      const Count count = found == by_width.end() ? Count{} : found->second;
      row.push_back({{count.all() == 0 ? "" : fmt::format("{} / {} / {}", count.good, count.open, count.worse)}});
    }
  }
  return table("Widths of heads by positions", head, std::move(rows));
}

}  // namespace

bool has_equal_widths(const HeadChoice& choice) {
  return std::all_of(choice.options.begin(), choice.options.end(), [&](const HeadChoice::Option& o) {
    return o.qk_dim == o.v_dim && o.qk_dim * o.heads == static_cast<double>(choice.width);
  });
}

std::vector<Block> choice_sentences(const std::vector<HeadChoice>& choices) {
  std::vector<Block> out;
  const Counts counts = counts_of(choices);
  for (const auto& [positions, by_width] : counts.by_positions) {
    std::vector<double> safe, bad;
    std::pair<double, Count> likeliest;  // the width that is good on most curves
    const int curves = counts.curves.at(positions);
    for (const auto& [width, count] : by_width) {
      if (curves > 3 && count.all() < 2) continue;  // a width of one curve alone
      if (count.worse == 0 && count.good > 0) safe.push_back(width);
      if (2 * count.worse > count.all()) bad.push_back(width);
      if (count.good > likeliest.second.good) likeliest = {width, count};
    }
    std::string words = fmt::format(
        "{} positions ({} {}): heads {} wide are as good as the best on {} of the {} curves "
        "that have them",
        positions, curves, curves == 1 ? "curve" : "curves", exact(likeliest.first), likeliest.second.good,
        likeliest.second.all());
    if (!safe.empty())
      words += fmt::format("; no curve shows heads {} wide to be worse than another width", list(safe));
    if (!bad.empty()) words += fmt::format("; most show heads {} wide to be worse", list(bad));
    out.push_back(item(words + "."));
  }
  return out;
}

std::vector<Block> choice_tables(const std::vector<HeadChoice>& choices) {
  std::vector<Block> out;
  if (const Counts counts = counts_of(choices); !counts.by_positions.empty()) {
    out.push_back(
        paragraph("Curves that find heads of a width as good as their best / open / worse, by positions, where "
                  "every head has D/H dimensions:"));
    out.push_back(width_table(counts));
  }
  std::vector<std::vector<Phrase>> rows;
  for (const HeadChoice& c : choices)
    rows.push_back({{{c.title + (c.series.empty() ? "" : " · " + c.series)}},
                    {{fmt::format("D {}, {}, {} steps, {} seeds", c.width, c.positions, c.steps, c.seeds)}},
                    {{options_text(c, Standing::best)}},
                    {{options_text(c, Standing::as_good)}},
                    {{options_text(c, Standing::open)}},
                    {{options_text(c, Standing::worse)}},
                    {{fmt::format("{:.0f} %", 100 * (c.margin - 1))}}});
  out.push_back(table("Numbers of heads by task",
                      {"task", "setting", "best on validation", "as good", "open", "worse", "by"}, std::move(rows)));
  out.push_back(paragraph(
      "A number of heads is as good where it is shown to be less than the margin (“by”) worse than every other, worse "
      "where it is shown to be more than that worse than some other, else open: 5 % each, paired over seeds, on "
      "logarithms, corrected for the number of options. Rates were chosen for each number of heads on validation, "
      "where a "
      "study sweeps them."));
  return out;
}

}  // namespace headroom::experiments
