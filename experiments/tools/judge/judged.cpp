#include "experiments/tools/judge/judged.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "engine/error.h"
#include "engine/read_number.h"
#include "experiments/output/number.h"

namespace headroom::experiments {
namespace {

using Notes = std::map<std::string, std::vector<std::string>>;  // why → runs

/// A run's place in the plan, with the metrics that are needed of it.
struct PlacedRun {
  const ForeignRun* run;
  TrialRecord trial;
};

/// Whether a run has the value: as text, or as a number.
bool has_value(const ForeignRun& run, const std::pair<std::string, std::string>& wanted) {
  const std::string own = parameter(run, wanted.first);
  const auto a = foreign_number(own), b = foreign_number(wanted.second);
  return own == wanted.second || (a && b && *a == *b);
}

/// Throws for a role that names a column which no run has.
void check_roles(const std::vector<ForeignRun>& runs, const RunRoles& roles) {
  std::set<std::string> parameters, metrics;
  for (const ForeignRun& run : runs) {
    for (const auto& entry : run.parameters) parameters.insert(entry.first);
    for (const auto& entry : run.metrics) metrics.insert(entry.first);
  }
  const auto check = [](const char* role, const std::string& name, const std::set<std::string>& known) {
    if (name.empty() || known.contains(name)) return;
    fail("[runs] {} = \"{}\": no run has it{}", role, name, did_you_mean(name, known));
  };
  check("metric", roles.metric, metrics);
  check("choose", roles.choose, metrics);
  for (const std::string& name : roles.series) check("series", name, parameters);
  for (const std::string& name : roles.rate) check("rate", name, parameters);
  for (const auto& entry : roles.where) check("where", entry.first, parameters);
  check("x", roles.x, parameters);
  check("seed", roles.seed, parameters);
}

/// Numbers the seeds: those that are whole numbers are themselves.
class Seeds {
 public:
  std::optional<int64_t> number(const std::string& text) {
    if (text.empty()) return std::nullopt;
    if (const auto whole = foreign_number(text); whole && *whole == std::floor(*whole) && std::abs(*whole) < 9e15)
      return static_cast<int64_t>(*whole);
    return words_.emplace(text, -1 - static_cast<int64_t>(words_.size())).first->second;
  }

