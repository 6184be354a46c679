#include "experiments/studies/run/stored_runs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/studies/run/store.h"
#include "models/files/entries_of.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

StoredRun run_in(const fs::path& folder) {
  std::error_code error;
  const fs::path whole = fs::canonical(folder, error);
  const fs::path& place = error ? folder : whole;
  return {place.parent_path().filename().string(), place.filename().string(), folder};
}

bool has_store(const fs::path& folder) {
  return RunStore::exists(folder / "store.sqlite");  // also what is no file: whoever opens it says so
}

/// Throws Error when another process has the store open: only then can SQLite not leave its write-ahead log. A page
/// that is being shown reads it for moments, which are waited for.
void check_unused(const StoredRun& run) {
  std::string problem;
  for (int tries = 0; tries < 20; ++tries) {
    try {
      Database database(run.store(), true);
      database.run("PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE");
      return;
    } catch (const Error& error) {
      problem = error.what();
      if (problem.find("locked") == std::string::npos) return;  // damaged: nobody can use it
    }
    usleep(100000);
  }
  fail("{}: a process uses its store; stop that one first", run.name());
}

std::optional<Lease> living_lease(const StoredRun& run) {
  try {
    for (Lease& lease : RunStore(run.store(), RunStore::Access::read).leases())
      if (is_alive(lease)) return std::move(lease);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): a damaged store may be deleted
  }
  return std::nullopt;
}

}  // namespace

std::vector<StoredRun> stored_runs(const fs::path& out) {
  std::vector<StoredRun> runs;
  for (const fs::path& study : models::visible_folders(out))
    for (const fs::path& profile : models::visible_folders(study))
      if (has_store(profile)) runs.push_back({study.filename().string(), profile.filename().string(), profile});
  return runs;
}

StoredRun find_run(const std::string& name, const fs::path& out) {
  require(!name.empty(), "a run's name is empty");
  const fs::path path = name;
  if (path.filename() == "store.sqlite" && has_store(path.parent_path()))
    return run_in(path.has_parent_path() ? path.parent_path() : fs::path("."));
  const std::vector<StoredRun> runs = stored_runs(out);
  std::vector<StoredRun> found;
  for (const StoredRun& run : runs) {
    if (run.name() == name) return run;
    if (run.study == name) found.push_back(run);
  }
  const auto names_of = [](const std::vector<StoredRun>& some) {
    std::vector<std::string> names;
    for (const StoredRun& run : some) names.push_back(run.name());
    return names;
  };
  if (found.size() == 1) return found[0];
  require(found.empty(), "'{}' has several runs: {}; name one of them", name, fmt::join(names_of(found), ", "));
  if (has_store(path)) return run_in(path);
  std::vector<fs::path> profiles = models::visible_folders(path);  // of a study's folder that was copied elsewhere
  std::erase_if(profiles, [](const fs::path& profile) { return !has_store(profile); });
  if (profiles.size() == 1) return run_in(profiles[0]);
  require(!runs.empty(), "{}: there is no run store", out.string());
  constexpr size_t most = 20;
  std::vector<std::string> names = names_of(runs);
  names.resize(std::min(names.size(), most));
  fail("'{}': {} has no such run; there {} {}{}", excerpt(name), out.string(), runs.size() == 1 ? "is" : "are",
       fmt::join(names, ", "), runs.size() > most ? ", …" : "");
}

RunSize size_of(const StoredRun& run) {
  RunSize size;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(run.folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code none;
    if (!entry->is_regular_file(none)) continue;
    ++size.files;
    if (const auto bytes = entry->file_size(none); !none) size.bytes += bytes;
  }
  return size;
}

void check_no_link(const StoredRun& run) {
  const fs::path folder = run.folder.has_filename() ? run.folder : run.folder.parent_path();
  std::error_code error;
  const bool is_link = fs::is_symlink(fs::symlink_status(folder, error));
  require(!is_link, "{}: is a link to {}, and deleting it would keep the trials there: name that folder, or unlink it",
          folder.string(), fs::read_symlink(folder, error).string());
}

void remove_run(const StoredRun& run) {
  check_no_link(run);
  require(has_store(run.folder), "{}: there is no run store", run.folder.string());
  if (const auto lease = living_lease(run))
    fail("{}: process {} is training it; stop that one first", run.name(), lease->owner.pid);
  check_unused(run);
  // Out of sight first: killed at any moment, no half of a run is left that looks like one.
  const fs::path gone =
      run.folder.parent_path() / fmt::format(".removed-{}-{}", getpid(), run.folder.filename().string());
  std::error_code error;
  fs::rename(run.folder, gone, error);
  require(!error, "{}: cannot be removed: {}", run.folder.string(), error.message());
  fs::remove_all(gone, error);
  require(!error, "{}: cannot be removed: {}", gone.string(), error.message());
  if (!fs::is_symlink(fs::symlink_status(run.folder.parent_path(), error)))
    fs::remove(run.folder.parent_path(), error);  // only when it is empty
}

}  // namespace headroom::experiments
