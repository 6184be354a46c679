#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/excerpt.h"
#include "experiments/tools/judge/foreign_run.h"

namespace headroom::experiments {
namespace {

bool is_any_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::string bare_name(const std::string& column) {
  std::string name;
  for (const char c : column.substr(column.find_last_of("/.") + 1))
    name += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c == ' ' || c == '-' ? '_' : c);
  return name;
}

bool RunRoles::names(const std::string& column) const {
  const auto is_column = [&](const auto& entry) { return entry.first == column; };
  return column == x || column == seed || std::count(series.begin(), series.end(), column) > 0 ||
         std::count(rate.begin(), rate.end(), column) > 0 || std::any_of(where.begin(), where.end(), is_column);
}

ColumnSort sort_of_name(const std::string& column) {
  const std::string name = bare_name(column);
  if (is_any_of(name, {"seed", "random_seed", "rng_seed", "run_seed", "manual_seed", "random_state", "replicate",
                       "replica", "repeat", "repetition", "rep"}))
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
  for (const char* part :
       {"loss", "acc", "error", "mse",    "mae",    "ppl",     "perplex", "reward", "return", "score",
        "f1",   "auc", "bleu",  "rouge",  "nll",    "bpb",     "bits",    "iou",    "exact",  "pass@",
        "elbo", "kl",  "fid",   "regret", "metric", "entropy", "value",   "r2"})
    if (has(part)) return ColumnSort::metric;
  const bool is_of_split = column.starts_with("test") || column.starts_with("val") || column.starts_with("eval");
  return is_of_split ? ColumnSort::metric : ColumnSort::other;
}

std::string did_you_mean(const std::string& name, const std::set<std::string>& known) {
  const std::string near = nearest_path(name, known);
  return near.empty() ? "; there are " + some_of({known.begin(), known.end()})
                      : fmt::format("; did you mean \"{}\"?", near);
}

RunEnd end_named(std::string word) {
  for (char& c : word) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (is_any_of(word, {"finished", "complete", "completed", "success", "succeeded", "done", "ok", "0", "true", ""}))
    return RunEnd::finished;
  return is_any_of(word, {"running", "pending", "queued", "scheduled", "waiting", "preempting"}) ? RunEnd::running
                                                                                                 : RunEnd::failed;
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
