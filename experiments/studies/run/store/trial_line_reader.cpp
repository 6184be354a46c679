#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/studies/run/store/annotations.h"
#include "experiments/studies/run/store/trial_lines.h"
#include "experiments/studies/toml/value.h"
#include "models/files/json.h"

namespace headroom::experiments {
namespace {

using nlohmann::json;

constexpr int64_t most_number = int64_t{1} << 53;  ///< that a double counts to
constexpr int64_t most_published = 10'000'000;
constexpr size_t longest_plain_name = 1000;

// `if (…) fail(…)`, not require(): what a value looks like is worked out for an error alone.

/// One JSON object of a file, whose keys are asked for by name and kind. Errors have no file: the reader adds it.
class LineTable {
 public:
  explicit LineTable(const json& object) : object_(object) {}

  const json& at(const char* key) const {
    const auto found = object_.find(key);
    require(found != object_.end(), "'{}' is missing", key);
    return *found;
  }
  std::string text(const char* key) const { return at(key, &json::is_string, "a string").get<std::string>(); }
  bool flag(const char* key) const { return at(key, &json::is_boolean, "true or false").get<bool>(); }
  const json& list(const char* key) const { return at(key, &json::is_array, "a list"); }
  const json& table(const char* key) const { return at(key, &json::is_object, "a table"); }
  int64_t count(const char* key, int64_t most = most_number) const {
    const json& value = at(key);
    const bool fits = value.is_number_integer() && value >= 0 && value <= most;
    if (!fits) fail("'{}' is {}: expected a whole number from 0 to {}", key, models::shown(value), most);
    return value.get<int64_t>();
  }
  /// Seconds since 1970 in the years 1 to 9999: a machine's clock may stand before 1970.
  double moment(const char* key) const {
    constexpr double year_1 = -62'135'596'800, year_9999 = 253'402'300'799;
    const json& value = at(key);
    const double seconds = value.is_number_integer() ? value.get<double>() : NAN;
    if (!(seconds >= year_1 && seconds <= year_9999))
      fail("'{}' is {}: expected whole seconds since 1970, within the years 1 to 9999", key, models::shown(value));
    return seconds;
  }
  double amount(const char* key) const {
    const json& value = at(key);
    const double x = value.is_number() ? value.get<double>() : -1;
    if (!(std::isfinite(x) && x >= 0)) fail("'{}' is {}: expected a number from 0", key, models::shown(value));
    return x;
  }
  std::map<std::string, std::string> texts(const char* key) const {
    std::map<std::string, std::string> out;
    for (const auto& [name, value] : table(key).items()) {
      if (!value.is_string()) fail("'{}.{}' is {}: expected a string", key, excerpt(name), models::shown(value));
      out[name] = value.get<std::string>();
    }
    return out;
  }

 private:
  const json& at(const char* key, bool (json::*is_kind)() const noexcept, const char* kind) const {
    const json& value = at(key);
    if (!(value.*is_kind)()) fail("'{}' is {}: expected {}", key, models::shown(value), kind);
    return value;
  }

