#include "experiments/tools/plan/measured_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/studies/claims/curve.h"

namespace headroom::experiments {

extern const char* const kHeadChoices;

namespace {

using Json = nlohmann::ordered_json;
using Standing = HeadChoice::Option::Standing;

constexpr std::pair<Standing, const char*> standings[] = {
    {Standing::best, "best"}, {Standing::as_good, "as good"}, {Standing::worse, "worse"}, {Standing::open, "open"}};

/// Short words for kinds of task.
const std::vector<std::pair<std::string, std::string>>& short_words() {
  static const std::vector<std::pair<std::string, std::string>> words{{"mlm", "masked"},
                                                                      {"ntp", "next-token"},
                                                                      {"n-gram", "linear-functional"},
                                                                      {"kernel", "linear-functional"},
                                                                      {"induction", "induction-head"},
                                                                      {"copying", "induction-head"},
                                                                      {"copy", "induction-head"}};
  return words;
}

const char* name_of(Standing standing) {
  return std::find_if(std::begin(standings), std::end(standings),
                      [&](const auto& entry) { return entry.first == standing; })
      ->second;
}

/// JSON knows no NaN.
Json interval_end(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }
double interval_end_of(const Json& value) { return value.is_null() ? NAN : value.get<double>(); }

HeadChoice::Option option_from(const Json& json) {
  HeadChoice::Option option{json.at("heads"),
                            json.at("qk_dim"),
                            json.at("v_dim"),
                            json.at("ratio"),
                            interval_end_of(json.at("low")),
                            interval_end_of(json.at("high")),
                            Standing::open};
  const auto word = json.at("standing").get<std::string>();
  const auto known =
      std::find_if(std::begin(standings), std::end(standings), [&](const auto& entry) { return word == entry.second; });
  require(known != std::end(standings), "head choices: there is no standing \"{}\"", excerpt(word));
  option.standing = known->first;
  return option;
}

MeasuredChoice choice_from(const Json& json) {
  MeasuredChoice out{json.at("task"), json.at("metric"), {}};
  HeadChoice& choice = out.choice;
  choice.study = json.at("study");
  choice.profile = json.at("profile");
  choice.series = json.at("series");
  choice.positions = json.at("positions");
  choice.width = json.at("width");
  choice.steps = json.at("steps");
  choice.margin = json.at("margin");
  choice.seeds = json.at("seeds");
  for (const Json& option : json.at("options")) choice.options.push_back(option_from(option));
  const auto best = std::count_if(choice.options.begin(), choice.options.end(),
                                  [](const HeadChoice::Option& option) { return option.standing == Standing::best; });
  require(best == 1, "head choices: {}: expected one best number of heads, got {}", excerpt(choice.study), best);
  return out;
}

Json json_of(const MeasuredChoice& measured) {
  const HeadChoice& choice = measured.choice;
  Json options = Json::array();
  for (const HeadChoice::Option& option : choice.options)
    options.push_back({{"heads", option.heads},
                       {"qk_dim", option.qk_dim},
                       {"v_dim", option.v_dim},
                       {"ratio", option.ratio},
                       {"low", interval_end(option.low)},
                       {"high", interval_end(option.high)},
                       {"standing", name_of(option.standing)}});
  return {{"task", measured.task},     {"metric", measured.metric},    {"study", choice.study},
          {"profile", choice.profile}, {"series", choice.series},      {"positions", choice.positions},
          {"width", choice.width},     {"steps", choice.steps},        {"margin", choice.margin},
          {"seeds", choice.seeds},     {"options", std::move(options)}};
}

/// The task that a series' trials were trained on; "" where the config does not say.
std::string task_of(const StudyResults& results, const std::string& series) {
  for (const TrialRecord& trial : results.trials) {
    if (trial.series != series) continue;
    const Json config = Json::parse(trial.config, nullptr, false);
    if (config.is_object() && config.contains("task")) return config["task"].value("kind", "");
  }
  return "";
}

}  // namespace

std::vector<MeasuredChoice> measured_choices(const StudyResults& results) {
  std::vector<MeasuredChoice> out;
  for (const std::string& series : series_names(results))
    if (std::optional<HeadChoice> choice = head_choice(results, series);
        choice && choice->is_learned && choice->is_tuned)
      out.push_back({task_of(results, series), results.report.y_metric, std::move(*choice)});
  return out;
}

std::string choices_json(const std::vector<MeasuredChoice>& choices) {
  std::string lines;
  for (const MeasuredChoice& measured : choices)
    lines += (lines.empty() ? "" : ",\n") + json_of(measured).dump(-1, ' ', false, Json::error_handler_t::replace);
  return "[" + lines + "]\n";
}

std::vector<MeasuredChoice> parse_choices(const std::string& json) {
  std::vector<MeasuredChoice> out;
  try {
    for (const Json& one : Json::parse(json)) out.push_back(choice_from(one));
  } catch (const Json::exception& error) {
    fail("head choices: {}", plain_words(error.what()));
  }
  return out;
}

const std::vector<MeasuredChoice>& shipped_choices() {
  static const std::vector<MeasuredChoice> choices = parse_choices(kHeadChoices);
  return choices;
}

std::vector<std::string> task_words() {
  std::set<std::string> kinds;
  for (const MeasuredChoice& measured : shipped_choices()) kinds.insert(measured.task);
  std::vector<std::string> out;
  std::set<std::string> named;
  for (const auto& [word, kind] : short_words()) {
    if (!kinds.contains(kind)) continue;
    out.push_back(word);
    named.insert(kind);
  }
  for (const std::string& kind : kinds)
    if (!named.contains(kind)) out.push_back(kind);
  return out;
}

std::vector<MeasuredChoice> choices_for(const std::string& task, const std::vector<MeasuredChoice>& all) {
  std::string kind = task;
  for (const auto& [word, of] : short_words())
    if (word == task) kind = of;
  std::vector<MeasuredChoice> out;
  for (const MeasuredChoice& measured : all) {
    // "n-gram" and "kernel" are one kind of task; their studies tell them apart.
    const bool is_other = (task == "n-gram" && measured.choice.study.find("ngram") == std::string::npos) ||
                          (task == "kernel" && measured.choice.study.find("kernel") == std::string::npos);
    if (measured.task == kind && !is_other) out.push_back(measured);
  }
  require(!out.empty(), "--for: nothing was measured for '{}'; there are {}", excerpt(task),
          fmt::format("{}", fmt::join(task_words(), ", ")));
  return out;
}

}  // namespace headroom::experiments
