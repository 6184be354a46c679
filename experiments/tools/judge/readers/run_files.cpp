#include "experiments/tools/judge/readers/run_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "engine/error.h"
#include "experiments/tools/judge/readers/json_leaves.h"
#include "experiments/tools/judge/readers/logs.h"
#include "models/files/entries_of.h"
#include "models/files/regular_file.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

bool ends_with_any(const std::string& name, std::initializer_list<const char*> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](const char* end) { return name.ends_with(end); });
}

/// Whether a file's first line is an operation of Optuna's journal, whose name may be anything.
bool is_journal(const fs::path& file) {
  try {
    std::string head(256, '\0');
    head.resize(models::RegularFile(file).read(head.data(), head.size()));
    return head.starts_with("{") && head.substr(0, head.find('\n')).find("\"op_code\":") != std::string::npos;
  } catch (const Error&) {
    return false;  // whoever reads it says why it cannot be read
  }
}

FileSort sort_of_file(const fs::path& file) {
  const std::string name = file.filename().string();
  if (is_journal(file)) return FileSort::journal;
  if (name.find("tfevents") != std::string::npos) return FileSort::events;
  if (name.ends_with(".wandb")) return FileSort::wandb;
  if (ends_with_any(name, {".sqlite", ".sqlite3", ".db"})) return FileSort::database;
  if (name.starts_with("results_") && name.ends_with(".json")) return FileSort::harness;
  const bool is_table = ends_with_any(
      name, {".csv", ".tsv", ".csv.gz", ".tsv.gz", ".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz"});
  return is_table ? FileSort::table : FileSort::none;
}

/// Of tables in the folder of a Hydra run those that are called metrics, if there are any.
void keep_metrics(std::vector<RunFile>& files) {
  const auto is_metrics = [](const RunFile& file) { return file.path.filename().string().starts_with("metrics"); };
  if (std::any_of(files.begin(), files.end(), is_metrics))
    std::erase_if(files, [&](const RunFile& file) { return !is_metrics(file); });
}

void add_folder(const fs::path& path, int depth, std::vector<RunFile>& out, std::vector<std::string>& problems) {
  std::error_code none;
  if (fs::is_regular_file(path / "meta.yaml", none) && fs::is_directory(path / "metrics", none))
    return out.push_back({path, FileSort::mlflow});
  constexpr int deepest = 12;
  if (depth == deepest) return problems.push_back(fmt::format("{}: left out, as it is nested too deep", path.string()));
  std::vector<fs::path> folders;
  std::vector<RunFile> files;
  FileSort most = FileSort::none;
  for (const fs::path& entry : models::entries_of(path)) {
    if (entry.filename().string().starts_with(".") || fs::is_symlink(entry, none)) continue;
    if (fs::is_directory(entry, none)) {
      folders.push_back(entry);
    } else {
      files.push_back({entry, sort_of_file(entry)});
      most = std::max(most, files.back().sort);
    }
  }
  std::erase_if(files, [&](const RunFile& file) { return file.sort != most || most == FileSort::none; });
  if (most == FileSort::table && fs::is_directory(path / ".hydra", none)) keep_metrics(files);
  constexpr size_t most_files = 20000;
  require(out.size() + files.size() <= most_files, "{}: more than {} files; name fewer", path.string(), most_files);
  out.insert(out.end(), files.begin(), files.end());
  if (most == FileSort::wandb || most == FileSort::journal || most == FileSort::database) return;
  for (const fs::path& folder : folders) add_folder(folder, depth + 1, out, problems);
}

}  // namespace

std::vector<RunFile> run_files(const fs::path& path, std::vector<std::string>& problems) {
  std::error_code none;
  if (!fs::is_directory(path, none)) return {{path, std::max(sort_of_file(path), FileSort::table)}};
  std::vector<RunFile> files;
  add_folder(path, 0, files, problems);
  return files;
}

std::map<std::string, std::string> settings_in(const fs::path& path) {
  std::map<std::string, std::string> settings;
  for (const fs::path& part : path.parent_path()) {
    std::istringstream items(part.string());
    for (std::string item; std::getline(items, item, ',');)
      if (const size_t equals = item.find('='); equals != std::string::npos && equals > 0)
        settings[item.substr(0, equals)] = item.substr(equals + 1);
  }
  return settings;
}

std::map<std::string, std::string> hydra_settings(const fs::path& path, std::vector<std::string>& problems) {
  constexpr int most_levels = 5;  // a logger's folders lie between a run's folder and its files
  std::error_code none;
  fs::path folder = path;
  for (int level = 0; !fs::is_regular_file(folder / ".hydra/config.yaml", none); ++level) {
    if (level == most_levels || !folder.has_relative_path()) return {};
    folder = folder.parent_path();
  }
  std::map<std::string, std::string> settings;
  attempt(problems, [&] {
    each_leaf(read_yaml(folder / ".hydra/config.yaml"), "",
              [&](const std::string& key, std::string text) { settings[key] = std::move(text); });
  });
  attempt(problems, [&] {
    const ForeignJson overrides = read_yaml(folder / ".hydra/overrides.yaml");
    if (!overrides.is_array()) return;
    for (const ForeignJson& override : overrides) {
      if (!override.is_string()) continue;
      const auto text = override.get<std::string>();
      const size_t begin = text.find_first_not_of('+'), equals = text.find('=');
      if (text.starts_with("~") || equals == std::string::npos || begin >= equals) continue;
      settings.emplace(text.substr(begin, equals - begin), text.substr(equals + 1));
    }
  });
  return settings;
}

}  // namespace headroom::experiments
