#include "experiments/tools/plan/measured_choice.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/studies/claims/curve.h"

namespace headroom::experiments {

extern const char* const kHeadChoices;

namespace {

using Json = nlohmann::ordered_json;
using Standing = HeadChoice::Option::Standing;

/// In the order of Standing.
constexpr std::array<std::string_view, 4> standing_names{"best", "as good", "worse", "open"};

/// Short words for kinds of task.
constexpr std::pair<const char*, const char*> short_words[] = {{"mlm", "masked"},
                                                               {"ntp", "next-token"},
                                                               {"n-gram", "linear-functional"},
                                                               {"kernel", "linear-functional"},
                                                               {"induction", "induction-head"},
                                                               {"copying", "induction-head"},
                                                               {"copy", "induction-head"}};

/// The members that JSON has under their own names, for reading and for writing.
template <class Measured, class F>
void each_member(Measured& measured, const F& f) {
  auto& choice = measured.choice;
  f("task", measured.task), f("metric", measured.metric);
  f("study", choice.study), f("profile", choice.profile), f("series", choice.series), f("positions", choice.positions);
  f("width", choice.width), f("steps", choice.steps), f("margin", choice.margin), f("seeds", choice.seeds);
}

/// JSON knows no NaN.
Json interval_end(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }
double interval_end_of(const Json& value) { return value.is_null() ? NAN : value.get<double>(); }

HeadChoice::Option option_from(const Json& json) {
  const auto word = json.at("standing").get<std::string>();
  const auto known = std::find(standing_names.begin(), standing_names.end(), word);
  require(known != standing_names.end(), "head choices: there is no standing \"{}\"", excerpt(word));
  return {json.at("heads"),
          json.at("qk_dim"),
          json.at("v_dim"),
          json.at("ratio"),
          interval_end_of(json.at("low")),
          interval_end_of(json.at("high")),
          static_cast<Standing>(known - standing_names.begin())};
}

MeasuredChoice choice_from(const Json& json) {
  MeasuredChoice out;
  each_member(out, [&](const char* name, auto& member) { json.at(name).get_to(member); });
  std::vector<HeadChoice::Option>& options = out.choice.options;
  for (const Json& option : json.at("options")) options.push_back(option_from(option));
  const auto best = std::count_if(options.begin(), options.end(),
                                  [](const HeadChoice::Option& option) { return option.standing == Standing::best; });
  require(best == 1, "head choices: {}: expected one best number of heads, got {}", excerpt(out.choice.study), best);
  return out;
}

Json json_of(const MeasuredChoice& measured) {
  Json out;
  each_member(measured, [&](const char* name, const auto& member) { out[name] = member; });
  out["options"] = Json::array();
  for (const HeadChoice::Option& option : measured.choice.options)
    out["options"].push_back({{"heads", option.heads},
                              {"qk_dim", option.qk_dim},
                              {"v_dim", option.v_dim},
                              {"ratio", option.ratio},
                              {"low", interval_end(option.low)},
                              {"high", interval_end(option.high)},
                              {"standing", standing_names[static_cast<size_t>(option.standing)]}});
  return out;
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
  std::vector<std::string> lines;
  for (const MeasuredChoice& measured : choices)
    lines.push_back(json_of(measured).dump(-1, ' ', false, Json::error_handler_t::replace));
  return fmt::format("[{}]\n", fmt::join(lines, ",\n"));
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
  std::set<std::string> unnamed = kinds;
  for (const auto& [word, kind] : short_words) {
    if (!kinds.contains(kind)) continue;
    out.emplace_back(word);
    unnamed.erase(kind);
  }
  out.insert(out.end(), unnamed.begin(), unnamed.end());
  return out;
}

std::vector<MeasuredChoice> choices_for(const std::string& task, const std::vector<MeasuredChoice>& all) {
  std::string kind = task;
  for (const auto& [word, of] : short_words)
    if (word == task) kind = of;
  std::vector<MeasuredChoice> out;
  for (const MeasuredChoice& measured : all) {
    // "n-gram" and "kernel" are one kind of task; their studies tell them apart.
    const std::string& study = measured.choice.study;
    const bool is_other = (task == "n-gram" && study.find("ngram") == std::string::npos) ||
                          (task == "kernel" && study.find("kernel") == std::string::npos);
    if (measured.task == kind && !is_other) out.push_back(measured);
  }
  require(!out.empty(), "--for: nothing was measured for '{}'; there are {}", excerpt(task),
          fmt::format("{}", fmt::join(task_words(), ", ")));
  return out;
}

}  // namespace headroom::experiments
