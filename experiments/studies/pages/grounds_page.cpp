#include "experiments/studies/pages/grounds_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "experiments/output/number.h"
#include "experiments/studies/analysis/tried.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/pages/results_page.h"

namespace headroom::experiments {
namespace {

/// What was tried for each x of a series before one value was taken.
struct Grid {
  std::set<double> values, count, choosing_seeds;
  std::set<double> step;  ///< the factors between the taken value and those next to it
};

Grid grid_of(const Analysis& study, const Curve& curve, const std::string& key) {
  Grid grid;
  const std::map<double, Tried> tried = tried_by_x(study, curve.series, key);
  for (const Point& point : curve.points) {
    const auto found = tried.find(point.x);
    const auto choice = point.choice.find(key);
    if (found == tried.end() || choice == point.choice.end()) continue;
    const Tried& own = found->second;
    grid.count.insert(static_cast<double>(own.size()));
    if (own.size() > 1) grid.choosing_seeds.insert(static_cast<double>(common_seeds(own).size()));
    for (const auto& one : own) grid.values.insert(one.first);
    const auto taken = own.find(choice->second);
    if (taken == own.end()) continue;
    if (taken != own.begin()) grid.step.insert(taken->first / std::prev(taken)->first);
    if (std::next(taken) != own.end()) grid.step.insert(std::next(taken)->first / taken->first);
  }
  return grid;
}

std::vector<Phrase> row_of(const Analysis& study, const std::string& page, const std::string& series) {
  const Curve& curve = study.curve(series);
  std::set<double> seeds, steps;
  for (const Point& point : curve.points) {
    seeds.insert(static_cast<double>(point.values.size()));
    if (point.is_trained)
      for (const int64_t count : point.steps) steps.insert(static_cast<double>(count));
  }
  Grid grid;
  if (const std::string key = choice_key(study, &series); !key.empty()) grid = grid_of(study, curve, key);
  std::vector<Verdict> verdicts;
  for (const Verdict& v : study.verdicts())
    if (series_of(study, v.claim).front() == series) verdicts.push_back(v);
  const std::string factor = grid.step.empty() ? "" : rounded(*grid.step.rbegin(), 2);
  std::vector<Phrase> row = text_cells({"", series, range_text(steps), range_text(grid.count), range_text(grid.values),
                                        factor, range_text(seeds), range_text(grid.choosing_seeds), tally(verdicts)});
  row[0] = {{.text = page, .link = page + ".md"}};
  return row;
}

/// A table of those columns that some row fills.
Block filled_table(const std::string& name, std::vector<std::string> head, std::vector<std::vector<Phrase>> rows) {
  for (size_t i = head.size(); i-- > 0;) {
    const auto is_empty = [i](const std::vector<Phrase>& row) { return row[i].empty() || row[i][0].text.empty(); };
    if (!std::all_of(rows.begin(), rows.end(), is_empty)) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    head.erase(head.begin() + at);
    for (std::vector<Phrase>& row : rows) row.erase(row.begin() + at);
  }
  return table(name, head, std::move(rows));
}

}  // namespace

const std::vector<Headline>& headlines() {
  static const std::vector<Headline> all = [] {
    std::vector<Headline> read;
    for (const nlohmann::json& h : nlohmann::json::parse(kHeadlines))
      read.push_back({h.at("says"), h.at("rests_on"), h.at("one_value"), h.at("turned")});
    return read;
  }();
  return all;
}

Blocks grounds_page(const std::vector<Analysis>& all) {
  std::map<std::string, const Analysis*> pages;
  for (const Analysis& study : all) pages.emplace(page_name(all, study), &study);
  Blocks out;
  for (const Headline& headline : headlines()) {
    std::vector<std::vector<Phrase>> rows;
    for (const auto& [page, named] : headline.rests_on) {
      const auto found = pages.find(page);
      if (found == pages.end()) continue;
      for (const std::string& series : series_names(*found->second))
        if (named.empty() || std::find(named.begin(), named.end(), series) != named.end())
          rows.push_back(row_of(*found->second, page, series));
    }
    if (rows.empty()) continue;
    append(out,
           {heading(headline.says), paragraph({{.text = "What turned.", .is_strong = true}, {" " + headline.turned}}),
            paragraph({{.text = "Not varied:", .is_strong = true}, {fmt::format(" {}.", headline.one_value)}}),
            filled_table(headline.says,
                         {"study", "series", "steps", "rates tried at each x", "from … to", "factor to the next",
                          "seeds", "of these chose the rate", "claims"},
                         std::move(rows))});
  }
  if (out.empty()) return out;
  Blocks page{title("What the headlines rest on"),
              paragraph("For each headline of the README: what changed it, what was not varied, and the grid of steps, "
                        "learning rates and seeds behind it. “Factor to the next”: between the rate that was taken and "
                        "the farther of those beside it.")};
  append(page, std::move(out));
  return page;
}

}  // namespace headroom::experiments
