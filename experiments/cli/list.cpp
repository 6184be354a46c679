#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "engine/error.h"
#include "experiments/cli/commands.h"
#include "experiments/config/shipped_files.h"
#include "experiments/config/study.h"
#include "experiments/run/rounds.h"

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

void list_studies(const std::string& given) {
  const std::string folder = shipped_file(given).string();
  require(std::filesystem::is_directory(folder), "'{}': is no folder; name the one that holds the studies", folder);
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".toml") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  require(!files.empty(), "{}: holds no study (*.toml)", folder);
  std::vector<std::string> problems;
  for (const std::string& file : files) {
    try {
      const std::vector<Study> profiles = load_profiles(file);
      fmt::print("{}\n  {}\n  {}\n", file, profiles[0].head.title, trials_text(profiles));
    } catch (const ConfigError& error) {
      problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    } catch (const Error& error) {
      problems.emplace_back(error.what());
    }
  }
  if (!problems.empty()) throw ConfigError(std::move(problems));
}

}  // namespace

void add_list_command(Command app) {
  const Command command = app.command("list", "the studies of a folder: title, profiles, trials");
  const auto folder = std::make_shared<std::string>("experiments");
  command
      .option("DIR", *folder,
              "folder of study files; experiments means the installed ones where there is no such folder")
      .show_default();
  command.action([folder] { list_studies(*folder); });
}

}  // namespace headroom::experiments
