#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "experiments/studies/run/store/trial_lines.h"

namespace headroom::experiments {
namespace {

using Json = nlohmann::ordered_json;

std::string json_text(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The shortest digits that give the number again.
std::string digits_of(double x) {
  if (std::isnan(x)) return "null";
  if (std::isinf(x)) return x > 0 ? R"("inf")" : R"("-inf")";
  if (x == 0 && std::signbit(x)) return "-0.0";  // "-0" is read as an integer
  return fmt::format("{}", x);
}

/// The shortest that tell a number of f32 from its neighbours there; none where x is no such number.
std::optional<std::string> digits_of_f32(double x) {
  if (!std::isfinite(x) || x == 0) return digits_of(x);
  const auto narrow = static_cast<float>(x);
  if (!std::isfinite(narrow) || static_cast<double>(narrow) != x) return std::nullopt;
  std::string text = fmt::format("{}", narrow);
  if (static_cast<float>(std::strtod(text.c_str(), nullptr)) != narrow) return std::nullopt;  // rounded twice
  return text;
}

std::string json_list(const std::vector<double>& values) {
  std::vector<std::string> narrow, wide;
  for (const double x : values) {
    if (narrow.size() == wide.size())
      if (auto text = digits_of_f32(x)) narrow.push_back(std::move(*text));
    wide.push_back(digits_of(x));
  }
  if (!values.empty() && narrow.size() == values.size())
    return fmt::format(R"({{"f32":[{}]}})", fmt::join(narrow, ","));
  return fmt::format("[{}]", fmt::join(wide, ","));
}

/// {"a": …, "b": …} of a map, each value as `text` has it.
template <class Map, class F>
std::string json_table(const Map& map, const F& text) {
  std::vector<std::string> entries;
  for (const auto& [key, value] : map) entries.push_back(json_text(key) + ":" + text(value));
  return fmt::format("{{{}}}", fmt::join(entries, ","));
}

/// [a, b] of a range, each value as `text` has it.
template <class Range, class F>
std::string json_array(const Range& range, const F& text) {
  std::vector<std::string> values;
  for (const auto& value : range) values.push_back(text(value));
  return fmt::format("[{}]", fmt::join(values, ","));
}

/// A place of the plan without its trial.
std::string json_place(const PlanEntry& entry, size_t position) {
  return fmt::format("[{},{},{},{},{},{}]", position, json_text(entry.series), json_text(entry.label),
                     digits_of(entry.x), json_table(entry.choice, digits_of), entry.seed);
}

/// A list per curve, [SPLIT, METRIC, steps, values].
std::string json_history(const std::vector<HistoryPoint>& history) {
  struct Curve {
    std::vector<int64_t> steps;
    std::vector<double> values;
  };
  std::map<std::pair<std::string, std::string>, Curve> curves;
  for (const HistoryPoint& p : history) {
    Curve& curve = curves[{p.split, p.metric}];
    curve.steps.push_back(p.step);
    curve.values.push_back(p.value);
  }
  return json_array(curves, [](const auto& one) {
    const auto& [name, curve] = one;
    return fmt::format("[{},{},[{}],{}]", json_text(name.first), json_text(name.second), fmt::join(curve.steps, ","),
                       json_list(curve.values));
  });
}

std::string json_predictions(const std::vector<std::pair<double, double>>& pairs) {
  std::vector<double> targets, outputs;
  for (const auto& [target, output] : pairs) {
    targets.push_back(target);
    outputs.push_back(output);
  }
  return fmt::format("[{},{}]", json_list(targets), json_list(outputs));
}

/// Whether the study's TOML, where there is one, names a metric: report, claims and figures do.
bool is_named(const PublishedRun& run, const std::string& metric) {
  const auto toml = run.facts.find("config");
  return toml == run.facts.end() || toml->second.find('"' + metric + '"') != std::string::npos;
}

/// A data file's name below the folder of data or models that held it: where that folder is, is nobody else's business.
std::string shared_name(const std::string& path) {
  for (const char* folder : {"/data/", "/models/"})
    if (const size_t at = path.rfind(folder); at != std::string::npos) return path.substr(path.find('/', at + 1) + 1);
  return path;
}

}  // namespace

std::string line_of_run(const PublishedRun& run, const std::set<std::string>& ids) {
  std::vector<std::string> missing;
  for (size_t i = 0; i < run.plan.size(); ++i)
    if (const PlanEntry& entry = run.plan[i]; !ids.contains(entry.id))
      missing.push_back(fmt::format("[{},{}]", json_text(entry.id), json_place(entry, i)));
  const auto note_text = [](const Note& n) { return fmt::format("[{},{}]", json_text(n.at), json_text(n.text)); };
  return fmt::format(
      R"({{"headroom":"trials","format":{},"study":{},"profile":{},"version":{},"trials":{},"whole":{},"facts":{},)"
      R"("tags":{},"notes":{},"missing":[{}]}})"
      "\n",
      published_format, json_text(run.study), json_text(run.profile), json_text(run.version), run.trials, run.is_whole,
      json_table(run.facts, json_text), json_array(run.tags, json_text), json_array(run.notes, note_text),
      fmt::join(missing, ","));
}

std::string line_of_trial(const TrialRecord& r, const PublishedRun& run, const std::vector<size_t>& places) {
  const std::string plan = json_array(places, [&](const size_t i) { return json_place(run.plan[i], i); });
  std::map<std::string, std::string> shared;  // file → SHA-256
  for (const auto& [path, hash] : r.data) shared[shared_name(path)] = hash;
  std::map<std::string, std::vector<double>> parts = r.test_parts;
  std::erase_if(parts, [&](const auto& of) { return !run.is_whole && !is_named(run, of.first); });
  std::string line = fmt::format(
      R"({{"id":{},"status":{},"message":{},"ended":{},"seconds":{},"attempts":{},"steps":{},"parameters":{},"flops":{},)"
      R"("code":{},"data":{},"config":{},"plan":{},"validation":{},"test":{},"test_parts":{})",
      json_text(r.id), json_text(name_of(r.status)), json_text(r.message), static_cast<int64_t>(r.ended),
      digits_of(r.seconds), r.attempts, r.steps, r.parameters, digits_of(r.flops), json_text(r.code),
      json_table(shared, json_text), json_text(r.config), plan, json_table(r.validation, digits_of),
      json_table(r.test, digits_of), json_table(parts, json_list));
  if (run.is_whole)
    line += fmt::format(R"(,"history":{},"predictions":{})", json_history(r.history), json_predictions(r.predictions));
  return line + "}\n";
}

}  // namespace headroom::experiments
