#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace headroom::experiments {

/// Kinds of files and folders that hold runs. Where several lie in one folder the last kind counts: tables next to a
/// logger's own files are summaries of them.
enum class FileSort { none, table, harness, events, wandb, journal, database, mlflow };

/// A file or folder of runs.
struct RunFile {
  std::filesystem::path path;
  FileSort sort;
};

/// The files of runs at a path and below it, in order of their names. Problems name what lies too deep. Throws Error
/// for too many files.
std::vector<RunFile> run_files(const std::filesystem::path& path, std::vector<std::string>& problems);

/// Settings that a path states: "optimizer=adamw,lr=1e-3/seed=1" names three; the folder alone is "folder".
std::map<std::string, std::string> settings_in(const std::filesystem::path& path);

/// Settings of the Hydra run that a file or folder lies in, whose .hydra/ has config.yaml and overrides.yaml: keys with
/// dots, and config groups by what was chosen of them.
std::map<std::string, std::string> hydra_settings(const std::filesystem::path& path,
                                                  std::vector<std::string>& problems);

}  // namespace headroom::experiments
