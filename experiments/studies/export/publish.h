#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headroom::experiments {

/// What a file of published trials holds, and what it came to.
struct Published {
  std::string run;  ///< "STUDY/PROFILE"
  std::filesystem::path file;
  int64_t trials = 0;    ///< written, or added to the store
  int64_t left_out = 0;  ///< of the store, as their ids are of another version of the training code
  int64_t there = 0;     ///< of the file, that the store had
};

/// Writes FOLDER/STUDY/PROFILE.jsonl.gz (published.h) for every run under `out`, or for those of the given studies
/// (ids). Without `is_whole` only what findings and claims need (PublishedRun). Throws Error when there is no such run,
/// a store is damaged, or a file cannot be written.
std::vector<Published> export_trials(const std::filesystem::path& out, const std::vector<std::string>& studies,
                                     const std::filesystem::path& folder, bool is_whole);

/// Puts the trials of a file, or of every .jsonl.gz of a folder and the folders in it, into the stores
/// OUT/STUDY/PROFILE, a transaction per file. Finished trials that a store has stay. Its plan stays too, where it has
/// one. All files are read and checked before the first is taken over. Throws Error "FILE:LINE: …" when one is not as
/// it should be.
std::vector<Published> import_trials(const std::vector<std::string>& paths, const std::filesystem::path& out);

}  // namespace headroom::experiments
