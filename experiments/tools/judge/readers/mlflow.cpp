#include <fmt/format.h>

#include <limits>
#include <sstream>

#include "engine/error.h"
#include "experiments/studies/run/store/database.h"
#include "experiments/tools/judge/readers/json_leaves.h"
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
    const ForeignJson meta = read_yaml(folder / "meta.yaml");
    const auto text = [&](const char* key) {
      const auto found = meta.is_object() ? meta.find(key) : meta.end();
      return found != meta.end() && found->is_string() ? found->get<std::string>() : "";
    };
    if (const std::string name = text("run_name"); !name.empty()) run.parameters["run_name"] = name;
    run.began = 1e-3 * foreign_number(text("start_time")).value_or(0);
    run.ended = 1e-3 * foreign_number(text("end_time")).value_or(0);
    const std::string status = text("status");
    constexpr const char* words[] = {"", "RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED"};
    const auto number = foreign_number(status);
    const bool is_number = number && *number >= 1 && *number < static_cast<double>(std::size(words));
    run.said = "status " + status;
    run.end = end_named(is_number ? words[static_cast<size_t>(*number)] : status);
  });
  return run;
}

std::vector<ForeignRun> read_mlflow_database(const Database& database) {
  std::map<std::string, ForeignRun> runs;
  for (Statement s(database,
                   "SELECT run_uuid, status, name, start_time, end_time FROM runs WHERE lifecycle_stage = 'active'");
       s.step();) {
    ForeignRun& run = runs[s.text(0)];
    run.source = fmt::format("{}:{}", database.path().string(), s.text(0));
    run.said = s.text(1);
    run.end = end_named(run.said);
    run.parameters["run_name"] = s.text(2);
    run.began = 1e-3 * static_cast<double>(s.integer(3));
    run.ended = 1e-3 * static_cast<double>(s.integer(4));
  }
  for (Statement s(database, "SELECT run_uuid, key, value FROM params"); s.step();)
    if (const auto run = runs.find(s.text(0)); run != runs.end()) run->second.parameters[s.text(1)] = s.text(2);
  for (Statement s(database, "SELECT run_uuid, key, step, value, is_nan FROM metrics ORDER BY timestamp"); s.step();)
    if (const auto run = runs.find(s.text(0)); run != runs.end() && s.integer(2) >= 0)
      run->second.metrics[s.text(1)][s.integer(2)] =
          s.integer(4) ? std::numeric_limits<double>::quiet_NaN() : s.real(3);
  std::vector<ForeignRun> out;
  for (auto& [id, run] : runs) out.push_back(std::move(run));
  return out;
}

}  // namespace headroom::experiments
