#include "experiments/studies/run/owned_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "engine/error.h"
#include "engine/isa.h"
#include "experiments/studies/run/store/digest.h"
#include "tasks/training/weights_file.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  require(!error, "{}: cannot make the folder: {}", folder.string(), error.message());
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    entries.push_back(entry->path());
  return entries;
}

/// The trial of a file that was not finished: ID of `ID.OWNER.staged`, and of `.ID.….tmp`, which is that one, or an
/// older program's file, while it is written. "" for other files.
std::string trial_of_unfinished(const fs::path& file) {
  const std::string name = file.filename().string();
  const size_t begin = name.starts_with(".") ? 1 : 0;
  if (!name.ends_with(begin ? ".tmp" : ".staged")) return "";
  return name.substr(begin, name.find('.', begin) - begin);
}

void discard(const fs::path& file) {
  std::error_code ignored;
  fs::remove(file, ignored);
}

void move_to(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  require(!error, "{}: cannot be replaced: {}", to.string(), error.message());
}

/// Gone at the end, unless it has got another name.
struct Staged {
  const fs::path path;
  explicit Staged(fs::path where) : path(std::move(where)) {}
  ~Staged() { discard(path); }
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;
};

}  // namespace

OwnedFiles::OwnedFiles(fs::path folder, RunStore& store, const Owner& owner)
    : folder_(std::move(folder)), store_(store), owner_(owner) {}

fs::path OwnedFiles::checkpoint(const std::string& id) const { return folder_ / "checkpoints" / (id + ".safetensors"); }

fs::path OwnedFiles::weights(const std::string& id) const { return folder_ / "weights" / (id + ".safetensors"); }

fs::path OwnedFiles::stages() const { return folder_ / "stages" / engine::name_of(engine::active_isa()); }

fs::path OwnedFiles::staged(const fs::path& file) const {
  // An owner's name holds what no file's may.
  const std::string owner = Digest().add(owner_.name).hex().substr(0, 16);
  return file.parent_path() / fmt::format("{}.{}.staged", file.stem().string(), owner);
}

KeptWeights OwnedFiles::look_at_weights(const std::string& id, const std::string& checksum) const {
  const fs::path file = weights(id);
  if (!fs::exists(file)) return KeptWeights::missing;
  try {
    const bool is_same = tasks::check_weights(models::SafetensorsFile(file)) == checksum;
    return is_same ? KeptWeights::sound : KeptWeights::changed;
  } catch (const Error&) {
    return KeptWeights::changed;
  }
}

void OwnedFiles::prepare(const std::string& id) {
  make_folder(folder_ / "checkpoints");
  store_.while_held(id, owner_, [&] {
    for (const char* kind : {"checkpoints", "weights"})
      for (const fs::path& file : entries_of(folder_ / kind))
        if (trial_of_unfinished(file) == id) discard(file);
  });
}

bool OwnedFiles::keep_checkpoint(const std::string& id, const std::function<void(const fs::path&)>& write) {
  const Staged file(staged(checkpoint(id)));
  write(file.path);
  return store_.while_held(id, owner_, [&] { move_to(file.path, checkpoint(id)); });
}

bool OwnedFiles::keep_outcome(TrialRecord& trial, const models::NamedTensors& weights) {
  const fs::path final_path = this->weights(trial.id);
  const Staged file(staged(final_path));
  if (!weights.empty()) {
    make_folder(final_path.parent_path());
    try {
      trial.weights = tasks::save_weights(file.path, weights,
                                          {{"trial", trial.id}, {"config", trial.config}, {"headroom", trial.code}});
    } catch (const Error&) {
      // The new owner has removed what this one was writing.
      if (!store_.while_held(trial.id, owner_, [] {})) return false;
      throw;
    }
  }
  // Killed between the rename and the commit, the weights are there without their row, or beside an older one: the next
  // run trains the trial to the same bits, since it is not finished or look_at_weights() finds them changed.
  const bool is_kept = store_.put(trial, &owner_, [&] {
    if (!weights.empty()) move_to(file.path, final_path);
  });
  // Nobody trains it again before this one's next look; a kill right here leaves the file to tidy().
  if (is_kept) discard(checkpoint(trial.id));
  return is_kept;
}

void OwnedFiles::tidy() {
  const auto finished = store_.known();
  store_.while_leases_stand([&](const std::vector<Lease>& leases) {
    const auto is_trained = [&](const std::string& id) {
      return std::any_of(leases.begin(), leases.end(),
                         [&](const Lease& lease) { return lease.trial == id && !is_gone(lease.owner); });
    };
    const auto is_finished = [&](const std::string& id) {
      const auto found = finished.find(id);
      return found != finished.end() && found->second.is_finished;
    };
    for (const char* kind : {"checkpoints", "weights"})
      for (const fs::path& file : entries_of(folder_ / kind)) {
        const std::string id = trial_of_unfinished(file);
        if (!id.empty() && !is_trained(id)) discard(file);
      }
    for (const fs::path& file : entries_of(folder_ / "checkpoints"))
      if (file.extension() == ".safetensors" && is_finished(file.stem().string()) && !is_trained(file.stem().string()))
        discard(file);
    // Those who hold a lease may have found it there, and not yet put anything into it.
    if (leases.empty() || std::all_of(leases.begin(), leases.end(), [](const Lease& l) { return is_gone(l.owner); }))
      discard(folder_ / "checkpoints");  // only when it is empty
  });
}

}  // namespace headroom::experiments
