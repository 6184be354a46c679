#include "experiments/studies/pages/set_up.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <type_traits>
#include <vector>

#include "experiments/output/number.h"
#include "experiments/studies/analysis/curve.h"
#include "experiments/studies/claims/value_set.h"
#include "experiments/studies/config/trial_facts.h"

namespace headroom::experiments {
namespace {

/// The values of one fact of some trials.
template <class Value>
ValueSet values_of(const std::vector<const TrialFacts*>& trials, Value TrialFacts::*fact) {
  ValueSet values;
  for (const TrialFacts* trial : trials) {
    const Value& value = trial->*fact;
    if constexpr (std::is_same_v<Value, std::string>) {
      if (!value.empty()) values.words.insert(value);
    } else if (value) {
      values.numbers.insert(*value);
    }
  }
  return values;
}

/// "1 layer", "2, 3 layers".
std::string with_noun(const ValueSet& values, const std::string& noun) {
  return values.text() == "1" ? "1 " + noun : fmt::format("{} {}s", values.text(), noun);
}

/// "heads 1, 2, 4 of D 64", or "every heads of D 64" where those are all.
std::string place(const StudyResults& r, const std::string& series, const std::vector<std::string>& xs, size_t all) {
  const std::string axis = last_part(r.report.x_key);
  const std::string where = xs.size() == all ? "every " + axis : fmt::format("{} {}", axis, fmt::join(xs, ", "));
  return series.empty() ? where : where + " of " + series;
}

/// Where one value alone of a swept key was tried at every x: "one lr for every heads: D 256".
std::string singles_of(const Analysis& r) {
  std::map<std::string, std::vector<std::string>> by_key;  // → series
  for (const std::string& series : series_names(r)) {
    std::map<std::string, std::set<double>> values;
    for (const Point& p : r.curve(series).points)
      for (const std::string& key : p.single) values[key].insert(p.choice.at(key));
    for (const auto& [key, of_key] : values)
      if (of_key.size() == 1) by_key[key].push_back(series);
  }
  std::vector<std::string> parts;
  for (const auto& [key, series] : by_key) {
    const bool is_all = series.size() == series_names(r).size();
    parts.push_back(fmt::format("one {} for every {}{}{}", last_part(key), last_part(r.report.x_key),
                                is_all ? "" : " of ", is_all ? "" : fmt::format("{}", fmt::join(series, ", "))));
  }
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, "; "));
}

/// Where a chosen value of any swept key is an end of those tried: "chosen at an end: lr at heads = 4, 8 of D 64".
std::string edges_of(const Analysis& r) {
  std::vector<std::string> parts;
  for (const std::string& series : series_names(r)) {
    std::map<std::string, std::vector<std::string>> by_key;
    const Curve& c = r.curve(series);
    for (const Point& p : c.points)
      for (const std::string& key : p.edges) by_key[last_part(key)].push_back(exact(p.x));
    for (const auto& [key, xs] : by_key)
      parts.push_back(fmt::format("{} at {}", key, place(r, series, xs, c.points.size())));
  }
  return parts.empty() ? "" : fmt::format(" (chosen at an end of the values tried: {})", fmt::join(parts, "; "));
}

/// "3 seeds", "3 to 12 seeds" where series differ.
std::string seeds_of(const StudyResults& r) {
  std::map<std::string, std::set<int64_t>> by_series;
  for (const TrialRecord& t : r.trials) by_series[t.series].insert(t.seed);
  std::set<int64_t> counts;
  for (const auto& [series, seeds] : by_series) counts.insert(std::ssize(seeds));
  return counts.size() == 1 ? counted(*counts.begin(), "seed")
                            : fmt::format("{} to {} seeds", *counts.begin(), *counts.rbegin());
}

}  // namespace

std::string settings_line(const Analysis& r, Edges edges) {
  std::vector<const TrialFacts*> trained;
  for (const TrialRecord& t : r.trials)
    if (r.facts(t).is_trained) trained.push_back(&r.facts(t));
  if (trained.empty()) return "";
  std::vector<std::string> parts;
  const auto add = [&](const ValueSet& values, const std::string& text) {
    if (!values.empty()) parts.push_back(text);
  };
  const auto of = [&](auto fact) { return values_of(trained, fact); };
  const ValueSet width = of(&TrialFacts::width), layers = of(&TrialFacts::layers), steps = of(&TrialFacts::steps),
                 batch = of(&TrialFacts::batch), kind = of(&TrialFacts::optimizer), rate = of(&TrialFacts::rate),
                 positions = of(&TrialFacts::positions), first = of(&TrialFacts::first_position),
                 feed_forward = of(&TrialFacts::feed_forward), norm = of(&TrialFacts::norm);
  add(width, "D " + width.text());
  add(layers, with_noun(layers, "layer"));
  if (!feed_forward.empty() && feed_forward.text() == "0")
    parts.emplace_back("no feed-forward network");  // what a reader would take for given
  if (!norm.empty() && norm.text() == "none") parts.emplace_back("no norm");
  add(steps, fmt::format("{} of {}", with_noun(steps, "step"), with_noun(batch, "sequence")));
  add(rate, fmt::format("{}, learning rates {}{}{}", kind.text(), rate.text(),
                        edges == Edges::told ? singles_of(r) : "", edges == Edges::told ? edges_of(r) : ""));
  parts.push_back(seeds_of(r));
  add(positions, "positions " + positions.text());
  add(first, "loss from position " + first.text());
  return fmt::format("{}", fmt::join(parts, " · "));
}

TaskWords task_words(const Analysis& r) {
  const TrialFacts* first = nullptr;
  std::set<std::string> differing;
  for (const TrialRecord* trial : ordered_trials(r)) {
    const TrialFacts& facts = r.facts(*trial);
    if (facts.task.empty()) continue;
    if (!first) first = &facts;
    for (const auto& [path, value] : facts.settings) {
      if (!path.starts_with("task.")) continue;
      const auto own = first->settings.find(path);
      if (own == first->settings.end() || own->second != value) differing.insert(path.substr(5, path.find('.', 5) - 5));
    }
  }
  if (!first) return {};
  TaskWords out = first->words;
  if (differing.count("kind")) out.words += " That is the task of the first series; others have tasks of their own.";
  else if (!differing.empty())
    out.words +=
        fmt::format(" That describes the first of several settings: they differ in {}.", fmt::join(differing, ", "));
  return out;
}

}  // namespace headroom::experiments