 private:
  std::map<std::string, int64_t> words_;
};

/// Gives a run its arm, x, rates and seed. Returns why it has none; "" where it has.
std::string place_run(const ForeignRun& run, const RunRoles& roles, Seeds& seeds, TrialRecord& trial) {
  for (const std::string& name : roles.series) {
    const std::string value = parameter(run, name);
    if (value.empty()) return "no " + name;
    if (!trial.series.empty()) trial.series += ", ";
    trial.series += foreign_number(value) ? fmt::format("{}={}", name, value) : value;
  }
  const auto number = [&](const std::string& name, double& value) {
    const auto read = foreign_number(parameter(run, name));
    if (read && std::isfinite(*read)) value = *read;
    return read && std::isfinite(*read) ? "" : fmt::format("no number as {}", name);
  };
  if (!roles.x.empty())
    if (const std::string why = number(roles.x, trial.x); !why.empty()) return why;
  for (const std::string& name : roles.rate)
    if (const std::string why = number(name, trial.choice[name]); !why.empty()) return why;
  if (roles.seed.empty()) return "";
  const auto seed = seeds.number(parameter(run, roles.seed));
  if (!seed) return "no " + roles.seed;
  trial.seed = *seed;
  return "";
}

/// The step at which runs are compared.
struct CommonStep {
  std::optional<int64_t> step;
  bool is_shared = true;  ///< every run has the metric there
};

/// The last step at which every run has the metric; where that is far from the last that every run reached, the latter.
CommonStep common_step(const std::vector<PlacedRun>& placed, const std::string& metric) {
  std::optional<std::set<int64_t>> common;
  std::optional<int64_t> reached;
  for (const PlacedRun& one : placed) {
    const auto found = one.run->metrics.find(metric);
    if (one.trial.status != TrialStatus::finished || found == one.run->metrics.end()) continue;
    std::set<int64_t> steps;
    for (const auto& entry : found->second)
      if (!common || common->contains(entry.first)) steps.insert(entry.first);
    common = std::move(steps);
    reached = std::min(reached.value_or(INT64_MAX), found->second.rbegin()->first);
  }
  if (!reached || common->empty() || 10 * *common->rbegin() < 9 * *reached) return {reached, false};
  return {*common->rbegin(), true};
}

/// A run's value of a metric at or before a step; nothing where it has none.
const std::pair<const int64_t, double>* value_at(const ForeignRun& run, const std::string& metric,
                                                 std::optional<int64_t> step) {
  const auto found = run.metrics.find(metric);
  if (found == run.metrics.end() || found->second.empty()) return nullptr;
  auto after = step ? found->second.upper_bound(*step) : found->second.end();
  return after == found->second.begin() ? nullptr : &*--after;
}

/// Whether a run's metric was no number at its end.
bool has_diverged(const ForeignRun& run, const std::string& metric) {
  const auto* last = value_at(run, metric, std::nullopt);
  return last && !std::isfinite(last->second);
}

/// A run's cell and its metrics but for times, bit by bit.
std::string fingerprint(const PlacedRun& one, const RunRoles& roles) {
  std::string text = one.trial.series + '\0' + exact(one.trial.x);
  for (const auto& [name, value] : one.trial.choice) text += '\0' + exact(value);
  for (const auto& [name, values] : one.run->metrics) {
    const bool is_wanted = name == roles.metric || name == roles.choose || roles.claimed.contains(name);
    if (!is_wanted && (sort_of_name(name) == ColumnSort::clock || one.run->parameters.contains(name))) continue;
    text += '\0' + name;
    for (const auto& [step, value] : values) text += fmt::format(" {}:{}", step, value);
  }
  return text;
}

/// Drops runs whose metrics are all those of an earlier run in their cell: that run again.
void drop_repeats(std::vector<PlacedRun>& placed, const RunRoles& roles, Notes& notes) {
  std::map<std::string, std::string> first;
  std::erase_if(placed, [&](const PlacedRun& one) {
    if (one.trial.status != TrialStatus::finished) return false;
    const auto [place, is_new] = first.emplace(fingerprint(one, roles), one.run->source);
    if (!is_new)
      notes
          ["the metrics of another run to the last digit, so that run again and no further seed (if not, say why in "
           "`identical` of [runs])"]
              .push_back(fmt::format("{} (as {})", one.run->source, place->second));
    return !is_new;
  });
}

/// Drops further runs with the seed of one in their cell, and says what else differs between them.
void drop_same_seeds(std::vector<PlacedRun>& placed, Notes& notes) {
  std::map<std::tuple<std::string, double, std::map<std::string, double>, int64_t>, const ForeignRun*> first;
  std::erase_if(placed, [&](const PlacedRun& one) {
    const TrialRecord& t = one.trial;
    const auto [place, is_new] = first.emplace(std::tuple(t.series, t.x, t.choice, t.seed), one.run);
    if (is_new) return false;
    std::vector<std::string> differ;
    for (const auto& [name, value] : one.run->parameters)
      if (parameter(*place->second, name) != value && name != "file" && sort_of_name(name) != ColumnSort::clock &&
          sort_of_name(name) != ColumnSort::run)
        differ.push_back(name);
    notes[differ.empty() ? "the arm and the seed of another run, so no further seed"
                         : fmt::format("the arm and the seed of another run, but another {}: name that as series, x or "
                                       "rate in [runs], or pick one value by `where`",
                                       some_of(differ))]
        .push_back(fmt::format("{} (as {})", one.run->source, place->second->source));
    return true;
  });
}

/// Takes the metrics of every run at one step and says which.
void take_values(std::vector<PlacedRun>& placed, const RunRoles& roles, Notes& notes, std::vector<std::string>& said) {
  std::set<std::string> wanted = roles.claimed;
  wanted.insert(roles.metric);
  const std::string choose = roles.choose.empty() ? roles.metric : roles.choose;
  wanted.insert(choose);
  for (const std::string& metric : wanted) {
    CommonStep at{roles.at_step};
    if (!at.step && !roles.at_own_last) at = common_step(placed, metric);
    const std::optional<int64_t> step = at.step;
    int64_t longest = 0;
    std::vector<std::string> longer;
    for (PlacedRun& one : placed) {
      if (one.trial.status != TrialStatus::finished) continue;
      if (const auto* end = value_at(*one.run, metric, std::nullopt); roles.at_step && end && end->first < *step) {
        one.trial.status = TrialStatus::stopped;
        notes[fmt::format("{} ends before step {}", metric, *step)].push_back(one.run->source);
        continue;
      }
      const auto* value = value_at(*one.run, metric, step);
      if (value) one.trial.steps = std::max(one.trial.steps, value->first);
      if (value && metric == choose)
        one.trial.validation[roles.metric] =
            roles.larger_chosen == roles.larger_is_better ? value->second : -value->second;
      if (value && (metric != choose || metric == roles.metric || roles.claimed.contains(metric)))
        one.trial.test[metric] = value->second;
      const auto* last = value_at(*one.run, metric, std::nullopt);
      if (last && step && last->first > *step)
        longer.push_back(one.run->source), longest = std::max(longest, last->first);
    }
    if (!longer.empty())
      said.push_back(fmt::format("{} is taken at step {}, {}; further values, up to step {}, are left out: {}", metric,
                                 *step,
                                 roles.at_step  ? "as [runs] says"
                                 : at.is_shared ? "the last that all runs have"
                                                : "or just before: the last that all runs reached",
                                 longest, some_of(longer)));
  }
  for (PlacedRun& one : placed) {
    const bool has_value = one.trial.test.contains(roles.metric);
    if (one.trial.status != TrialStatus::finished || (has_value && !one.trial.validation.empty())) continue;
    one.trial.status = TrialStatus::stopped;
    notes["no " + (has_value ? choose : roles.metric)].push_back(one.run->source);
  }
  std::erase_if(placed, [](const PlacedRun& one) { return one.trial.status == TrialStatus::stopped; });
}

/// "48 runs: 3 arms with 4 seeds at each setting; heldout ppl after 5 steps".
std::string summary_of(const std::vector<PlacedRun>& placed, const RunRoles& roles) {
  std::set<std::string> arms;
  std::map<std::tuple<std::string, double, std::map<std::string, double>>, int64_t> seeds;
  std::set<int64_t> steps;
  for (const PlacedRun& one : placed) {
    if (one.trial.status != TrialStatus::finished) continue;
    arms.insert(one.trial.series);
    ++seeds[{one.trial.series, one.trial.x, one.trial.choice}];
    steps.insert(one.trial.steps);
  }
  if (seeds.empty()) return "No run is left to judge";
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto [least, most] = std::minmax_element(seeds.begin(), seeds.end(), fewer);
  const auto range = [](int64_t low, int64_t high) {
    return low == high ? fmt::format("{}", low) : fmt::format("{} to {}", low, high);
  };
  const std::string after =
      *steps.rbegin() > 0 ? fmt::format(" after {} steps", range(*steps.begin(), *steps.rbegin())) : "";
  return fmt::format(
      "{} in {}, {} at each setting, {}{}", counted(std::ssize(placed), "run"), counted(std::ssize(arms), "arm"),
      least->second == most->second ? counted(least->second, "seed") : range(least->second, most->second) + " seeds",
      roles.metric, after);
}

}  // namespace

JudgedRuns judged_runs(const ForeignRuns& runs, const RunRoles& roles) {
  require(!runs.runs.empty(), "there are no runs in these files{}",
          runs.problems.empty() ? std::string() : ": " + runs.problems.front());
  check_roles(runs.runs, roles);
  JudgedRuns out;
  Notes notes;
  Seeds seeds;
  std::vector<PlacedRun> placed;
  int64_t elsewhere = 0;
  for (const ForeignRun& run : runs.runs) {
    if (!std::all_of(roles.where.begin(), roles.where.end(), [&](const auto& w) { return has_value(run, w); })) {
      ++elsewhere;
      continue;
    }
    PlacedRun one{&run, {}};
    if (run.began > 0 && run.ended >= run.began) {
      one.trial.ended = run.ended;
      one.trial.seconds = run.ended - run.began;
    }
    if (const std::string why = place_run(run, roles, seeds, one.trial); !why.empty()) {
      notes[why].push_back(run.source);
    } else if (run.end == RunEnd::running) {
      notes["still running"].push_back(run.source);
      ++out.results.running;
    } else {
      if (run.end == RunEnd::failed) {
        one.trial.status = TrialStatus::failed;
        one.trial.message = run.said;
        notes["crashed"].push_back(fmt::format("{} ({})", run.source, run.said));
      } else if (has_diverged(run, roles.metric)) {
        one.trial.status = TrialStatus::failed;
        one.trial.message = roles.metric + " is no number";
        notes["diverged, with a last " + roles.metric + " that is no number"].push_back(run.source);
      }
      placed.push_back(std::move(one));
    }
  }
  if (roles.identical.empty()) drop_repeats(placed, roles, notes);
  if (roles.seed.empty()) {
    std::map<std::tuple<std::string, double, std::map<std::string, double>>, int64_t> counts;
    for (PlacedRun& one : placed) one.trial.seed = counts[{one.trial.series, one.trial.x, one.trial.choice}]++;
  } else {
    drop_same_seeds(placed, notes);
  }
  take_values(placed, roles, notes, out.notes);
  out.summary = summary_of(placed, roles);
  StudyResults& results = out.results;
  results.profile = "own";
  results.foreign = ForeignRules{{}, !roles.seed.empty()};
  if (roles.larger_is_better) results.foreign->larger_is_better.insert(roles.metric);
  results.report.x_key = results.report.x_label = roles.x;
  results.report.y_metric = results.report.y_label = roles.metric;
  std::set<std::string> series;
  for (PlacedRun& one : placed) {
    one.trial.id = one.run->source;
    series.insert(one.trial.series);
    results.trials.push_back(std::move(one.trial));
  }
  results.series.assign(series.begin(), series.end());
  results.planned = count_trials(results.trials);
  if (elsewhere > 0) out.notes.push_back(fmt::format("{} outside `where`", counted(elsewhere, "run")));
  for (const auto& [why, which] : notes)
    out.notes.push_back(fmt::format("{} left out, {}: {}", counted(std::ssize(which), "run"), why, some_of(which)));
  return out;
}

StudyScope scope_of(const StudyResults& results) {
  StudyScope scope;
  if (!results.series.empty()) scope.series = results.series;
  if (!results.report.x_key.empty()) scope.x_name = results.report.x_key;
  scope.y_metric = results.report.y_metric;
  for (const TrialRecord& trial : results.trials) {
    SeriesScope& known = scope.known[trial.series];
    known.x.insert(trial.x);
    for (const auto& metric : trial.test) known.metrics.insert(metric.first);
  }
  return scope;
}

}  // namespace headroom::experiments
