#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/excerpt.h"
#include "experiments/tools/judge/foreign_run.h"
#include "tasks/task.h"

namespace headroom::experiments {
namespace {

bool is_any_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Lower case, and of "trainer/global_step" or "config.lr" the last part alone.
std::string bare(const std::string& column) {
  std::string name;
  for (const char c : column.substr(column.find_last_of("/.") + 1))
    name += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c == ' ' || c == '-' ? '_' : c);
  return name;
}

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
  const auto has = [&](const char* part) { return metric.find(part) != std::string::npos; };
  return (has("test") ? 8 : has("val") || has("eval") ? 4 : has("train") ? 0 : 2) + (has("loss") || has("acc") ? 1 : 0);
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
  const std::string name = bare(metric);
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (has("loss") || has("err")) return false;
  return tasks::larger_is_better(metric) || has("acc") || has("reward") || has("return") || has("score") ||
         has("bleu") || has("rouge") || has("iou") || has("auc") || is_any_of(name, {"f1", "r2", "elbo"});
}

}  // namespace

bool RunRoles::names(const std::string& column) const {
  const auto is_column = [&](const auto& entry) { return entry.first == column; };
  return column == x || column == seed || std::count(series.begin(), series.end(), column) > 0 ||
         std::count(rate.begin(), rate.end(), column) > 0 || std::any_of(where.begin(), where.end(), is_column);
}

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
  if (roles.metric.empty()) {
    roles.metric = likely_metric(runs);
    roles.larger_is_better = is_larger_by_name(roles.metric);
    roles.choose = likely_metric(runs, roles.metric);
    if (suits(roles.choose) < 4) roles.choose.clear();
    roles.larger_chosen = is_larger_by_name(roles.choose.empty() ? roles.metric : roles.choose);
  }
  for (const std::string& name : names) {
    const std::set<std::string> values = values_of(runs, name);
    const bool is_arm = values.size() > 1 && 2 * values.size() <= runs.size() + 1;
    if (!is_arm || roles.names(name)) continue;
    const ColumnSort sort = sort_of_name(name);
    if (sort == ColumnSort::rate && are_numbers(values)) roles.rate.push_back(name);
    else if (sort != ColumnSort::other) continue;
    else if (roles.x.empty() && are_numbers(values)) roles.x = name;
    else roles.series.push_back(name);
  }
}

ColumnSort sort_of_name(const std::string& column) {
  const std::string name = bare(column);
  if (is_any_of(name, {"seed", "random_seed", "rng_seed", "run_seed", "manual_seed", "random_state"}))
    return ColumnSort::seed;
  if (is_any_of(name, {"lr", "learning_rate", "rate", "max_lr", "base_lr", "peak_lr"})) return ColumnSort::rate;
  if (is_any_of(name, {"step", "steps", "global_step", "_step", "iteration", "iter", "epoch", "epochs", "train_step"}))
    return ColumnSort::step;
  const bool is_nested = column.find('.') != std::string::npos && is_any_of(name, {"name", "id"});
  if (!is_nested && (is_any_of(name, {"run", "run_id", "run_name", "_run", "trial", "trial_id", "trial_number", "uuid",
                                      "id", "name", ""}) ||
                     name.starts_with("unnamed:")))
    return ColumnSort::run;
  if (is_any_of(name, {"status", "state", "run_state", "end_state", "exit_code"})) return ColumnSort::status;
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (has("runtime") || has("timestamp") || has("seconds") || has("wall") || has("duration") || has("elapsed") ||
      is_any_of(name, {"time", "date", "datetime", "created", "started", "ended", "eta", "_wandb"}))
    return ColumnSort::clock;
  for (const char* part : {"loss",  "acc", "error", "mse",    "mae",    "ppl",     "perplex", "reward", "return",
                           "score", "f1",  "auc",   "bleu",   "rouge",  "nll",     "bpb",     "bits",   "iou",
                           "elbo",  "kl",  "fid",   "regret", "metric", "entropy", "value",   "r2"})
    if (has(part)) return ColumnSort::metric;
  const bool is_of_split = column.starts_with("test") || column.starts_with("val") || column.starts_with("eval");
  return is_of_split ? ColumnSort::metric : ColumnSort::other;
}

std::optional<double> foreign_number(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || text.empty()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return text.find("e-") == std::string_view::npos ? HUGE_VAL : 0;
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

std::string parameter(const ForeignRun& run, const std::string& name) {
  const auto found = run.parameters.find(name);
  return found == run.parameters.end() ? "" : found->second;
}

std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t shown = 6;
  std::vector<std::string> first;
  for (size_t i = 0; i < std::min(shown, names.size()); ++i) first.push_back(excerpt(names[i]));
  const std::string rest = names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "";
  return fmt::format("{}{}", fmt::join(first, ", "), rest);
}

}  // namespace headroom::experiments
