#include <fmt/format.h>

#include <sstream>

#include "engine/error.h"
#include "experiments/tools/judge/readers/logs.h"
#include "models/files/entries_of.h"
#include "models/files/regular_file.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

/// Files below a folder with their names from there, which MLflow nests where a key has slashes.
std::vector<std::pair<std::string, fs::path>> keys_in(const fs::path& folder) {
  std::vector<std::pair<std::string, fs::path>> keys;
  std::vector<fs::path> folders{folder};
  constexpr size_t most_folders = 1000;
  for (size_t i = 0; i < folders.size() && i < most_folders; ++i)
    for (const fs::path& entry : models::entries_if_any(fs::path(folders[i]))) {
      std::error_code none;
      if (fs::is_symlink(entry, none)) continue;
      if (fs::is_directory(entry, none)) folders.push_back(entry);
      else keys.emplace_back(entry.lexically_relative(folder).generic_string(), entry);
    }
  return keys;
}

}  // namespace

ForeignRun read_mlflow_folder(const fs::path& folder, std::vector<std::string>& problems) {
  constexpr models::FileKind kind{"file of MLflow", uint64_t{1} << 26, false};
  ForeignRun run{.source = folder.string(), .parameters = {}, .metrics = {}};
  for (const auto& [key, file] : keys_in(folder / "params"))
    attempt(problems, [&, &key = key, &file = file] { run.parameters[key] = models::read_file(file, kind); });
  for (const auto& [key, file] : keys_in(folder / "metrics"))
    attempt(problems, [&, &key = key, &file = file] {
      std::istringstream lines(models::read_file(file, kind));  // "timestamp value step"
      int64_t left_out = 0;
      for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string time, value, step;
        words >> time >> value >> step;
        const auto number = foreign_number(value), at = foreign_number(step);
        if (number && at && *at >= 0 && *at < 9e15 && !lines.eof())
          run.metrics[key][static_cast<int64_t>(*at)] = *number;
        else ++left_out;
      }
      if (left_out > 0) problems.push_back(fmt::format("{}: {} of its lines are not whole", file.string(), left_out));
    });
  attempt(problems, [&] {
    std::istringstream lines(models::read_file(folder / "meta.yaml", kind));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("run_name: ")) run.parameters["run_name"] = line.substr(10);
      if (!line.starts_with("status: ") || line == "status: 3" || line == "status: FINISHED") continue;
      const std::string status = line.substr(8);
      const bool is_running = status == "1" || status == "2" || status == "RUNNING" || status == "SCHEDULED";
      run.end = is_running ? RunEnd::running : RunEnd::failed;
      run.said = "status " + status;
    }
  });
  return run;
}

}  // namespace headroom::experiments
