#include "experiments/program/command_line/completion_values.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "engine/error.h"
#include "experiments/studies/config/metrics.h"
#include "experiments/studies/config/schema.h"
#include "experiments/studies/config/shipped_files.h"
#include "experiments/studies/config/study.h"
#include "experiments/studies/toml/document.h"
#include "tasks/data/manifest.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;
using Files = Candidates::Files;

/// A TOML file's table; an empty one for what cannot be read, as nobody wants an error for a press of a key.
Value table_of(const fs::path& file) {
  try {
    return read_toml(file.string());
  } catch (const Error&) {
    return {};
  }
}

std::string title_of(const Value& file) {
  const Entry* study = file.find("study");
  const Entry* title = study != nullptr ? study->value.find("title") : nullptr;
  return title != nullptr ? title->value.text : "";
}

/// The files that the words of a command line mean as studies.
std::vector<fs::path> files_of(const std::vector<std::string>& words) {
  std::vector<fs::path> files;
  for (const std::string& word : words) {
    try {
      files.push_back(study_file(word));
    } catch (const Error&) {
      // No study: another argument, or one that is misspelt.
    }
  }
  return files;
}

std::vector<Candidate> studies() {
  std::vector<Candidate> found;
  for (const ShippedStudy& study : shipped_studies()) found.push_back({study.id, title_of(table_of(study.file))});
  return found;
}

/// Those of the studies that are named, or of every study where none is.
std::vector<Candidate> profiles(const CompletionContext& context) {
  std::vector<fs::path> files = files_of(context.studies);
  if (files.empty())
    for (const ShippedStudy& study : shipped_studies()) files.push_back(study.file);
  std::set<std::string> names{base_profile};
  for (const fs::path& file : files) {
    const Value table = table_of(file);
    if (const Entry* profiles = table.find("profile"))
      for (const Entry& profile : profiles->value.table) names.insert(profile.key);
  }
  std::vector<Candidate> found;
  for (const std::string& name : names) found.push_back({name, ""});
  return found;
}

std::vector<Candidate> metrics(const CompletionContext& context) {
  std::set<std::string> names;
  for (const fs::path& file : files_of(context.studies)) {
    try {
      for (const PlannedTrial& trial :
           load_study(file.string(), context.profile.empty() ? base_profile : context.profile).trials)
        names.merge(metric_names(trial.config));
    } catch (const Error&) {
      // A file that no run would take either.
    }
  }
  std::vector<Candidate> found;
  for (const std::string& name : names) found.push_back({name, ""});
  return found;
}

/// "KEY=" for every key that a study may have, and behind a key that names a metric the study's metrics.
std::vector<Candidate> settings(const CompletionContext& context, const std::string& begun) {
  std::vector<Candidate> found;
  const size_t equals = begun.find('=');
  const std::string path = begun.substr(0, equals);
  if (equals != std::string::npos) {
    if (path.ends_with("metric"))
      for (const Candidate& metric : metrics(context)) found.push_back({path + "=" + metric.word, ""});
    return found;
  }
  std::set<std::string> seen;
  for (const Key& key : study_schema())
    if (key.type != Key::Type::table && key.type != Key::Type::others && seen.insert(key.path).second)
      found.push_back({key.path + "=", key.doc});
  return found;
}

/// STUDY/PROFILE of every store under runs/.
std::vector<Candidate> runs() {
  std::vector<Candidate> found;
  std::error_code error;
  for (fs::recursive_directory_iterator entry("runs", error), end; !error && entry != end; entry.increment(error)) {
    if (entry.depth() >= 2) entry.disable_recursion_pending();
    if (entry.depth() == 2 && entry->path().filename() == "store.sqlite")
      found.push_back({fs::relative(entry->path().parent_path(), "runs", error).string(), ""});
  }
  return found;
}

std::vector<Candidate> workloads() {
  std::vector<Candidate> found;
  for (const Entry& entry : table_of(shipped_file("experiments/tools/bench/workloads.toml")).table)
    if (entry.key != "defaults") found.push_back({entry.key, ""});
  return found;
}

std::vector<Candidate> data_sets() {
  std::vector<Candidate> found;
  for (const tasks::DataSet& set : tasks::built_in_manifest()) found.push_back({set.name, set.title});
  return found;
}

bool is_one_of(const std::string& word, const std::vector<std::string>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

Candidates values_of(const ArgumentDescription& argument, const CompletionContext& context, const std::string& begun) {
  const std::string& name = argument.names.back();
  if (!argument.choices.empty()) {
    Candidates found;
    for (const std::string& choice : argument.choices) found.words.push_back({choice, ""});
    return found;
  }
  if (name == "STUDY") return {studies(), Files::toml};
  if (is_one_of(name, {"RUN", "A", "B"})) return {runs(), Files::none};
  if (name == "--profile") return {profiles(context), Files::none};
  if (name == "--metric") return {metrics(context), Files::none};
  if (name == "--set") return {settings(context, begun), Files::none};
  if (name == "--device") return {{{"cpu", ""}, {"cuda", ""}}, Files::none};
  if (name == "workload") return {workloads(), Files::none};
  if (name == "NAME" && context.command.starts_with("data ")) return {data_sets(), Files::none};
  if (is_one_of(name, {"DIR", "--dir", "--data"}) || argument.value == "FOLDER" ||
      (name == "--out" && argument.fallback == "runs"))
    return {{}, Files::folders};
  if (argument.is_positional() || is_one_of(argument.value, {"TEXT", "FILE", "OUT", "PAGE", "PATH"}))
    return {{}, Files::any};
  return {};
}

}  // namespace headroom::experiments
