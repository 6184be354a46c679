#include "experiments/studies/export/publish.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "engine/error.h"
#include "experiments/studies/config/trial_config.h"
#include "experiments/studies/export/export.h"
#include "experiments/studies/export/published.h"
#include "experiments/studies/run/store.h"
#include "experiments/version.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

constexpr const char* ending = ".jsonl.gz";

Published export_run(const StoredRun& run, const fs::path& folder, bool is_whole) {
  const RunStore store(run.store(), RunStore::Access::read);
  say_faults(store);
  Published done{run.name(), folder / run.study / (run.profile + ending)};
  std::set<std::string> ids;
  store.each_outcome([&](TrialRecord&& trial) {
    if (trial_id_of(trial.config) == trial.id) ids.insert(trial.id);
    else ++done.left_out;
  });
  done.trials = std::ssize(ids);
  PublishedRun head{store.facts(), run.study, run.profile, version()};
  head.is_whole = is_whole;
  PublishedWriter writer(done.file, std::move(head), ids);
  store.each([&](TrialRecord&& trial) {
    if (ids.contains(trial.id)) writer.add(trial);
  });
  writer.commit();
  return done;
}

/// The files of published trials in a folder and the folders in it, in the order of their names.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code none;
    const std::string name = entry->path().filename().string();
    if (name.starts_with(".") && entry->is_directory(none)) entry.disable_recursion_pending();
    if (name.ends_with(ending) && !name.starts_with(".") && !entry->is_directory(none)) files.push_back(entry->path());
  }
  require(!error, "{}: cannot be read: {}", folder.string(), error.message());
  require(!files.empty(), "{}: holds no {} file; 'headroom export trials --to FOLDER' writes them", folder.string(),
          ending);
  std::sort(files.begin(), files.end());
  return files;
}

/// Reads a file to its end, so that what is wrong with it shows before anything is written.
PublishedRun read_through(const fs::path& file) {
  PublishedReader reader(file);
  for (TrialRecord trial; reader.next(trial);) continue;
  return reader.run();
}

Published import_file(const fs::path& file, const PublishedRun& head, const fs::path& out) {
  Published done{head.study + "/" + head.profile, file};
  RunStore store(out / head.study / head.profile / "store.sqlite");
  const auto each_trial = [&](const RunStore::TakeTrial& take) {
    PublishedReader reader(file);
    for (TrialRecord trial; reader.next(trial);) take(trial);
  };
  std::tie(done.trials, done.there) = store.take_over(head, each_trial);
  return done;
}

}  // namespace

std::vector<Published> export_trials(const fs::path& out, const std::vector<std::string>& studies,
                                     const fs::path& folder, bool is_whole) {
  std::vector<Published> all;
  for (const StoredRun& run : runs_of_studies(out, studies)) all.push_back(export_run(run, folder, is_whole));
  return all;
}

std::vector<Published> import_trials(const std::vector<std::string>& paths, const fs::path& out) {
  std::vector<fs::path> files;
  for (const std::string& path : paths) {
    std::error_code none;
    if (!fs::is_directory(path, none)) files.emplace_back(path);
    else
      for (fs::path& file : files_below(path)) files.push_back(std::move(file));
  }
  std::vector<PublishedRun> heads;
  for (const fs::path& file : files) heads.push_back(read_through(file));
  std::vector<Published> all;
  for (size_t i = 0; i < files.size(); ++i) all.push_back(import_file(files[i], heads[i], out));
  return all;
}

}  // namespace headroom::experiments
