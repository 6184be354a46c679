#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/excerpt.h"
#include "experiments/tools/judge/foreign_run.h"
#include "tasks/task.h"

namespace headroom::experiments {
namespace {

/// Different values of a parameter over all runs, "" for runs without it.
std::set<std::string> values_of(const std::vector<ForeignRun>& runs, const std::string& name) {
  std::set<std::string> values;
  for (const ForeignRun& run : runs) values.insert(parameter(run, name));
  return values;
}

bool are_numbers(const std::set<std::string>& values) {
  return std::all_of(values.begin(), values.end(), [](const auto& value) { return foreign_number(value).has_value(); });
}

/// How well a metric's name suits a verdict: a test loss before a validation loss before a training loss.
int suits(const std::string& metric) {
  std::string name;
  for (const char c : metric) name += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  const bool is_of_test = has("test") || has("heldout") || has("held-out") || has("held_out");
  const int split = is_of_test ? 8 : has("val") || has("eval") || has("dev") ? 4 : has("train") ? 0 : 2;
  return split + (has("loss") || has("acc") ? 1 : 0);
}

/// Whether a column counts repetitions: "Run #", whose few whole numbers each stand at several runs.
bool counts_repetitions(const std::string& name, const std::set<std::string>& values, size_t runs) {
  const std::string bare = bare_name(name);
  const bool is_named = bare.starts_with("run") || bare.starts_with("rep") || bare.starts_with("trial");
  return is_named && values.size() > 1 && 2 * values.size() <= runs &&
         std::all_of(values.begin(), values.end(), [](const std::string& value) {
           const auto number = foreign_number(value);
           return number && *number == std::floor(*number);
         });
}

/// The metric that most runs have; of several the one whose name suits best, without `other`.
std::string likely_metric(const std::vector<ForeignRun>& runs, const std::string& other = "") {
  std::map<std::string, size_t> counts;
  for (const ForeignRun& run : runs)
    for (const auto& metric : run.metrics)
      if (metric.first != other && sort_of_name(metric.first) == ColumnSort::metric) ++counts[metric.first];
  std::string found;
  for (const auto& [name, count] : counts)
    if (found.empty() || std::pair(count, suits(name)) > std::pair(counts[found], suits(found))) found = name;
  return found;
}

/// Whether more of a metric is better, by names that are usual elsewhere.
bool is_larger_by_name(const std::string& metric) {
  const std::string name = bare_name(metric);
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (has("loss") || has("err")) return false;
  return tasks::larger_is_better(metric) || has("acc") || has("reward") || has("return") || has("score") ||
         has("bleu") || has("rouge") || has("iou") || has("auc") || has("exact") || has("pass@") || name == "f1" ||
         name == "r2" || name == "elbo";
}

}  // namespace

RunRoles bind_roles(Reader& in) {
  RunRoles roles;
  roles.metric = in.text("metric", std::nullopt, "the metric that claims speak of");
  roles.larger_is_better =
      in.flag("larger_is_better", {is_larger_by_name(roles.metric), "as the metric's name says"}, "of the metric");
  if (!roles.larger_is_better && tasks::larger_is_better(roles.metric))
    in.complain("larger_is_better", "more of an accuracy is better");
  roles.series = in.texts("series", "columns that name an arm, such as \"optimizer\"");
  roles.x = in.text("x", "", "a column of numbers that an arm is compared over");
  roles.seed = in.text("seed", {"", "a column of that name"}, "the column of seeds, by which runs pair");
  roles.rate = in.texts("rate", "columns that are tuned for each arm, such as \"lr\"");
  roles.choose =
      in.text("choose", {"", "the metric, which then decides nothing"}, "the metric that rates are chosen by");
  roles.larger_chosen = in.flag(
      "choose_larger", {roles.choose.empty() ? roles.larger_is_better : is_larger_by_name(roles.choose), "by name"},
      "whether more of `choose` is better");
  roles.step = in.text("step", {"", "a column of that name"}, "the column of steps, in a table with a row a step");
  roles.run = in.text("run", "", "the column that tells runs apart, in such a table");
  roles.status = in.text("status", {"", "a column of that name"}, "the column that says how a run ended");
  if (const auto step = in.optional_real("at_step", {.low = 0, .high = 9e15}, "the step that values are taken at"))
    roles.at_step = static_cast<int64_t>(*step);
  roles.at_own_last =
      in.flag("at_own_last", false, "values are taken at each run's own last step, whatever the others did");
  if (roles.at_step && roles.at_own_last) in.complain("at_own_last", "expected either at_step or at_own_last");
  roles.identical = in.text("identical", "", "why runs with identical metrics are several runs and not one");
  roles.looks =
      in.integer("looks", {1, "none is planned"}, {.low = 1, .high = 1000},
                 "planned looks at these claims while runs come in; each has an equal share of `significance`");
  roles.anytime = in.flag("anytime", false, "p-values hold at any number of looks, but need more seeds");
  if (roles.anytime && roles.looks > 1) in.complain("anytime", "expected either anytime or looks");
  if (const Value* where = in.raw("where", "column = value: only such runs are judged"))
    for (const Entry& entry : where->table)
      roles.where.emplace_back(entry.key,
                               entry.value.kind == Value::Kind::text ? entry.value.text : to_text(entry.value));
  return roles;
}

void guess_roles(RunRoles& roles, const std::vector<ForeignRun>& runs, bool all) {
  std::set<std::string> names;
  for (const ForeignRun& run : runs)
    for (const auto& entry : run.parameters) names.insert(entry.first);
  for (const std::string& name : names)
    if (roles.seed.empty() && !roles.names(name) && sort_of_name(name) == ColumnSort::seed) roles.seed = name;
  if (!all) return;
  for (const std::string& name : names)
    if (roles.seed.empty() && counts_repetitions(name, values_of(runs, name), runs.size())) roles.seed = name;
  if (roles.metric.empty()) {
    roles.metric = likely_metric(runs);
    roles.larger_is_better = is_larger_by_name(roles.metric);
    roles.choose = likely_metric(runs, roles.metric);
    if (suits(roles.choose) < 4) roles.choose.clear();
    roles.larger_chosen = is_larger_by_name(roles.choose.empty() ? roles.metric : roles.choose);
  }
  for (const std::string& name : names) {
    const std::set<std::string> values = values_of(runs, name);
    // What some runs lack describes those that have it, and further seeds follow the first.
    const bool is_arm = values.size() > 1 && 2 * values.size() <= runs.size() + 1 && !values.contains("");
    if (!is_arm || roles.names(name) || bare_name(name).ends_with("seed")) continue;
    const ColumnSort sort = sort_of_name(name);
    if (sort == ColumnSort::rate && are_numbers(values)) roles.rate.push_back(name);
    else if (sort != ColumnSort::other) continue;
    else if (roles.x.empty() && are_numbers(values)) roles.x = name;
    else roles.series.push_back(name);
  }
}

}  // namespace headroom::experiments
