#include "experiments/config/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "experiments/config/document.h"
#include "experiments/config/reader.h"

namespace headroom::experiments {
namespace {

void erase(Value& table, const std::string& key) {
  std::erase_if(table.table, [&](const Entry& entry) { return entry.key == key; });
}

/// "train.steps=10" as a table that can be merged.
Value parse_setting(const std::string& text) {
  const std::string source = "--set " + text;
  if (text.find('=') == std::string::npos) fail("{}: wants key=value", source);
  return parse_toml(text, source, false);
}

std::vector<std::string> profile_names(const Value& file) {
  std::vector<std::string> names{base_profile};
  if (const Entry* profiles = file.find("profile")) {
    for (const Entry& profile : profiles->value.table)
      if (profile.key != base_profile) names.push_back(profile.key);
  }
  return names;
}

/// The file's keys with those of one profile in their place.
Value with_profile(const Value& file, const std::string& profile, Problems& problems) {
  Value root = file;
  erase(root, "profile");
  const Entry* profiles = file.find("profile");
  const Entry* chosen = profiles ? profiles->value.find(profile) : nullptr;
  if (profiles && profiles->value.kind != Value::Kind::table) {
    problems.add(profiles->place, "profile", "wants tables [profile.NAME]");
  } else if (chosen && chosen->value.kind != Value::Kind::table) {
    problems.add(chosen->place, "profile." + profile, "wants a table");
  } else if (chosen) {
    if (const Entry* nested = chosen->value.find("profile"))
      problems.add(nested->place, "profile", "a profile has no profiles");
    merge(root, chosen->value);
  }
  return root;
}

/// The name of one [[series]], after a check that it overrides nothing but what decides its trials and its overlay.
std::string check_series(const Value& series, const std::vector<std::string>& taken, Problems& problems) {
  const Entry* name = series.find("name");
  for (const Entry& entry : series.table) {
    if (entry.key == "report") {
      for (const Entry& inner : entry.value.table)
        if (inner.key != "overlay")
          problems.add(inner.place, "series.report." + inner.key, "a series overrides only report.overlay");
    } else if (entry.key != "name" && entry.key != "task" && entry.key != "model" && entry.key != "train" &&
               entry.key != "sweep") {
      problems.add(entry.place, "series." + entry.key,
                   "a series has a name and overrides keys of task, model, train, sweep and report.overlay");
    }
  }
  if (!name || name->value.kind != Value::Kind::text || name->value.text.empty()) {
    problems.add(name ? name->place : series.place, "series.name", name ? "wants a string" : "missing");
    return "";
  }
  if (std::find(taken.begin(), taken.end(), name->value.text) != taken.end())
    problems.add(name->place, "series.name", fmt::format("\"{}\" is taken", name->value.text));
  return name->value.text;
}

/// A key that is swept cannot be set to one value: the sweep would win without a word.
void check_settings(const Sweep& sweep, const std::vector<Value>& settings, Problems& problems) {
  for (const Value& setting : settings) {
    for (const SweepAxis& axis : sweep.axes) {
      const Value* at = &setting;
      for (const std::string& key : split_path(axis.path)) {
        const Entry* entry = at ? at->find(key) : nullptr;
        at = entry ? &entry->value : nullptr;
      }
      if (at) problems.add(at->place, axis.path, fmt::format("is swept; set sweep.\"{}\" = [...] instead", axis.path));
    }
  }
}

Overlay overlay_of(const Value& root, const std::string& folder, Problems& problems) {
  const Entry* entry = root.find("report");
  if (!entry || entry->value.kind != Value::Kind::table) return {};
  Reader report(entry->value, "report", problems);
  return bind_overlay(report, folder);
}

bool wants_paper_bound(const Value& root) {
  const Entry* report = root.find("report");
  const Entry* overlay = report ? report->value.find("overlay") : nullptr;
  return overlay && overlay->value.kind == Value::Kind::text && overlay->value.text == "paper-bound";
}

Study bind_study(const Value& file, const std::string& profile, const std::vector<Value>& settings,
                 const std::string& folder, Problems& problems) {
  Study study;
  study.profile = profile;
  Value root = with_profile(file, profile, problems);
  for (const Value& setting : settings) merge(root, setting);
  study.resolved = to_toml(root);

  std::vector<Value> overrides;
  if (const Entry* series = root.find("series")) {
    if (series->value.kind != Value::Kind::list) problems.add(series->place, "series", "wants tables [[series]]");
    overrides = series->value.list;
  }
  for (const Value& series : overrides) study.series.push_back(check_series(series, study.series, problems));
  if (overrides.empty()) {
    study.series.push_back("");
    overrides.emplace_back();
  }
  study.head = bind_head(root, study.series, folder, problems);
  for (size_t i = 0; i < overrides.size(); ++i) {
    Value bound = root;
    erase(bound, "series");
    erase(overrides[i], "name");
    merge(bound, overrides[i]);
    for (const Value& setting : settings) merge(bound, setting);
    const Sweep sweep = read_sweep(bound, problems);
    check_settings(sweep, settings, problems);
    for (PlannedTrial& trial : expand(bound, sweep, study.head.report.x_key, study.series[i], problems))
      study.trials.push_back(std::move(trial));
    Overlay overlay = overlay_of(bound, folder, problems);
    if (wants_paper_bound(bound) && problems.empty()) {
      overlay = paper_bound_overlay(study.trials, study.series[i]);
      if (overlay.points.empty())
        problems.add(bound.find("report")->place, "report.overlay",
                     "the paper has no bound for this task and its heads");
    }
    overlay.series = study.series[i];
    if (!overlay.points.empty()) study.head.report.overlays.push_back(std::move(overlay));
  }
  return study;
}

}  // namespace

Study load_study(const std::string& file, const std::string& profile, const std::vector<std::string>& settings) {
  const Value document = read_toml(file);
  const std::vector<std::string> names = profile_names(document);
  if (std::find(names.begin(), names.end(), profile) == names.end())
    fail("{}: there is no profile '{}'; it has {}", file, profile, fmt::join(names, ", "));
  std::vector<Value> parsed;
  for (const std::string& setting : settings) parsed.push_back(parse_setting(setting));
  const std::string folder = std::filesystem::absolute(file).parent_path().string();

  Problems problems;
  for (const Key& key : study_schema()) problems.know(key.path, key.condition);
  Study chosen;
  for (const std::string& name : names) {
    const bool is_chosen = name == profile;
    Study study = bind_study(document, name, is_chosen ? parsed : std::vector<Value>{}, folder, problems);
    if (is_chosen) chosen = std::move(study);
  }
  problems.raise();
  return chosen;
}

}  // namespace headroom::experiments
