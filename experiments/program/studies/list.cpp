#include <fmt/core.h>
#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "engine/parallel.h"
#include "experiments/output/text.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/studies/config/schema.h"
#include "experiments/studies/config/shipped_files.h"
#include "experiments/studies/config/study.h"
#include "experiments/studies/run/rounds.h"
#include "experiments/studies/toml/complaints.h"

namespace headroom::experiments {
namespace {

/// "paper: 81 trials, quick: 27, smoke: 12"
std::string trials_text(const std::vector<Study>& profiles) {
  std::string text;
  for (const Study& study : profiles) {
    const size_t first = distinct_trials(study).size(), most = largest_plan(study).size();
    text += fmt::format("{}{}: {}{}{}", text.empty() ? "" : ", ", study.profile, first,
                        most > first ? fmt::format(" to {}", most) : "", text.empty() ? " trials" : "");
  }
  return text;
}

/// The groups of studies, by what they work on.
constexpr const char* groups[] = {
    "Heads of models that are trained on targets of a known rule:", "Heads of models that are trained on texts:",
    "Heads of trained models:", "What the theory says, computed:"};

size_t group_of(const Study& study) {
  const tasks::TaskConfig& task = study.trials.front().config.task;
  return tasks::trains(task) ? (tasks::reads_data(task) ? 1 : 0) : (tasks::reads_data(task) ? 2 : 3);
}

/// One file's entry and its group, or its problem.
struct Listed {
  size_t group = 0;
  std::string text;
  std::vector<std::string> problems;
};

Listed listed(const std::string& file) {
  try {
    const std::vector<Study> profiles = load_profiles(file);
    const StudyInfo& head = profiles[0].head;
    return {group_of(profiles[0]),
            fmt::format("  {}\n      {}\n      {}\n", file,
                        one_line(head.question.empty() ? head.title : head.question), trials_text(profiles)),
            {}};
  } catch (const ConfigError& error) {
    return {0, "", error.problems()};
  } catch (const Error& error) {
    return {0, "", {error.what()}};
  }
}

void list_studies(const std::string& given) {
  const std::filesystem::path folder = shipped_file(given);
  require(std::filesystem::is_directory(folder), "'{}': is no folder; name the one that holds the studies",
          folder.string());
  const std::vector<std::filesystem::path> files = toml_files(folder);
  require(!files.empty(), "{}: holds no study (*.toml)", folder.string());
  std::vector<Listed> studies(files.size());
  engine::parallel_for(std::ssize(files), [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    studies[at] = listed(files[at].string());
  });
  std::vector<std::string> problems;
  bool is_first = true;
  for (size_t group = 0; group < std::size(groups); ++group) {
    std::string text;
    for (const Listed& study : studies)
      if (study.group == group) text += study.text;
    if (!text.empty()) print_text("{}{}\n{}", std::exchange(is_first, false) ? "" : "\n", groups[group], text);
  }
  for (const Listed& study : studies) problems.insert(problems.end(), study.problems.begin(), study.problems.end());
  if (!problems.empty()) throw ConfigError(std::move(problems));
}

void show_schema(const std::string& under, bool is_json) {
  constexpr size_t columns_of_a_log = 100;
  const Schema& schema = study_schema();
  if (is_json) {
    require(under.empty(), "--json covers all keys; omit {}", excerpt(under));
    return fmt::print("{}", schema_json(schema));
  }
  std::set<std::string> paths;
  for (const Key& key : schema) paths.insert(key.path);
  if (!under.empty() && !paths.contains(under)) {
    const std::string near = nearest_path(under, paths);
    fail("{}: is no table or key of a study{}", excerpt(under),
         near.empty() ? "" : fmt::format(" (did you mean {}?)", near));
  }
  const size_t columns = output_columns();
  print_text("{}", schema_text(schema, under, columns > 0 ? columns : columns_of_a_log));
}

}  // namespace

void add_list_commands(Command app) {
  const auto folder = std::make_shared<std::string>("experiments"), key = std::make_shared<std::string>();
  const auto is_json = std::make_shared<bool>(false);
  const Command list = app.command("list", "list studies: their questions, profiles and numbers of trials");
  list.option("DIR", *folder,
              "folder of study files (default: experiments, or the installed ones if there is no such folder)");
  list.action([folder] { list_studies(*folder); });
  const Command schema = app.command("schema", "every key that a study file may have");
  schema.option("KEY", *key, "a table, or a key with those below it: train, report.y (default: all)");
  schema.flag("--json", *is_json, "as JSON Schema, for editors");
  schema.action([key, is_json] { show_schema(*key, *is_json); });
}

}  // namespace headroom::experiments
