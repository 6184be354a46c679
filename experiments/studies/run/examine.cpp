#include "experiments/studies/run/examine.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <system_error>

#include "engine/error.h"
#include "experiments/studies/run/store.h"
#include "experiments/studies/run/store/rows.h"
#include "experiments/studies/run/store/schema.h"
#include "experiments/studies/run/store/shared_folder.h"
#include "models/files/atomic_file.h"
#include "models/files/entries_of.h"
#include "models/safetensors/safetensors.h"
#include "tasks/training/checkpoint.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

/// `damage` covers only the database.
struct Findings : StoreHealth {
  std::map<std::string, std::string> broken;  ///< path of a file → its problem
  bool is_plan_sound = true;
};

/// The message of an Error in f(); none if it throws none.
std::optional<std::string> error_in(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

void check_structure(const Database& database, Findings& found) {
  Statement check(database, "PRAGMA integrity_check(5)");
  while (check.step())
    if (check.text(0) != "ok") {
      std::string line = check.text(0);
      std::replace(line.begin(), line.end(), '\n', ' ');
      found.damage.push_back("its structure: " + line);
    }
}

/// Every sound trial goes to `f`, also those that only a search for their id finds.
void each_sound(const Database& database, Findings& found, const std::function<void(TrialRecord&&)>& f) {
  std::map<std::string, std::string> suspects;  // trial → what of it
  const auto on_damage = [&](const std::string& id, const std::string& what) {
    if (id.empty()) found.damage.push_back(what + " not what was written");
    else suspects.emplace(id, what);
  };
  std::set<std::string> seen;
  const auto take = [&](TrialRecord&& trial) {
    if (!seen.insert(trial.id).second) return;
    ++(trial.is_checked ? found.sound : found.unchecked);
    f(std::move(trial));
  };
  const auto broken = error_in([&] { for_each_trial(database, Depth::whole, take, on_damage); });
  if (broken) found.damage.push_back(*broken);
  // A row out of order hides later ones from a pass over the table, but not from a search by id.
  std::set<std::string> ids;
  for (const auto& [id, what] : suspects) ids.insert(id);
  for (const char* sql : {"SELECT trial FROM plan", "SELECT id FROM trials ORDER BY id DESC"})
    error_in([&] {
      Statement rows(database, sql);
      while (broken && rows.step()) ids.insert(rows.text(0));
    });
  for (const std::string& id : ids)
    error_in([&] {
      if (seen.contains(id)) return;
      if (std::optional<TrialRecord> trial = read_trial(database, id, Depth::whole, on_damage)) take(std::move(*trial));
    });
  for (const auto& [id, what] : suspects)
    found.damage.push_back(seen.count(id)
                               ? fmt::format("the order of rows near trial {}, which is sound itself", id)
                               : fmt::format("trial {}: {} not what was written; it is to be run again", id, what));
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files = models::entries_if_any(folder, ".safetensors");
  std::erase_if(files, [](const fs::path& file) { return file.filename().string().starts_with("."); });
  return files;
}

void check_file(const fs::path& file, Findings& found,
                const std::function<void(const models::SafetensorsFile&)>& check) {
  const auto wrong = error_in([&] { check(models::SafetensorsFile(file, models::run_file)); });
  if (!wrong) ++found.files;
  else if (fs::exists(file)) found.broken[file.string()] = *wrong;  // else its trial has just ended
}

/// `weights`: trial → checksum.
void check_files(const fs::path& folder, const std::map<std::string, std::string>& weights, Findings& found) {
  for (const fs::path& file : files_in(folder / "weights"))
    check_file(file, found, [&](const models::SafetensorsFile& one) {
      const std::string sum = tasks::check_weights(one);
      const auto of_row = weights.find(file.stem().string());
      require(of_row == weights.end() || of_row->second == sum, "{}: not the weights of its row in the store",
              file.string());
    });
  for (const auto& [trial, sum] : weights)
    if (const fs::path file = folder / "weights" / (trial + ".safetensors"); !fs::exists(file))
      found.broken[file.string()] = file.string() + ": is gone";
  for (const fs::path& file : files_in(folder / "checkpoints"))
    check_file(file, found, [&](const models::SafetensorsFile& one) {
      const auto owner = one.metadata().find("trial");
      tasks::load_checkpoint(file, owner == one.metadata().end() ? "" : owner->second);
    });
}

Findings examine(Database& database, const std::function<void(TrialRecord&&)>& f) {
  Findings found;
  if (is_empty(database)) return found;  // just being created: nothing can lie next to it yet
  if (const auto broken = error_in([&] { check_structure(database, found); })) found.damage.push_back(*broken);
  std::map<std::string, std::string> weights;  // trial → checksum
  each_sound(database, found, [&](TrialRecord&& trial) {
    if (!trial.weights.empty()) weights[trial.id] = trial.weights;
    f(std::move(trial));
  });
  if (const auto broken = error_in([&] { check_plan(database); })) {
    found.is_plan_sound = false;
    found.damage.push_back("the plan and study of its latest run: the next run writes them again");
  }
  if (const auto broken = error_in([&] { read_notes(database, Changed::complain); })) found.damage.push_back(*broken);
  if (const auto broken = error_in([&] { read_tags(database, Changed::complain); })) found.damage.push_back(*broken);
  check_files(database.path().parent_path(), weights, found);
  return found;
}

/// Things in the folder of leases that are not files.
std::vector<Fault> no_leases(const fs::path& run) {
  std::vector<Fault> strays;
  const OpenFolder folder(run / "claims");
  if (folder.is_missing()) return strays;
  if (!folder.is_open()) folder.complain();
  for (const std::string& name : folder.names())
    if (const auto look = folder.look_at(name); look && look->other && !is_set_aside(name))
      strays.push_back({folder.path() / name, 0, fmt::format("is {}, not a file", look->other)});
  return strays;
}

/// Of a shared folder.
Findings examine_shared(const fs::path& store) {
  Findings found;
  std::map<std::string, std::string> weights;
  const auto broken = error_in([&] {
    const RunStore all(store, RunStore::Access::read);
    all.each_outcome([&](TrialRecord&& trial) {
      ++found.sound;
      if (!trial.weights.empty()) weights[trial.id] = trial.weights;
    });
    for (const auto& faults : {all.faults(), no_leases(store.parent_path())})
      for (const Fault& fault : faults) found.damage.push_back(fault.text());
  });
  if (broken) found.damage.push_back(*broken);
  else check_files(store.parent_path(), weights, found);
  return found;
}

/// Repairs a shared folder; returns its actions, a line each.
std::vector<std::string> repair_shared(const fs::path& run) {
  if (has_store_file(run)) share_run(run);
  std::vector<Fault> differing;
  const RunStore all(run / "store.sqlite", RunStore::Access::read);
  std::vector<std::string> done = Shards(run / "shards").repair(all.faults());
  const OpenFolder leases(run / "claims");
  for (const Fault& stray : no_leases(run))
    done.push_back(fmt::format("{} is now {}", stray.file.string(), leases.set_aside(stray.file.filename().string())));
  return done;
}

/// Adds a second name for FILE, FILE.damaged-N with the first free N, and returns it: the old bytes survive whatever
/// takes the first name, even after an interruption.
fs::path keep_aside(const fs::path& file) {
  fs::path old;
  for (int n = 1; old.empty() || fs::exists(old); ++n) old = fmt::format("{}.damaged-{}", file.string(), n);
  std::error_code error;
  fs::create_hard_link(file, old, error);
  require(!error, "{}: cannot be linked: {}", old.string(), error.message());
  return old;
}

/// Throws Error if another process has the store open; otherwise SQLite can remove its write-ahead log.
void take_alone(Database& database) {
  const auto refused = error_in([&] { database.run("PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE"); });
  require(!refused || refused->find("locked") == std::string::npos,
          "{}: a process uses it; stop that one before the repair", database.path().string());
}

/// Writes a store with all sound trials of `path` in its place. Returns the path of the old one.
fs::path write_anew(const fs::path& path) {
  const fs::path fresh = path.string() + ".repair";
  std::error_code error;
  for (const char* end : {"", "-wal", "-shm"}) fs::remove(fresh.string() + end, error);
  {
    Database from(path, true), to(fresh, false);
    take_alone(from);
    upgrade(to);
    Transaction transaction(to);
    const Findings found =
        examine(from, [&](TrialRecord&& trial) { write_trial(to, trial, trial.attempts, trial.ended); });
    if (found.is_plan_sound) write_plan(to, read_study(from), read_plan(from));
    else write_plan(to, {}, {});
    transaction.commit();
    add_annotation_tables(to);
    error_in([&] {  // an unreadable table is lost, the trials are not
      for (const Note& note : read_notes(from, Changed::leave_out)) write_note(to, note);
      for (const std::string& tag : read_tags(from, Changed::leave_out)) write_tag(to, tag);
    });
    to.run("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  const fs::path old = keep_aside(path);
  for (const char* end : {"-wal", "-shm"}) fs::rename(path.string() + end, old.string() + end, error);
  fs::rename(fresh, path, error);
  require(!error, "{}: cannot be replaced: {}", path.string(), error.message());
  return old;
}

Findings examine_file(const fs::path& store) {
  Database database(store, true);
  const RunStore readable(store, RunStore::Access::read);  // reports a wrong version
  return examine(database, [](TrialRecord&&) {});
}

}  // namespace

StoreHealth examine_store(const fs::path& store) {
  Findings found = is_shared(store.parent_path()) ? examine_shared(store) : examine_file(store);
  for (const auto& [file, wrong] : found.broken) found.damage.push_back(wrong);
  return found;
}

std::vector<std::string> repair_store(const fs::path& store) {
  const fs::path folder = store.parent_path();
  const bool has_shards = is_shared(folder);
  // A suspended process shows no sign of life, but goes on writing once it is woken.
  for (const Lease& lease :
       has_shards ? LeaseFiles(folder / "claims").all() : RunStore(store, RunStore::Access::read).leases())
    require(!is_alive(lease) && !is_here(lease.owner),
            "{}: process {} trains a trial of it; stop that one before the repair", store.string(), lease.owner.pid);
  std::vector<std::string> done;
  if (has_shards) done = repair_shared(folder);
  const Findings found = has_shards ? examine_shared(store) : examine_file(store);
  if (!found.damage.empty() && !has_shards) {
    const fs::path old = write_anew(store);
    done.push_back(fmt::format("{} holds its {} sound trials; the next run trains the others; the old file is {}",
                               store.string(), found.sound + found.unchecked, old.string()));
  } else if (found.unchecked > 0) {
    Database database(store, false);
    upgrade(database);
    Transaction transaction(database);
    add_checksums(database);
    transaction.commit();
    done.push_back(fmt::format("{} trials have checksums now", found.unchecked));
  }
  for (const auto& [file, wrong] : found.broken) {
    std::error_code error;
    if (!fs::exists(file)) continue;
    const bool is_checkpoint = fs::path(file).parent_path().filename() == "checkpoints";
    if (is_checkpoint) fs::remove(file, error);
    else fs::rename(file, file + ".damaged", error);
    require(!error, "{}: cannot be moved: {}", file, error.message());
    done.push_back(is_checkpoint ? file + " is removed: its trial starts over"
                                 : file + " is now " + fs::path(file).filename().string() +
                                       ".damaged; a run with train.keep_weights trains it again");
  }
  return done;
}

}  // namespace headroom::experiments
