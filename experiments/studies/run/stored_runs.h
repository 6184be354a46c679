#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headroom::experiments {

/// A study's run under one profile: the folder OUT/STUDY/PROFILE, which holds a store.
struct StoredRun {
  std::string study, profile;  ///< the folders' names
  std::filesystem::path folder;

  /// "STUDY/PROFILE".
  std::string name() const { return study + "/" + profile; }
  std::filesystem::path store() const { return folder / "store.sqlite"; }
};

/// Every run under `out`, in the order of their names; none where there is no such folder.
std::vector<StoredRun> stored_runs(const std::filesystem::path& out);

/// The run that `name` means: STUDY or STUDY/PROFILE under `out`, or the path of a run's folder, of its store, or of a
/// study's folder with one run. Throws Error when there is none, and when a study has runs under several profiles.
StoredRun find_run(const std::string& name, const std::filesystem::path& out);

/// What a run takes on disk.
struct RunSize {
  int64_t files = 0;
  uint64_t bytes = 0;
};
RunSize size_of(const StoredRun& run);

/// Throws Error with the target where the run's folder is a link: it would go and the trials stay.
void check_no_link(const StoredRun& run);

/// Deletes a run's folder with everything in it, and the study's folder where it is empty then. Throws Error, and
/// deletes nothing, while a process uses the store. A damaged store goes, too.
void remove_run(const StoredRun& run);

}  // namespace headroom::experiments
