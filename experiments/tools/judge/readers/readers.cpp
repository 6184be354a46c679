#include "experiments/tools/judge/readers/readers.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/error.h"
#include "experiments/tools/judge/readers/logs.h"
#include "experiments/tools/judge/readers/table.h"
#include "models/files/entries_of.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

bool ends_with_any(const std::string& name, std::initializer_list<const char*> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](const char* end) { return name.ends_with(end); });
}

bool is_csv(const std::string& name) { return ends_with_any(name, {".csv", ".tsv", ".csv.gz", ".tsv.gz"}); }
bool is_json(const std::string& name) {
  return ends_with_any(name, {".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz"});
}

/// What a name says of a file.
enum class FileSort { none, table, events, wandb, database };
FileSort sort_of_file(const std::string& name) {
  if (name.find("tfevents") != std::string::npos) return FileSort::events;
  if (name.ends_with(".wandb")) return FileSort::wandb;
  if (ends_with_any(name, {".sqlite", ".sqlite3", ".db"})) return FileSort::database;
  return is_csv(name) || is_json(name) ? FileSort::table : FileSort::none;
}

/// Collects the files of runs under some paths, in order of their names. Where a logger's own file lies, what else lies
/// there is a summary of it.
class RunFiles {
 public:
  void add(const fs::path& path, int depth = 0) {
    std::error_code none;
    if (!fs::is_directory(path, none)) {
      const FileSort sort = sort_of_file(path.filename().string());
      return take(path, sort == FileSort::none ? FileSort::table : sort);
    }
    if (fs::is_regular_file(path / "meta.yaml", none) && fs::is_directory(path / "metrics", none))
      return mlflow.push_back(path);
    constexpr int deepest = 12;
    if (depth == deepest) return problems.push_back(fmt::format("{}: lies too deep and is left out", path.string()));
    std::vector<fs::path> folders, files;
    FileSort most = FileSort::none;
    for (const fs::path& entry : models::entries_of(path)) {
      if (entry.filename().string().starts_with(".") || fs::is_symlink(entry, none)) continue;
      (fs::is_directory(entry, none) ? folders : files).push_back(entry);
      if (!fs::is_directory(entry, none)) most = std::max(most, sort_of_file(entry.filename().string()));
    }
    for (const fs::path& file : files)
      if (most != FileSort::none && sort_of_file(file.filename().string()) == most) take(file, most);
    if (most == FileSort::wandb || most == FileSort::database) return;
    for (const fs::path& folder : folders) add(folder, depth + 1);
  }

  std::vector<fs::path> tables, wandb, databases, mlflow;
  std::map<fs::path, std::vector<fs::path>> events;  ///< by folder
  std::vector<std::string> problems;

 private:
  void take(const fs::path& path, FileSort sort) {
    constexpr size_t most_files = 20000;
    require(++count_ <= most_files, "{}: more than {} files; name fewer", path.string(), most_files);
    if (sort == FileSort::events) events[path.parent_path()].push_back(path);
    else (sort == FileSort::wandb ? wandb : sort == FileSort::database ? databases : tables).push_back(path);
  }

  size_t count_ = 0;
};

/// A run for each folder of event files. HParams lie in a folder of their own below their run's.
std::vector<ForeignRun> read_event_folders(const RunFiles& files, std::vector<std::string>& problems) {
  std::map<fs::path, ForeignRun> runs;
  for (const auto& [folder, events] : files.events) {
    ForeignRun& run = runs[folder];
    run.source = folder.string();
    for (const fs::path& file : events) {
      attempt(problems, [&] { read_event_file(file, run, problems); });
    }
  }
  std::vector<ForeignRun> out;
  for (auto& [folder, run] : runs) {
    if (const auto parent = runs.find(folder.parent_path()); parent != runs.end() && !run.parameters.empty()) {
      parent->second.parameters.merge(run.parameters);
      parent->second.metrics.merge(run.metrics);
      if (run.end != RunEnd::finished) parent->second.end = run.end, parent->second.said = run.said;
      run.source.clear();
    }
  }
  for (auto& [folder, run] : runs)
    if (!run.source.empty()) out.push_back(std::move(run));
  return out;
}

}  // namespace

std::map<std::string, std::string> settings_in(const fs::path& path) {
  std::map<std::string, std::string> settings;
  for (const fs::path& part : path.parent_path()) {
    const std::string text = part.string();
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find(',', at), text.size()), equals = text.find('=', at);
      if (equals > at && equals < end)
        settings[text.substr(at, equals - at)] = text.substr(equals + 1, end - equals - 1);
      at = end + 1;
    }
  }
  return settings;
}

ForeignRuns read_runs(const std::vector<std::string>& paths, const RunRoles& roles) {
  RunFiles files;
  for (const std::string& path : paths) {
    std::error_code none;
    require(fs::exists(path, none), "{}: there is no such file or folder", path);
    files.add(path);
  }
  ForeignRuns all{.runs = {}, .problems = files.problems};
  const auto add = [&](std::vector<ForeignRun> some) {
    for (ForeignRun& run : some) {
      run.parameters.merge(settings_in(run.source + "/"));
      all.runs.push_back(std::move(run));
    }
  };
  for (const fs::path& file : files.tables) {
    RunTable table =
        is_json(file.filename().string()) ? read_json_lines(file, all.problems) : read_csv(file, all.problems);
    table.parameters = settings_in(file);
    if (files.tables.size() > 1) table.parameters.emplace("file", file.string());
    ForeignRuns some = runs_of(table, roles);
    add(std::move(some.runs));
    std::move(some.problems.begin(), some.problems.end(), std::back_inserter(all.problems));
  }
  attempt(all.problems, [&] { add(read_event_folders(files, all.problems)); });
  for (const fs::path& file : files.wandb) attempt(all.problems, [&] { add({read_wandb_file(file, all.problems)}); });
  for (const fs::path& folder : files.mlflow)
    attempt(all.problems, [&] { add({read_mlflow_folder(folder, all.problems)}); });
  for (const fs::path& file : files.databases)
    attempt(all.problems, [&] { add(read_sqlite_runs(file, all.problems)); });
  return all;
}

}  // namespace headroom::experiments
