#include "experiments/studies/config/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/excerpt.h"
#include "experiments/studies/config/metrics.h"
#include "experiments/studies/config/overrides.h"
#include "experiments/studies/config/profile_changes.h"
#include "experiments/studies/config/schema.h"
#include "experiments/studies/config/settings.h"
#include "experiments/studies/config/shipped_files.h"
#include "experiments/studies/config/trial_facts.h"
#include "experiments/studies/toml/document.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {
namespace {

void erase(Value& table, const std::string& key) {
  std::erase_if(table.table, [&](const Entry& entry) { return entry.key == key; });
}

/// "own" for the base profile of a file that mentions no paper and has no profiles, else its name.
std::string profile_name(const Value& file, const std::string& profile) {
  const bool is_own = !file.find("profile") && !find_path(file, "study.paper");
  return profile == base_profile && is_own ? own_profile : profile;
}

std::vector<std::string> profile_names(const Value& file, Complaints& problems) {
  std::vector<std::string> names{base_profile};
  if (const Entry* profiles = file.find("profile")) {
    for (const Entry& profile : profiles->value.table) {
      if (!is_folder_name(profile.key)) problems.add(profile.place, "profile", no_folder_name(profile.key));
      else if (profile.key != base_profile) names.push_back(profile.key);
    }
  }
  return names;
}

/// Replaces the file's keys by those of one profile.
Value with_profile(const Value& file, const std::string& profile, Complaints& problems) {
  Value root = file;
  erase(root, "profile");
  const Entry* profiles = file.find("profile");
  const Entry* chosen = profiles ? profiles->value.find(profile) : nullptr;
  if (profiles && profiles->value.kind != Value::Kind::table) {
    problems.add(profiles->place, "profile", "expected tables [profile.NAME]");
  } else if (chosen && chosen->value.kind != Value::Kind::table) {
    problems.add(chosen->place, "profile." + profile, "expected a table");
  } else if (chosen) {
    if (const Entry* nested = chosen->value.find("profile"))
      problems.add(nested->place, "profile", "a profile has no profiles");
    merge(root, chosen->value);
  }
  return root;
}

Overlay overlay_of(const Value& root, Complaints& problems) {
  const Entry* entry = root.find("report");
  if (!entry || entry->value.kind != Value::Kind::table) return {};
  Reader report(entry->value, "report", problems);
  return bind_overlay(report);
}

/// Plans the trials of one [[series]]. Returns the names of their curves, in order.
std::vector<std::string> add_trials(const Value& bound, const std::string& x_key, const std::string& name, Study& study,
                                    Complaints& problems) {
  const Sweep sweep = read_sweep(bound, x_key, problems);
  std::vector<std::string> curves;
  std::set<std::string> seen;
  for (PlannedTrial& trial : expand(bound, sweep, x_key, name, problems)) {
    if (seen.insert(trial.series).second) curves.push_back(trial.series);
    trial.place = study.trials.size() + study.later.size();
    (trial.is_later ? study.later : study.trials).push_back(std::move(trial));
  }
  if (sweep.seed_rule && study.seed_rule && !study.seed_rule->is_same(*sweep.seed_rule))
    problems.add(sweep.seed_rule->place, "sweep.seed", "the series of a study share one rule for their seeds");
  if (sweep.seed_rule) study.seed_rule = sweep.seed_rule;
  study.series.insert(study.series.end(), curves.begin(), curves.end());
  return curves;
}

/// A study with planned trials, and the readers' input for [study], [report] and the claims.
struct PlannedStudy {
  Study study;
  Value root;
};

PlannedStudy plan_study(const Value& file, const std::string& profile, const std::vector<Value>& settings,
                        Complaints& problems) {
  PlannedStudy planned{{}, with_profile(file, profile, problems)};
  Study& study = planned.study;
  Value& root = planned.root;
  study.profile = profile;
  for (const Value& setting : settings) merge(root, setting);
  study.resolved = to_toml(root);

  std::vector<Value> overrides;
  if (const Entry* series = root.find("series")) {
    if (series->value.kind != Value::Kind::list) problems.add(series->place, "series", "expected tables [[series]]");
    overrides = series->value.list;
  }
  std::vector<std::string> names;
  for (const Value& series : overrides) names.push_back(read_series(series, names, problems));
  if (overrides.empty()) {
    names.emplace_back();
    overrides.emplace_back();
  }
  const std::string x_key = text_at(root, "report.x.key");
  std::vector<Overlay> overlays;
  for (size_t i = 0; i < overrides.size(); ++i) {
    Value bound = root;
    erase(bound, "series");
    erase(overrides[i], "name");
    merge(bound, overrides[i]);
    for (const Value& setting : settings) merge(bound, setting);
    pin_swept(bound, settings, problems);
    Overlay overlay = overlay_of(bound, problems);
    const bool is_paper_bound = text_at(bound, "report.overlay") == "paper-bound";
    for (const std::string& curve : add_trials(bound, x_key, names[i], study, problems)) {
      if (is_paper_bound && problems.empty()) {
        overlay = paper_bound_overlay(study.trials, curve);
        if (overlay.points.empty())
          problems.add(bound.find("report")->place, "report.overlay",
                       "the paper has no bound for this task and its heads");
      }
      overlay.series = curve;
      if (!overlay.points.empty()) overlays.push_back(overlay);
    }
  }
  for (auto name = study.series.begin(); name != study.series.end(); ++name)
    if (std::find(study.series.begin(), name, *name) != name)
      problems.add(root.find("series")->place, "series", fmt::format("two curves are called \"{}\"", excerpt(*name)));
  if (study.series.empty()) study.series = names;  // for claims, if nothing could be planned
  study.head.report.overlays = std::move(overlays);
  return planned;
}

/// Adds one profile's knowledge of its series.
void add_scope(const Study& study, std::map<std::string, SeriesScope>& known) {
  for (const PlannedTrial& trial : study.trials) {
    SeriesScope& series = known[trial.series];
    series.x.insert(trial.x);
    series.metrics.merge(metric_names(trial.config));
  }
  for (const Overlay& overlay : study.head.report.overlays)
    for (const auto& point : overlay.points) known[overlay.series].overlay.insert(point.first);
}

/// What is a number in a trial of each curve.
std::set<std::string> common_numbers(const Study& study) {
  std::set<std::string> common, seen;
  for (const PlannedTrial& trial : study.trials) {
    if (!seen.insert(trial.series).second) continue;
    std::set<std::string> numbers;
    for (const auto& [path, value] : trial_facts(canonical_json(trial.config)).numbers) numbers.insert(path);
    if (seen.size() == 1) common = std::move(numbers);
    else std::erase_if(common, [&](const std::string& path) { return !numbers.contains(path); });
  }
  return common;
}

ReportScope report_scope(const Study& study) {
  ReportScope scope;
  scope.numbers = common_numbers(study);
  for (const PlannedTrial& trial : study.trials) {
    const std::set<std::string> names = metric_names(trial.config);
    if (&trial == &study.trials.front()) scope.everywhere = names;
    std::erase_if(scope.everywhere, [&](const std::string& name) { return !names.contains(name); });
    scope.anywhere.insert(names.begin(), names.end());
  }
  return scope;
}

/// Reads what is made of the trials. `known` is empty where a file has problems: then little is known of its trials.
void bind_study(PlannedStudy& planned, const std::map<std::string, SeriesScope>& known, Complaints& problems) {
  Study& study = planned.study;
  std::vector<Overlay> overlays = std::move(study.head.report.overlays);
  StudyScope scope;
  scope.series = study.series;
  scope.known = known;
  const ReportScope metrics = known.empty() ? ReportScope{} : report_scope(study);
  study.head = bind_info(planned.root, scope, metrics, problems);
  study.head.report.overlays = std::move(overlays);
  if (study.seed_rule && study.head.claims.empty())
    problems.add(study.seed_rule->place, "sweep.seed",
                 fmt::format("until = \"{}\" needs a [[claim]]: there is nothing to decide",
                             study.seed_rule->anytime ? "anytime" : "decided"));
}

/// A study's trials and report without the keys of trials: equal texts mean equal results.
std::string substance(PlannedStudy planned) {
  std::string text;
  for (const auto* trials : {&planned.study.trials, &planned.study.later})
    for (const PlannedTrial& trial : *trials) text += fmt::format("{} {} {}\n", trial.id, trial.series, trial.x);
  for (const char* key : {"task", "model", "train", "sweep"}) erase(planned.root, key);
  return text + to_toml(planned.root);
}

/// Every profile of a file, which names it in messages. `settings` are for the chosen one, whose name becomes that of
/// its study.
std::vector<Study> bind_profiles(Value document, const std::string& file, std::string& chosen,
                                 const std::vector<std::string>& settings) {
  flatten_sweeps(document);
  Complaints problems;
  if (chosen == own_profile && profile_name(document, base_profile) == own_profile) chosen = base_profile;
  const std::vector<std::string> names = profile_names(document, problems);
  if (problems.empty() && std::find(names.begin(), names.end(), chosen) == names.end()) {
    std::vector<std::string> shown;
    for (const std::string& name : names) shown.push_back(profile_name(document, name));
    fail("{}: there is no profile '{}'; it has {}", file, excerpt(chosen),
         excerpt(fmt::format("{}", fmt::join(shown, ", ")), 500));
  }
  std::vector<Value> parsed;
  for (const std::string& setting : settings) parsed.push_back(parse_setting(setting));

  for (const Key& key : study_schema()) problems.know(key.path, key.condition);
  std::vector<PlannedStudy> planned;
  for (const std::string& name : names)
    planned.push_back(plan_study(document, name, name == chosen ? parsed : std::vector<Value>{}, problems));
  std::map<std::string, SeriesScope> known;
  for (const PlannedStudy& one : planned) add_scope(one.study, known);
  bool has_overrides = false;
  if (!parsed.empty() && problems.empty()) {
    Complaints unset;  // what a setting replaces is in the file all the same: claims may speak of it
    const PlannedStudy as_written = plan_study(document, chosen, {}, unset);
    add_scope(as_written.study, known);
    for (const PlannedStudy& one : planned)
      if (one.study.profile == chosen) has_overrides = substance(one) != substance(as_written);
  }
  if (!problems.empty()) known.clear();
  std::vector<Study> studies;
  for (PlannedStudy& one : planned) {
    bind_study(one, known, problems);
    if (has_overrides && one.study.profile == chosen) one.study.head.overrides = settings;
    one.study.profile = profile_name(document, one.study.profile);
    one.study.run = run_name(one.study.profile, one.study.head.overrides);
    studies.push_back(std::move(one.study));
  }
  problems.raise();
  for (Study& study : studies)
    if (&study != &studies.front()) study.changes = profile_changes(study, studies.front());
  chosen = profile_name(document, chosen);
  return studies;
}

std::vector<Study> bind_profiles(const std::string& file, std::string& chosen,
                                 const std::vector<std::string>& settings) {
  Value document = read_toml(file);  // first: it says what is wrong with a name
  return bind_profiles(std::move(document), file, chosen, settings);
}

}  // namespace

Study load_study(const std::string& file, const std::string& profile, const std::vector<std::string>& settings) {
  std::string chosen = profile;
  std::vector<Study> studies = bind_profiles(study_file(file), chosen, settings);
  for (Study& study : studies) study.given = file;
  return *std::find_if(studies.begin(), studies.end(), [&](const Study& study) { return study.profile == chosen; });
}

std::vector<Study> load_profiles(const std::string& file) {
  std::string chosen = base_profile;
  std::vector<Study> studies = bind_profiles(study_file(file), chosen, {});
  for (Study& study : studies) study.given = file;
  return studies;
}

Study stored_study(const std::string& resolved, const std::string& run) {
  std::string chosen = base_profile;
  std::vector<Study> studies = bind_profiles(parse_toml(resolved, run, false), run, chosen, {});
  Study study = std::move(studies.front());
  study.profile = run.substr(0, run.find('+'));
  study.run = run;
  return study;
}

std::vector<const PlannedTrial*> distinct_trials(const Study& study) {
  std::vector<const PlannedTrial*> trials;
  std::set<std::string> ids;
  for (const PlannedTrial& trial : study.trials)
    if (ids.insert(trial.id).second) trials.push_back(&trial);
  return trials;
}

}  // namespace headroom::experiments
