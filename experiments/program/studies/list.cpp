#include <fmt/core.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "engine/error.h"
#include "engine/parallel.h"
#include "experiments/output/text.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/studies/config/shipped_files.h"
#include "experiments/studies/config/study.h"
#include "experiments/studies/run/rounds.h"

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

/// What is shown of one file, or what is wrong with it.
struct Listed {
  std::string text;
  std::vector<std::string> problems;
};

Listed listed(const std::string& file) {
  try {
    const std::vector<Study> profiles = load_profiles(file);
    return {fmt::format("{}\n  {}\n  {}\n", file, profiles[0].head.title, trials_text(profiles)), {}};
  } catch (const ConfigError& error) {
    return {"", error.problems()};
  } catch (const Error& error) {
    return {"", {error.what()}};
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
  for (const Listed& study : studies) {
    fmt::print("{}", clean(study.text));
    problems.insert(problems.end(), study.problems.begin(), study.problems.end());
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