  const json& object_;
};

/// As the writer's digits_of() has it.
double read_real(const json& value, const char* what) {
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  if (!value.is_number()) fail("{} has {}: expected a number, null, \"inf\" or \"-inf\"", what, models::shown(value));
  return value.get<double>() + 0.0;  // 0 and −0 are one, as SQLite has it
}

std::string plain_name(const json& value, const char* what) {
  if (!value.is_string()) fail("{} has {}: expected a name", what, models::shown(value));
  const auto& name = value.get_ref<const std::string&>();
  require(!name.empty() && name.size() <= longest_plain_name && name.find('\0') == std::string::npos,
          "{} has a name of {} bytes: expected 1 to {}, none of them 0", what, name.size(), longest_plain_name);
  return name;
}

std::vector<double> read_reals(const json& value, const char* what) {
  const bool is_narrow = value.is_object() && value.size() == 1 && value.contains("f32") && value["f32"].is_array();
  if (!value.is_array() && !is_narrow) fail("{} has {}: expected a list of numbers", what, models::shown(value));
  std::vector<double> out;
  for (const json& one : is_narrow ? value["f32"] : value) {
    const double x = read_real(one, what);
    out.push_back(is_narrow ? static_cast<double>(static_cast<float>(x)) : x);
    if (std::isinf(out.back()) && !std::isinf(x)) fail("{} has {}: no number of f32", what, models::shown(one));
  }
  return out;
}

std::map<std::string, double> read_scores(const json& table, const char* what) {
  std::map<std::string, double> out;
  for (const auto& [name, value] : table.items()) out[plain_name(name, what)] = read_real(value, what);
  return out;
}

std::vector<HistoryPoint> read_history(const json& curves) {
  std::vector<HistoryPoint> out;
  for (const json& curve : curves) {
    if (!curve.is_array() || curve.size() != 4 || !curve[2].is_array())
      fail("'history' has {}: expected lists of split, metric, steps and values", models::shown(curve));
    const std::string split = plain_name(curve[0], "'history'"), metric = plain_name(curve[1], "'history'");
    const std::vector<double> values = read_reals(curve[3], "'history'");
    if (values.size() != curve[2].size())
      fail("'history': {}/{} has {} steps and {} values", excerpt(split), excerpt(metric), curve[2].size(),
           values.size());
    int64_t last = -1;
    for (size_t i = 0; i < values.size(); ++i) {
      const json& step = curve[2][i];
      const bool fits = step.is_number_integer() && step > last && step <= most_number;
      if (!fits)
        fail("'history': step {} of {}/{} after {}: expected whole numbers that rise", models::shown(step),
             excerpt(split), excerpt(metric), last);
      last = step.get<int64_t>();
      out.push_back({last, split, metric, values[i]});
    }
  }
  const auto place = [](const HistoryPoint& p) { return std::tie(p.step, p.split, p.metric); };
  std::sort(out.begin(), out.end(), [&](const HistoryPoint& a, const HistoryPoint& b) { return place(a) < place(b); });
  const auto twice = std::adjacent_find(
      out.begin(), out.end(), [&](const HistoryPoint& a, const HistoryPoint& b) { return place(a) == place(b); });
  if (twice != out.end()) fail("'history' has {}/{} twice", excerpt(twice->split), excerpt(twice->metric));
  return out;
}

std::vector<std::pair<double, double>> read_predictions(const json& lists) {
  require(lists.size() == 2, "'predictions' has {} lists: expected targets and outputs", lists.size());
  const std::vector<double> targets = read_reals(lists[0], "'predictions'"),
                            outputs = read_reals(lists[1], "'predictions'");
  require(targets.size() == outputs.size(), "'predictions' has {} targets and {} outputs", targets.size(),
          outputs.size());
  std::vector<std::pair<double, double>> out;
  for (size_t i = 0; i < targets.size(); ++i) out.emplace_back(targets[i], outputs[i]);
  return out;
}

/// Adds one place of the plan.
void add_place(const json& place, const std::string& trial, std::map<int64_t, PlanEntry>& plan) {
  const bool is_whole = place.is_array() && place.size() == 6 && place[0].is_number_integer() && place[0] >= 0 &&
                        place[0] < most_published && place[1].is_string() && place[2].is_string() &&
                        place[4].is_object() && place[5].is_number_integer();
  if (!is_whole)
    fail("a place in the plan is {}: expected position, series, label, x, choice and seed",
         excerpt(place.dump(-1, ' ', false, json::error_handler_t::replace)));
  PlanEntry entry;
  entry.id = trial;
  entry.series = place[1].get<std::string>();
  entry.label = place[2].get<std::string>();
  entry.x = read_real(place[3], "a place in the plan");
  entry.choice = read_scores(place[4], "a place in the plan");
  entry.seed = place[5].get<int64_t>();
  const auto position = place[0].get<int64_t>();
  require(plan.emplace(position, std::move(entry)).second, "place {} of the plan is taken twice", position);
}

json line_object(const std::string& line) {
  json object = models::parse_json(line);
  if (!object.is_object()) fail("is {}: expected a JSON object", models::shown(object));
  return object;
}

TrialRecord read_trial_line(const LineTable& in, bool is_whole, std::map<int64_t, PlanEntry>& plan) {
  TrialRecord r;
  r.id = in.text("id");
  r.config = in.text("config");
  try {
    line_object(r.config);
  } catch (const Error& error) {
    fail("'config' {}", error.what());
  }
  const std::string status = in.text("status");
  require(status == "finished" || status == "failed", "'status' is '{}': expected finished or failed", excerpt(status));
  r.status = status == "finished" ? TrialStatus::finished : TrialStatus::failed;
  r.message = in.text("message");
  r.ended = in.moment("ended");
  r.seconds = in.amount("seconds");
  r.attempts = in.count("attempts");
  r.steps = in.count("steps");
  r.parameters = in.count("parameters");
  r.flops = in.amount("flops");
  r.code = in.text("code");
  r.data = in.texts("data");
  for (const json& place : in.list("plan")) add_place(place, r.id, plan);
  r.validation = read_scores(in.table("validation"), "'validation'");
  r.test = read_scores(in.table("test"), "'test'");
  for (const auto& [metric, values] : in.table("test_parts").items()) {
    r.test_parts[plain_name(metric, "'test_parts'")] = read_reals(values, "'test_parts'");
    for (const double x : r.test_parts[metric])
      if (std::isnan(x)) fail("'test_parts' of {} has null: expected numbers", excerpt(metric));
  }
  if (!is_whole) return r;
  r.history = read_history(in.list("history"));
  r.predictions = read_predictions(in.list("predictions"));
  return r;
}

}  // namespace

bool is_trial_id(std::string_view id) {
  return id.size() == 32 &&
         std::all_of(id.begin(), id.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

PublishedRun run_from_line(const std::string& line, std::map<int64_t, PlanEntry>& plan) {
  const json object = line_object(line);
  const LineTable in(object);
  require(in.at("headroom") == "trials", "'headroom' is {}: expected \"trials\"", models::shown(in.at("headroom")));
  const int64_t format = in.count("format");
  require(format == published_format, "format {}, and this program reads {}: {}", format, published_format,
          format > published_format ? "the file is from a newer headroom" : "there is no such format");
  PublishedRun run;
  run.study = in.text("study");
  run.profile = in.text("profile");
  run.version = in.text("version");
  run.trials = in.count("trials", most_published);
  run.is_whole = in.flag("whole");
  run.facts = in.texts("facts");
  for (const json& tag : in.list("tags")) {
    run.tags.push_back(plain_name(tag, "'tags'"));
    check_tag(run.tags.back());
  }
  for (const json& note : in.list("notes")) {
    const bool is_note = note.is_array() && note.size() == 2 && note[0].is_string() && note[1].is_string();
    require(is_note, "'notes' has {}: expected lists of time and text", models::shown(note));
    run.notes.push_back({0, note[0].get<std::string>(), note[1].get<std::string>()});
    check_note_time(run.notes.back().at);
    check_note(run.notes.back().text);
  }
  for (const json& missing : in.list("missing")) {
    const bool is_pair = missing.is_array() && missing.size() == 2 && missing[0].is_string() &&
                         is_trial_id(missing[0].get_ref<const std::string&>());
    require(is_pair, "'missing' has {}: expected lists of an id and a place", models::shown(missing));
    add_place(missing[1], missing[0].get<std::string>(), plan);
  }
  return run;
}

TrialRecord trial_from_line(const std::string& line, bool is_whole, std::map<int64_t, PlanEntry>& plan) {
  const json object = line_object(line);
  return read_trial_line(LineTable(object), is_whole, plan);
}

TrialRecord shard_trial_from_line(const std::string& line, std::string& level) {
  const json object = line_object(line);
  const LineTable in(object);
  std::map<int64_t, PlanEntry> none;
  TrialRecord r = read_trial_line(in, true, none);
  r.weights = in.text("weights");
  level = in.text("level");
  return r;
}

}  // namespace headroom::experiments
